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
from collections.abc import Callable
from collections.abc import Iterator
from os import PathLike
from typing import IO
from typing import Any
from typing import BinaryIO

from tfcap._io.durable import partial_path
from tfcap._io.durable import remove_abandoned
from tfcap._io.durable import rename
from tfcap._io.durable import sync_file
from tfcap._io.passing_errors import named
from tfcap._io.passing_errors import status
from tfcap._io.passing_errors import system_code
from tfcap._io.passing_errors import tried_again

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_KEPT = "What was there before is as it was."
_CLOSED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR)


@contextlib.contextmanager
def whole_file(path: str | PathLike, mode: str = "wb") -> Iterator[IO]:
    """Opens a file that takes its place when it is whole.

    What was there before stays as it was until then, and stays for good if
    the block fails, if the process is killed or if the disk is full. On
    return the new one is on the disk, under its name, so that a power failure
    leaves one or the other. A link
    stays a link: the file that it leads to is replaced. A pipe, a socket or a
    device stays what it is, and so does the file that the process's own
    output goes to: they receive the content once the block has ended.

    The content is kept in memory until then, so that errors of a disk that
    pass can be waited out; see `write_whole()` for what is large.

    Args:
        path: String or path.
        mode: String, `"wb"`, `"w+b"`, or `"w"` for text in UTF-8. Defaults to
            `"wb"`.

    Yields:
        The file, open.

    Raises:
        OSError: If the disk is full or fails, if the folder cannot be written
            to, or if `path` is a folder; names the file, and what to do.

    Example:

    >>> import pathlib, tempfile
    >>> from tfcap._io import whole_file
    >>> path = pathlib.Path(tempfile.mkdtemp(), "words.txt")
    >>> with whole_file(path, "w") as file:
    ...     _ = file.write("a dog")
    >>> path.read_text()
    'a dog'
    """
    refuse_folder(path)
    if _is_replaced(status(path)):
        # Before anything is done for what it is to hold.
        _try_folder(path)
    file = content = io.BytesIO()
    if "b" not in mode:
        file = io.TextIOWrapper(content, encoding="utf-8", newline="\n")
    with told_if_full(path):
        yield file
    file.flush()
    write_whole(path, lambda out: out.write(content.getbuffer()))


def write_whole(
    path: str | PathLike,
    write: Callable[[BinaryIO], Any],
    like: str | PathLike | None = None,
) -> None:
    """Writes a file as `whole_file()` does, by a function.

    Nothing is kept in memory: where an error of the disk may pass, the
    function is called again and writes anew.

    Args:
        path: String or path.
        write: Function of a file, open in mode `"w+b"`.
        like: Path of the file whose mode, owner and group are taken, where
            there is one. Defaults to `None`: `path`.

    Raises:
        OSError: As of `whole_file()`.

    Example:

    >>> import pathlib, tempfile
    >>> from tfcap._io import write_whole
    >>> path = pathlib.Path(tempfile.mkdtemp(), "words.txt")
    >>> write_whole(path, lambda file: file.write(b"a dog"))
    >>> path.read_text()
    'a dog'
    """
    refuse_folder(path)
    if not _is_replaced(status(path)):
        _fill(path, write)
        return

    def replace():
        with _taking_place(path, like=like) as partial:
            with open(partial, "r+b") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())

    # What was written before an error of a sync may be lost though the next
    # sync is well: all is written anew.
    tried_again(path, replace, _KEPT)


def write_whole_path(
    path: str | PathLike, write: Callable[[pathlib.Path], Any]
) -> None:
    """Writes a file as `whole_path()` does, by a function.

    Args:
        path: String or path.
        write: Function of the path of a file to overwrite, which is called
            again where an error of the disk may pass.

    Raises:
        OSError: As of `whole_file()`.

    Example:

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> def write(partial):
    ...     partial.write_text("a dog")
    >>> tfcap._io.write_whole_path(folder / "a.txt", write)
    >>> (folder / "a.txt").read_text()
    'a dog'
    """

    def replace():
        with whole_path(path) as partial:
            write(partial)

    tried_again(path, replace, _KEPT)


@contextlib.contextmanager
def whole_path(path: str | PathLike) -> Iterator[pathlib.Path]:
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
    >>> from tfcap._io import whole_path
    >>> path = pathlib.Path(tempfile.mkdtemp(), "words.txt")
    >>> with whole_path(path) as partial:
    ...     _ = partial.write_text("a dog")
    >>> path.read_text()
    'a dog'
    """
    found = status(path)
    if found is not None and not stat.S_ISREG(found.st_mode):
        raise OSError(
            errno.EINVAL,
            "`path` must be a file, or nothing yet. Received: "
            f"path={str(path)!r}, which is a folder, a pipe or a device. "
            "Choose another one.",
        )
    # Keras goes by a file's ending.
    with _taking_place(path, pathlib.Path(path).suffix) as partial:
        yield partial
        sync_file(partial)


def can_write(path: str | PathLike) -> bool:
    """Check whether `whole_file()` may write to a path, as far as is known.

    Args:
        path: String or path.

    Returns:
        Boolean.

    Example:

    >>> from tfcap._io import can_write
    >>> can_write("no such folder/words.txt")
    False
    """
    found = status(path)
    if _is_replaced(found):
        folder = os.path.dirname(os.path.realpath(path))
        above = status(folder)
        # `os.path.isdir()` takes any error for absence.
        there = above is not None and stat.S_ISDIR(above.st_mode)
        return there and os.access(folder, os.W_OK)
    return not stat.S_ISDIR(found.st_mode) and os.access(path, os.W_OK)


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
def _taking_place(path, ending="", like=None):
    """Path of an empty file that takes another's place once it is synced."""
    target, partial = _beside(path, ending)
    remove_abandoned(target)
    before = status(like or path)
    # Nobody reads half a file who may not read the whole.
    mode = 0o666 if before is None else 0o600
    flags = os.O_CREAT | os.O_EXCL | os.O_RDWR
    try:
        with told_if_full(path), named(path):
            with told_if_closed(path):
                os.close(os.open(partial, flags, mode))
            yield partial
            if before is not None:
                _become_like(partial, before)
            rename(partial, target)
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)


def _become_like(path, before):
    """Gives a file the owner, group and mode of another, where it may."""
    mode = stat.S_IMODE(before.st_mode)
    if hasattr(os, "chown"):
        for owner in ((-1, before.st_gid), (before.st_uid, -1)):
            with contextlib.suppress(PermissionError):
                os.chown(path, *owner)
        if os.stat(path).st_gid != before.st_gid:
            # Its group is another one.
            mode &= ~0o070
    # Some disks know no modes.
    with contextlib.suppress(PermissionError):
        os.chmod(path, mode)


def _beside(path, ending=""):
    """The file that a path leads to, and one beside it that is not there."""
    target = pathlib.Path(os.path.realpath(path))
    return target, partial_path(target, ending)


def _try_folder(path):
    """Refuses a file in whose folder none can be made."""
    _, partial = _beside(path)

    def make():
        with told_if_closed(path):
            open(partial, "wb").close()
        partial.unlink(missing_ok=True)

    tried_again(path, make, _KEPT)


def refuse_folder(path: str | PathLike):
    """Refuses a folder where a file is to be written.

    Raises:
        IsADirectoryError: If there is one.
    """
    found = status(path)
    if found and stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(
            errno.EISDIR,
            f"`path` must not be a folder. Received: path={str(path)!r}. Name "
            "a file in it.",
        )


def _fill(path, write):
    """Gives a content to what is there, which may be a pipe.

    A pipe cannot be sought in, and half of a content helps no reader.
    """
    with tempfile.TemporaryFile() as kept:
        write(kept)
        kept.flush()
        kept.seek(0)
        own = _own_output(status(path))
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
        with (
            told_if_full(path, "It is no file that could be kept as it was"),
            open(path if own is None else os.dup(own), "wb") as out,
        ):
            shutil.copyfileobj(kept, out)


@contextlib.contextmanager
def told_if_closed(path: str | PathLike):
    """Says of a folder that is absent or closed which file was to be in it.

    Raises:
        OSError: With the `errno` of the one that it stands for.
    """
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
def told_if_full(
    path: str | PathLike, kept: str = "What was there before is as it was"
) -> Iterator[None]:
    """Says of a full disk which file found it full, and what to do.

    Args:
        path: String or path of the file that the block writes.
        kept: String, a clause that says what is left.

    Raises:
        OSError: With the `errno` of the one that it stands for.

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
        if not is_full(error):
            raise
        code = system_code(error)
        raise OSError(
            code,
            f"`path` must be on a disk with room. Received: path={str(path)!r}"
            f", and {os.strerror(code).lower()}. {kept}. Make room, and "
            "run the same command again.",
        ) from error


def is_full(error: BaseException) -> bool:
    """Check whether an error is that of a full disk, quota or file.

    Example:

    >>> import errno
    >>> tfcap._io.is_full(OSError(errno.ENOSPC, ""))
    True
    """
    return system_code(error) in _FULL
