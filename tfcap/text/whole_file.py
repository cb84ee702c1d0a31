"""Files that are there whole or not at all."""

import contextlib
import errno
import io
import os
import pathlib
import shutil
import stat
import sys
import tempfile
import uuid

from tfcap.text.durable import rename
from tfcap.text.durable import sync_file

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_CLOSED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR)


@contextlib.contextmanager
def whole_file(path, mode="wb"):
    """Opens a file that takes its place when it is whole.

    What was there before stays as it was until then, and stays for good if
    the block fails, if the process is killed or if the disk is full. On
    return the new one is on the disk, under its name, so that a power failure
    leaves one or the other. A link
    stays a link: the file that it leads to is replaced. A pipe, a socket or a
    device stays what it is, and so does the file that the process's own
    output goes to: they receive the content once the block has ended.

    Args:
        path: String or path.
        mode: String, `"wb"`, `"w+b"`, or `"w"` for text in UTF-8. Defaults to
            `"wb"`.

    Yields:
        The file, open.

    Raises:
        OSError: If the disk is full, if the folder cannot be written to, or
            if `path` is a folder; names the file, and the cure.

    Example:

    >>> import pathlib, tempfile
    >>> from tfcap.text.whole_file import whole_file
    >>> path = pathlib.Path(tempfile.mkdtemp(), "words.txt")
    >>> with whole_file(path, "w") as file:
    ...     _ = file.write("a dog")
    >>> path.read_text()
    'a dog'
    """
    found = _status(path)
    open_file = _replaced if _is_replaced(found) else _filled
    with open_file(path, mode, None if "b" in mode else "utf-8") as file:
        yield file


@contextlib.contextmanager
def whole_path(path):
    """Path of a file that takes its place when it is whole.

    `whole_file()` for what is written by a library that opens it itself, by
    its path. A pipe or a device is refused.

    Args:
        path: String or path.

    Yields:
        Path beside it, with the same ending, of an empty file to overwrite.

    Raises:
        OSError: As of `whole_file()`.

    Example:

    >>> import pathlib, tempfile
    >>> from tfcap.text.whole_file import whole_path
    >>> path = pathlib.Path(tempfile.mkdtemp(), "words.txt")
    >>> with whole_path(path) as partial:
    ...     _ = partial.write_text("a dog")
    >>> path.read_text()
    'a dog'
    """
    found = _status(path)
    if found is not None and not stat.S_ISREG(found.st_mode):
        raise OSError(
            errno.EINVAL,
            "`path` must be a file, or nothing yet. Received: "
            f"path={str(path)!r}, which is a folder, a pipe or a device. "
            "Choose another one.",
        )
    # Keras goes by a file's ending.
    with _taking_place(path, pathlib.Path(path).suffix) as partial:
        with _told_if_closed(path):
            open(partial, "xb").close()
        yield partial
        sync_file(partial)


def can_write(path):
    """Check whether `whole_file()` may write to a path, as far as is known.

    Args:
        path: String or path.

    Returns:
        Boolean.

    Example:

    >>> from tfcap.text.whole_file import can_write
    >>> can_write("no such folder/words.txt")
    False
    """
    found = _status(path)
    if _is_replaced(found):
        folder = os.path.dirname(os.path.realpath(path))
        return os.path.isdir(folder) and os.access(folder, os.W_OK)
    return not stat.S_ISDIR(found.st_mode) and os.access(path, os.W_OK)


def _status(path):
    """Status of what a path leads to; None where nothing is."""
    try:
        return os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _is_replaced(found):
    """Check whether a new file takes the place of what is there."""
    regular = found is None or stat.S_ISREG(found.st_mode)
    return regular and _own_output(found) is None


def _own_output(found):
    """Descriptor by which the process prints to a file; None if there is none.

    To replace such a file, as `/dev/stdout` may be one, would lose what is
    printed to it.
    """
    for number in (1, 2):
        with contextlib.suppress(OSError):
            if found and os.path.samestat(found, os.fstat(number)):
                return number
    return None


@contextlib.contextmanager
def _replaced(path, mode, encoding):
    """A new file, which takes the place of a regular one or of nothing."""
    with _taking_place(path) as partial:
        with _told_if_closed(path):
            opened = open(partial, mode, encoding=encoding)
        with opened as file:
            yield file
            file.flush()
            os.fsync(file.fileno())


@contextlib.contextmanager
def _taking_place(path, ending=""):
    """Path of a file that is moved to another's place once it is synced."""
    target = pathlib.Path(os.path.realpath(path))
    # Machines that share a disk may have processes of one number.
    name = f".{target.name}.{uuid.uuid4().hex}{ending}"
    partial = target.with_name(name)
    try:
        with told_if_full(path):
            yield partial
            # Some disks know no modes.
            with contextlib.suppress(FileNotFoundError, PermissionError):
                shutil.copymode(target, partial)
            rename(partial, target)
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)


@contextlib.contextmanager
def _filled(path, mode, encoding):
    """A temporary file, whose content goes to what is there.

    A pipe cannot be sought in, and half of a content helps no reader.
    """
    found = _status(path)
    if found and stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(
            errno.EISDIR,
            f"`path` must not be a folder. Received: path={str(path)!r}. Name "
            "a file in it.",
        )
    with tempfile.TemporaryFile() as kept:
        file = kept
        if encoding:
            file = io.TextIOWrapper(kept, encoding=encoding, newline="\n")
        yield file
        file.flush()
        kept.seek(0)
        own = _own_output(found)
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
        with (
            told_if_full(path, "It is no file that could be kept as it was"),
            open(path if own is None else os.dup(own), "wb") as out,
        ):
            shutil.copyfileobj(kept, out)


@contextlib.contextmanager
def _told_if_closed(path):
    """Says of a folder that is absent or closed which it is."""
    try:
        yield
    except OSError as error:
        if error.errno not in _CLOSED:
            raise
        raise OSError(
            error.errno,
            "`path` must be in a folder that can be written to. Received: "
            f"path={str(path)!r}, and {os.strerror(error.errno).lower()}. Make "
            "the folder, or choose another one.",
        ) from error


@contextlib.contextmanager
def told_if_full(path, kept="What was there before is as it was"):
    """Says of a full disk which file found it full, and what to do.

    Args:
        path: String or path of the file that the block writes.
        kept: String, a clause that says what is left.

    Raises:
        OSError: With the `errno` of the one that it stands for.
    """
    try:
        yield
    except OSError as error:
        if not is_full(error):
            raise
        raise OSError(
            error.errno,
            f"`path` must be on a disk with room. Received: path={str(path)!r}"
            f", and {os.strerror(error.errno).lower()}. {kept}. Make room, and "
            "run the same command again.",
        ) from error


def is_full(error):
    """Whether an error is that of a disk, a quota or a file that is full."""
    return isinstance(error, OSError) and error.errno in _FULL
