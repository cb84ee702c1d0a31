"""Locks of the operating system, by which processes divide work."""

import contextlib
import errno

from tfcap._io import make_folder

try:
    import fcntl
except ImportError:
    fcntl = None

#: What a disk says that has no locks.
_WITHOUT = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)


@contextlib.contextmanager
def locked(path, wait: bool = True):
    """Holds the lock of a file, which is made if absent.

    The system gives the lock back when the process ends, however it ends.
    Where a system or a disk has none, everybody has it: work may be done
    twice, and is never left undone.

    Args:
        wait: Boolean, whether to wait for another process that has it.

    Yields:
        Boolean, whether the lock is held.
    """
    with open(path, "a") as file:
        held = True
        if fcntl is not None:
            how = fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB)
            try:
                fcntl.flock(file, how)
            except BlockingIOError:
                held = False
            except OSError as error:
                if error.errno not in _WITHOUT:
                    raise
        yield held


def made_once(path, load, make):
    """Makes a file in one of several processes; the others wait and load it.

    Args:
        make: Function without arguments that makes what `load` returns, and
            the file, which appears whole or not at all.
    """
    if path.exists():
        return load(path)
    make_folder(path.parent)
    with locked(path.with_name(f".{path.name}.lock")):
        return load(path) if path.exists() else make()
