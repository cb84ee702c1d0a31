"""Files and folders that a power failure does not take back.

A file that was written is on the disk once it is synced, and found under its
name once its folder is synced, too; until then a power failure may leave it
empty, or under its former name.
"""

import errno
import os
import pathlib
import stat

from tfcap.io.passing_errors import named
from tfcap.io.passing_errors import status
from tfcap.io.passing_errors import tried_again

#: What systems and network disks say that sync no folders.
_NO_FOLDERS = (errno.EINVAL, errno.ENOTSUP, errno.EBADF)


def sync_file(path):
    """Waits until the content of a file is on the disk.

    Args:
        path: String or path of a regular file.

    Raises:
        OSError: If the disk is full, or fails.
    """
    # Windows syncs only what is open for writing.
    file = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        with named(path):
            os.fsync(file)
    finally:
        os.close(file)


def sync_folder(path):
    """Waits until the names in a folder are on the disk.

    Where the system cannot sync folders, as on Windows, the disk is left to
    do it in its own time.

    Args:
        path: String or path of a folder.

    Raises:
        OSError: If the disk fails.
    """
    if not hasattr(os, "O_DIRECTORY"):
        return
    try:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except PermissionError:
        # One that may be written to, and not be read.
        return
    try:
        with named(path):
            os.fsync(folder)
    except OSError as error:
        if error.errno not in _NO_FOLDERS:
            raise
    finally:
        os.close(folder)


def sync_tree(path):
    """Waits until all files and names below a folder are on the disk.

    Args:
        path: String or path of a folder.

    Raises:
        OSError: If the disk is full, or fails.
    """
    for folder, _, names in os.walk(path, topdown=False):
        for name in names:
            sync_file(os.path.join(folder, name))
        sync_folder(folder)


def replace(source, target):
    """Gives a file or folder another name, as `os.replace()`.

    It is tried again where errors may pass, of which one may come though the
    name has been given.

    Args:
        source: String or path.
        target: String or path on the same disk.

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


def rename(source, target):
    """Gives a file or folder another name, which is on the disk on return.

    What had the name before is replaced. The content of `source` must be on
    the disk already.

    Args:
        source: String or path.
        target: String or path on the same disk.

    Raises:
        OSError: As of `os.replace()`.
    """
    replace(source, target)
    folder = os.path.dirname(os.path.abspath(target))
    tried_again(folder, lambda: sync_folder(folder))


def make_folder(path):
    """Makes a folder, and those above it, whose names are then on the disk.

    Args:
        path: String or path; may be there already.

    Raises:
        OSError: As of `os.makedirs()`.

    Example:

    >>> import pathlib, tempfile
    >>> from tfcap.io import make_folder
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
