"""File locks of the operating system, to divide work among processes."""

import contextlib
import errno

from tfcap._io import make_folder

try:
    import fcntl
except ImportError:
    fcntl = None

#: Errors of disks without locks.
_WITHOUT = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)


@contextlib.contextmanager
def locked(path, wait: bool = True):
    """Holds the lock of a file, which is made if absent.

    The system releases the lock when the process ends, however it ends. On a
    system or a disk without locks every process gets it: work may be done
    twice, and is never left undone.

    Args:
        wait: Boolean, whether to wait for a process that holds the lock.

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
