"""Atomic writing of files, safe against power failures.

A file is on the disk once it is synced, and found under its name once its
folder is synced, too. A new version is therefore written beside the file,
synced, and renamed.
"""

import contextlib
import errno
import glob
import os
import pathlib
import re
import shutil
import time
import uuid
from collections.abc import Iterator
from os import PathLike
from typing import IO

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
#: Errors of systems and network disks that cannot sync folders.
_NO_FOLDERS = (errno.EINVAL, errno.ENOTSUP, errno.EBADF)
#: Seconds without a write after which a partial file counts as abandoned.
_PATIENCE = 86_400


@contextlib.contextmanager
def whole_file(path: str | PathLike, mode: str = "wb") -> Iterator[IO]:
    """Opens a file that replaces `path` once it is complete.

    An existing file stays until then, and remains if the block fails, if the
    process is killed or if the disk is full. On return the new file is on the
    disk. If `path` is a link, the file that it leads to is replaced. A pipe or
    a device is written to directly.

    Args:
        path: String or path.
        mode: String, `"wb"`, `"w+b"`, or `"w"` for text in UTF-8. Defaults to
            `"wb"`.

    Yields:
        The file, open.

    Raises:
        OSError: If the disk is full, if the folder cannot be written to, or
            if `path` is a folder. The message names the file and a remedy.

    Example:

    >>> import pathlib, tempfile
    >>> from tfcap._io import whole_file
    >>> path = pathlib.Path(tempfile.mkdtemp(), "words.txt")
    >>> with whole_file(path, "w") as file:
    ...     _ = file.write("a dog")
    >>> path.read_text()
    'a dog'
    """
    text = {} if "b" in mode else {"encoding": "utf-8", "newline": "\n"}
    if _is_stream(path):
        # Appends, to keep what was printed before, as to /dev/stdout.
        with told_if_full(path), open(path, f"a{mode[1:]}", **text) as file:
            yield file
        return
    with whole_path(path) as partial, open(partial, mode, **text) as file:
        yield file


@contextlib.contextmanager
def whole_path(path: str | PathLike) -> Iterator[pathlib.Path]:
    """Yields the path of a file that replaces `path` once it is complete.

    For libraries that open the file themselves; otherwise, see `whole_file()`.

    Args:
        path: String or path.

    Yields:
        Path of an empty file to overwrite, in the same folder and with the same
        ending.

    Raises:
        OSError: See `whole_file()`.

    Example:

    >>> import pathlib, tempfile
    >>> from tfcap._io import whole_path
    >>> path = pathlib.Path(tempfile.mkdtemp(), "words.txt")
    >>> with whole_path(path) as partial:
    ...     _ = partial.write_text("a dog")
    >>> path.read_text()
    'a dog'
    """
    if not can_write(path):
        raise OSError(
            errno.EISDIR if os.path.isdir(path) else errno.EACCES,
            "`path` must be a file in a folder that can be written to. "
            f"Received: path={str(path)!r}. Make the folder, or choose another "
            "one.",
        )
    target = pathlib.Path(os.path.realpath(path))
    remove_abandoned(target)
    partial, there = partial_path(target), target.exists()
    with told_if_full(path):
        try:
            # The partial file must not be readable by more users.
            partial.touch(0o600 if there else 0o666, exist_ok=False)
            yield partial
            if there:
                shutil.copymode(target, partial)
            _sync(partial)
            rename(partial, target)
        finally:
            partial.unlink(missing_ok=True)


def can_write(path: str | PathLike) -> bool:
    """Returns whether `whole_file()` may write to a path, as far as is known.

    Example:

    >>> from tfcap._io import can_write
    >>> can_write("no such folder/words.txt")
    False
    """
    if _is_stream(path):
        return os.access(path, os.W_OK)
    folder = os.path.dirname(os.path.realpath(path))
    there = os.path.isdir(folder) and not os.path.isdir(path)
    return there and os.access(folder, os.W_OK)


def rename(source: str | PathLike, target: str | PathLike) -> None:
    """Renames a file or folder, and syncs the new name to the disk.

    An existing `target` is replaced. The content of `source` must be on the
    disk already.

    Example:

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> tfcap._io.make_folder(folder / "half")
    >>> tfcap._io.rename(folder / "half", folder / "whole")
    >>> [path.name for path in folder.iterdir()]
    ['whole']
    """
    os.replace(source, target)
    sync_folder(os.path.dirname(os.path.abspath(target)))


def make_folder(path: str | PathLike) -> None:
    """Makes a folder and its parents, and syncs their names to the disk.

    Args:
        path: String or path; the folder may exist.

    Example:

    >>> import pathlib, tempfile
    >>> from tfcap._io import make_folder
    >>> path = pathlib.Path(tempfile.mkdtemp(), "runs", "first")
    >>> make_folder(path)
    >>> path.is_dir()
    True
    """
    path = pathlib.Path(path).absolute()
    absent = [here for here in (path, *path.parents) if not here.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for folder in reversed(absent):
        sync_folder(folder.parent)


def sync_folder(path: str | PathLike) -> None:
    """Waits until the names in a folder are on the disk.

    If the system cannot sync folders, as on Windows, it does nothing.

    Example:

    >>> import tempfile
    >>> tfcap._io.sync_folder(tempfile.mkdtemp())
    """
    if os.name == "nt":
        return
    try:
        _sync(path)
    except OSError as error:
        if error.errno not in _NO_FOLDERS:
            raise


def sync_tree(path: str | PathLike) -> None:
    """Waits until all files and names below a folder are on the disk.

    Example:

    >>> import tempfile
    >>> tfcap._io.sync_tree(tempfile.mkdtemp())
    """
    for folder, _, names in os.walk(path, topdown=False):
        for name in names:
            _sync(os.path.join(folder, name))
        sync_folder(folder)


def partial_path(path: str | PathLike) -> pathlib.Path:
    """Returns a new path in the same folder, for the next version of a file.

    Args:
        path: String or path of the file or folder to replace or make.

    Returns:
        `pathlib.Path`, hidden, with the same ending, of no existing file.

    Example:

    >>> from tfcap._io import partial_path
    >>> partial_path("runs/words.txt").name[:11]
    '.words.txt.'
    """
    path = pathlib.Path(path)
    # Keras chooses the format by the ending.
    return path.with_name(f".{path.name}.{uuid.uuid4().hex}{path.suffix}")


def remove_abandoned(path: str | PathLike) -> None:
    """Removes partial files and folders that killed processes left.

    Args:
        path: String or path of the file or folder that they were to replace.
            Those without a write for a day are removed.

    Example:

    >>> tfcap._io.remove_abandoned("runs/words.txt")
    """
    path = pathlib.Path(path)
    pattern = f".{glob.escape(path.name)}.{'[0-9a-f]' * 32}{path.suffix}"
    for partial in path.parent.glob(pattern):
        # Another process may remove it, too.
        with contextlib.suppress(OSError):
            if time.time() - partial.stat().st_mtime < _PATIENCE:
                continue
            if partial.is_dir():
                shutil.rmtree(partial)
            else:
                partial.unlink()


@contextlib.contextmanager
def told_if_full(
    path: str | PathLike, kept: str = "An earlier version is unchanged"
) -> Iterator[None]:
    """Adds the file and a remedy to the error of a full disk.

    Args:
        path: String or path of the file that the block writes.
        kept: String, a clause that says what is left.

    Raises:
        OSError: With `errno.ENOSPC`.

    Example:

    >>> import errno
    >>> with tfcap._io.told_if_full("words.txt"):
    ...     raise OSError(errno.ENOSPC, "")
    Traceback (most recent call last):
    OSError: [Errno 28] `path` must be on a disk with room. ...
    """
    try:
        yield
    except (OSError, RuntimeError) as error:
        if not is_full(error) or "`path`" in str(error):
            raise
        raise OSError(
            errno.ENOSPC,
            f"`path` must be on a disk with room. Received: path={str(path)!r}"
            f" ({error}). {kept}. Make room, and run the same command again.",
        ) from error


def is_full(error: BaseException) -> bool:
    """Returns whether an error reports a full disk, quota or file.

    Example:

    >>> import errno
    >>> tfcap._io.is_full(OSError(errno.ENOSPC, ""))
    True
    """
    # HDF5 has the number only in its message.
    told = re.search(r"\berrno = (\d+)", str(error))
    code = getattr(error, "errno", None) or (told and int(told[1]))
    return code in _FULL


def _is_stream(path):
    """Returns whether a path leads to a pipe or a device, or may do so."""
    file = os.path.isfile(path) or os.path.isdir(path)
    stream = os.path.exists(path) and not file
    return str(path).startswith("/dev/") or stream


def _sync(path):
    """Waits until the content of a file or folder is on the disk."""
    # Windows syncs only what is open for writing.
    file = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
