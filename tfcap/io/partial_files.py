"""Names of files that are not whole yet, and what killed processes left.

A partial file's name tells which process of which machine writes it, so that
another one can see that nobody does any more.
"""

import contextlib
import functools
import hashlib
import os
import pathlib
import platform
import re
import shutil
import time
import uuid

#: Seconds after which a file is abandoned that nobody has written to, where
#: its process cannot be asked.
_PATIENCE = 86_400
#: What follows a name: of today, or as earlier versions wrote it.
_MARKS = re.compile(
    r"\.(?:(?P<machine>[0-9a-f]{8})-(?P<pid>\d{1,9})-[0-9a-f]{12}"
    r"|[0-9a-f]{32})(?:\.\w{1,9})?"
)
_looked_at = set()


def partial_path(path, ending=""):
    """A name for what will take another's place, in its folder.

    Args:
        path: String or path of what will be replaced, or made.
        ending: String, the name's last part. Defaults to `""`.

    Returns:
        `pathlib.Path`, hidden, of nothing that is there.

    Example:

    >>> from tfcap.io import partial_path
    >>> partial_path("runs/words.txt").name[:11]
    '.words.txt.'
    """
    path = pathlib.Path(path)
    # Machines that share a disk may have processes of one number.
    mark = f"{_machine()}-{os.getpid()}-{uuid.uuid4().hex[:12]}"
    return path.with_name(f".{path.name}.{mark}{ending}")


def remove_abandoned(path, older=""):
    """Removes partial files and folders that killed processes left.

    Those of a path alone, and once a process: of processes of this machine
    that have ended, and of others when nobody has written for a day. What a
    living process writes is left alone.

    Args:
        path: String or path, what they were to become.
        older: String, regular expression of other names of theirs, as earlier
            versions wrote them. Defaults to `""`, none.
    """
    path = pathlib.Path(path)
    if path in _looked_at:
        return
    _looked_at.add(path)
    # A folder that cannot be listed, or a file that another one removes.
    with contextlib.suppress(OSError):
        for entry in os.scandir(path.parent):
            if _is_abandoned(entry, path.name, older):
                _remove(entry)


def this_machine():
    """This machine since it was started, and its space of process numbers.

    Machines may share a name, and containers a machine: a number that is not
    known here may be alive there.

    Returns:
        String.
    """
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            start = file.read().strip()
        return f"{platform.node()} {start} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return platform.node()


def has_ended(pid):
    """Check whether a process of this machine is no more.

    Args:
        pid: Integer.

    Returns:
        Boolean; false where that cannot be told, as on Windows.
    """
    if os.name == "nt":
        # It has no signal 0.
        return False
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except PermissionError:
        return False
    return False


@functools.cache
def _machine():
    return hashlib.sha256(this_machine().encode()).hexdigest()[:8]


def _is_abandoned(entry, name, older):
    if not entry.name.startswith((f".{name}", name)):
        return False
    rest = entry.name.removeprefix(f".{name}")
    marks = _MARKS.fullmatch(rest)
    if marks and marks["machine"] == _machine():
        return has_ended(int(marks["pid"]))
    if not (marks or older and re.fullmatch(older, entry.name)):
        return False
    stamp = entry.stat(follow_symlinks=False).st_mtime
    return time.time() - stamp > _PATIENCE


def _remove(entry):
    with contextlib.suppress(OSError):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        else:
            os.unlink(entry.path)
