"""Files and folders that a power failure does not take back.

A file that was written is on the disk once it is synced, and found under its
name once its folder is synced, too; until then a power failure may leave it
empty, or under its former name.

What is to take a file's place is written beside it first. Such a file's name
tells which process of which machine writes it, so that another one can see
that nobody does any more.
"""

import contextlib
import errno
import functools
import hashlib
import os
import pathlib
import platform
import re
import shutil
import stat
import time
import uuid
from os import PathLike

from tfcap._io.passing_errors import named
from tfcap._io.passing_errors import passing_code
from tfcap._io.passing_errors import status
from tfcap._io.passing_errors import tried_again

#: What systems and network disks say that sync no folders.
_NO_FOLDERS = (errno.EINVAL, errno.ENOTSUP, errno.EBADF)
#: Seconds after which a file is abandoned that nobody has written to, where
#: its process cannot be asked.
_PATIENCE = 86_400
#: What follows a name: of today, or as earlier versions wrote it.
_MARKS = re.compile(
    r"\.(?:(?P<machine>[0-9a-f]{8})-(?P<pid>\d{1,9})-[0-9a-f]{12}"
    r"|[0-9a-f]{32})(?:\.\w{1,9})?"
)
_looked_at = set()


def sync_file(path: str | PathLike):
    """Waits until the content of a file is on the disk.

    Raises:
        OSError: If the disk is full, or fails.
    """
    # Windows syncs only what is open for writing.
    flags = os.O_RDWR if os.name == "nt" else os.O_RDONLY
    with named(path):
        file = os.open(path, flags)
        try:
            os.fsync(file)
        finally:
            os.close(file)


def sync_folder(path: str | PathLike) -> None:
    """Waits until the names in a folder are on the disk.

    Where the system cannot sync folders, as on Windows, the disk is left to
    do it in its own time.

    Args:
        path: String or path of a folder.

    Raises:
        OSError: If the disk fails.

    Example:

    >>> import tempfile
    >>> tfcap._io.sync_folder(tempfile.mkdtemp())
    """
    if not hasattr(os, "O_DIRECTORY"):
        return
    try:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except PermissionError:
        # One that may be written to, and not be read.
        return
    with named(path):
        try:
            os.fsync(folder)
        except OSError as error:
            if error.errno not in _NO_FOLDERS:
                raise
        finally:
            os.close(folder)


def sync_tree(path: str | PathLike) -> None:
    """Waits until all files and names below a folder are on the disk.

    Args:
        path: String or path of a folder.

    Raises:
        OSError: If the disk is full, or fails.

    Example:

    >>> import tempfile
    >>> tfcap._io.sync_tree(tempfile.mkdtemp())
    """
    for folder, _, names in os.walk(path, topdown=False):
        for name in names:
            sync_file(os.path.join(folder, name))
        sync_folder(folder)


def replace(source: str | PathLike, target: str | PathLike):
    """Gives a file or folder another name, as `os.replace()`.

    It is tried again where errors may pass, of which one may come though the
    name has been given.

    Raises:
        OSError: As of `os.replace()`.
    """
    before = status(source)
    failed = []

    def move():
        try:
            os.replace(source, target)
        except FileNotFoundError:
            found = status(target)
            if not failed or None in (found, before):
                raise
            if not os.path.samestat(found, before):
                raise
        except OSError:
            failed.append(True)
            raise

    tried_again(target, move, "The former file is as it was.")


def rename(source: str | PathLike, target: str | PathLike) -> None:
    """Gives a file or folder another name, which is on the disk on return.

    What had the name before is replaced. The content of `source` must be on
    the disk already.

    Args:
        source: String or path.
        target: String or path on the same disk.

    Raises:
        OSError: As of `os.replace()`.

    Example:

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> tfcap._io.make_folder(folder / "half")
    >>> tfcap._io.rename(folder / "half", folder / "whole")
    >>> [path.name for path in folder.iterdir()]
    ['whole']
    """
    replace(source, target)
    _sync_name(target)


def rename_new(source: str | PathLike, target: str | PathLike):
    """Gives a file another name as `rename()`, unless that name is taken.

    Where another process was quicker, its file stays as it is, and `source` is
    removed. Where files cannot have two names, as on FAT, it is replaced.

    Args:
        source: String or path of a file.
        target: String or path on the same disk.

    Raises:
        OSError: As of `os.replace()`.

    Example:

    >>> import pathlib, tempfile
    >>> from tfcap._io.durable import rename_new
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for text in ("first", "second"):
    ...     _ = (folder / text).write_text(text)
    ...     rename_new(folder / text, folder / "name")
    >>> [path.read_text() for path in folder.iterdir()]
    ['first']
    """

    def link():
        try:
            os.link(source, target)
        except FileExistsError:
            # Perhaps by a try before, whose answer was lost.
            return
        except OSError as error:
            if passing_code(error) is not None:
                raise
            replace(source, target)

    tried_again(target, link)
    with contextlib.suppress(FileNotFoundError):
        tried_again(source, lambda: os.unlink(source))
    _sync_name(target)


def make_folder(path: str | PathLike) -> None:
    """Makes a folder, and those above it, whose names are then on the disk.

    Args:
        path: String or path; may be there already.

    Raises:
        OSError: As of `os.makedirs()`.

    Example:

    >>> import pathlib, tempfile
    >>> from tfcap._io import make_folder
    >>> path = pathlib.Path(tempfile.mkdtemp(), "runs", "first")
    >>> make_folder(path)
    >>> path.is_dir()
    True
    """
    path = pathlib.Path(path).absolute()

    def make():
        here, absent = path, []
        while (found := status(here)) is None and here != here.parent:
            absent.append(here)
            here = here.parent
        if not absent and not stat.S_ISDIR(found.st_mode):
            # A file in the way is told as the system tells it.
            os.makedirs(path, exist_ok=True)
        for folder in reversed(absent):
            # Another process may be quicker by a moment.
            folder.mkdir(exist_ok=True)
            sync_folder(folder.parent)

    tried_again(path, make)


def partial_path(path: str | PathLike, ending: str = "") -> pathlib.Path:
    """A name for what will take another's place, in its folder.

    Args:
        path: String or path of what will be replaced, or made.
        ending: String, the name's last part. Defaults to `""`.

    Returns:
        `pathlib.Path`, hidden, of nothing that is there.

    Example:

    >>> from tfcap._io import partial_path
    >>> partial_path("runs/words.txt").name[:11]
    '.words.txt.'
    """
    path = pathlib.Path(path)
    # Machines that share a disk may have processes of one number.
    mark = f"{_machine()}-{os.getpid()}-{uuid.uuid4().hex[:12]}"
    return path.with_name(f".{path.name}.{mark}{ending}")


def remove_abandoned(path: str | PathLike, older: str = "") -> None:
    """Removes partial files and folders that killed processes left.

    Those of a path alone, and once a process: of processes of this machine
    that have ended, and of others when nobody has written for a day. What a
    living process writes is left alone.

    Args:
        path: String or path, what they were to become.
        older: String, regular expression of other names of theirs, as earlier
            versions wrote them. Defaults to `""`, none.

    Example:

    >>> tfcap._io.remove_abandoned("runs/words.txt")
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


def this_machine() -> str:
    """This machine since it was started, and its space of process numbers.

    Machines may share a name, and containers a machine: a number that is not
    known here may be alive there.

    Returns:
        String.

    Example:

    >>> tfcap._io.this_machine() == tfcap._io.this_machine()
    True
    """
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            start = file.read().strip()
        return f"{platform.node()} {start} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return platform.node()


def has_ended(pid: int) -> bool:
    """Check whether a process of this machine is no more.

    Args:
        pid: Integer.

    Returns:
        Boolean; false where that cannot be told, as on Windows.

    Example:

    >>> import os
    >>> tfcap._io.has_ended(os.getpid())
    False
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


def _sync_name(path):
    folder = os.path.dirname(os.path.abspath(path))
    tried_again(folder, lambda: sync_folder(folder))


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
