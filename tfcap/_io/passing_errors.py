"""Errors of a disk that pass, as those of a network disk: tried again.

A file server that starts anew, or a network that is away for a moment, shows
as `EIO` or `ESTALE` of whatever a program does with a file. Here it is done
again, whole, for `TFCAP_DISK_WAIT` seconds, and then the file is named.
"""

import contextlib
import errno
import os
import re
import stat
import sys
import time
from collections.abc import Callable
from collections.abc import Iterator
from os import PathLike
from typing import Any

from tfcap._io.file_limits import limit

_NAMES = (
    *("EIO", "ESTALE", "EREMOTEIO", "ETIMEDOUT", "EHOSTDOWN", "EHOSTUNREACH"),
    *("ENETDOWN", "ENETUNREACH", "ENOTCONN", "ESHUTDOWN"),
)
#: Not every system has all.
_CODES = {getattr(errno, name) for name in _NAMES if hasattr(errno, name)}
#: Those of a process that may not open a file, whatever is in it.
_REFUSED = {errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE, errno.EAGAIN}
#: As HDF5 tells of an error of the system.
_HDF5 = re.compile(r"\berrno = (\d+)")
#: What HDF5, and archives of Python, raise of one.
_RAISED = (OSError, RuntimeError, KeyError, TypeError, ValueError)
#: Seconds until the first and, at most, until a later try.
_FIRST, _LONGEST = 0.5, 30.0


class DiskError(OSError):
    """An error of a disk that has not passed.

    Example:

    >>> issubclass(tfcap._io.DiskError, OSError)
    True
    """


def passing_code(error, before=None):
    """The code of an error that may pass.

    What had led to `before`, which was being handled already, does not count.

    Returns:
        Integer, as of `errno`, its own or that of one that has led to it;
        None for any other error.

    Example:

    >>> import errno
    >>> from tfcap._io.passing_errors import passing_code
    >>> passing_code(OSError(errno.ESTALE, "")) == errno.ESTALE
    True
    >>> passing_code(FileNotFoundError(errno.ENOENT, "")) is None
    True
    """
    for one in _chain(error, before):
        code = system_code(one)
        if code in _CODES:
            return code
    return None


def system_code(error) -> int | None:
    """The code of an error of the system, which HDF5 tells in its text alone.

    Example:

    >>> from tfcap._io.passing_errors import system_code
    >>> system_code(RuntimeError("write failed (fd = 4, errno = 28, ...)"))
    28
    """
    code = getattr(error, "errno", None)
    if code is None and isinstance(error, _RAISED):
        found = _HDF5.search(str(error))
        code = int(found[1]) if found else None
    return code


@contextlib.contextmanager
def named(path: str | PathLike) -> Iterator[None]:
    """Names a file in errors of the system that name none.

    Those of opening a file do, those of reading, writing and closing it not.

    Args:
        path: String or path of the file that the block reads or writes.

    Raises:
        OSError: As of the block.

    Example:

    >>> import errno
    >>> from tfcap._io import named
    >>> with named("words.txt"):
    ...     raise OSError(errno.EIO, "Input/output error")
    Traceback (most recent call last):
    ...
    OSError: [Errno 5] Input/output error: 'words.txt'
    """
    try:
        yield
    except OSError as error:
        # Those of ours begin with what is wrong.
        ours = str(error.strerror).startswith("`")
        if ours or error.filename is not None or error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def raise_passing(error, path=None):
    """Raises an error that tells of no damage as one of the system.

    For what takes other errors of a file for damage in it.

    Raises:
        OSError: If it may pass, or has not passed, or if the file may not be
            opened.
    """
    for one in _chain(error):
        if isinstance(one, DiskError):
            raise one
        code = system_code(one)
        if code in _CODES | _REFUSED:
            told = [code, os.strerror(code)]
            raise OSError(*told, *([str(path)] if path else [])) from error


def tried_again(
    path: str | PathLike, action: Callable[[], Any], kept: str = ""
) -> Any:
    """Does something with a file, again and again where errors may pass.

    Args:
        path: String or path of the file. One that leads to a pipe or a device
            is read or written once.
        action: Callable without arguments, which begins anew whenever it is
            called.
        kept: String, a sentence that says what is left in the end.

    Returns:
        What `action` returns.

    Raises:
        DiskError: If the errors have not passed. It names the file.

    Example:

    >>> import errno
    >>> from tfcap._io import tried_again
    >>> tried_again("words.txt", lambda: "a dog")
    'a dog'
    """
    begun, pause, before = None, _FIRST, sys.exc_info()[1]
    while True:
        try:
            return action()
        except _RAISED as error:
            code = passing_code(error, before)
            chain = _chain(error, before)
            waited = any(isinstance(one, DiskError) for one in chain)
            if code is None or waited or _once(path):
                raise
            now = time.monotonic()
            begun = now if begun is None else begun
            left = begun + limit("TFCAP_DISK_WAIT") - now
            if left <= 0:
                raise _told(path, code, now - begun, kept) from error
            pause = min(pause, left, _LONGEST)
            print(
                f"tfcap: {path}: {os.strerror(code)}. Tried again in "
                f"{pause:.3g} s, for {left:.0f} s more.",
                file=sys.stderr,
                flush=True,
            )
            time.sleep(pause)
            pause *= 2


def is_there(path: str | PathLike) -> bool:
    """Check whether something is at a path.

    `os.path.exists()` takes any error for absence.

    Args:
        path: String or path.

    Returns:
        Boolean.

    Raises:
        DiskError: If the disk does not tell.

    Example:

    >>> tfcap._io.is_there("no such file")
    False
    """
    return status(path) is not None


def status(path: str | PathLike) -> os.stat_result | None:
    """Status of what a path leads to.

    Args:
        path: String or path.

    Returns:
        `os.stat_result`; None where nothing is.

    Raises:
        DiskError: If the disk does not tell.

    Example:

    >>> tfcap._io.status("no such file") is None
    True
    """
    try:
        return tried_again(path, lambda: os.stat(path))
    except (FileNotFoundError, NotADirectoryError):
        return None


def _chain(error, before=None):
    """An error, and those in whose handling it was raised, to one `before`.

    `zipfile` takes an error of the system for an archive that is none.
    """
    while error is not None and error is not before:
        yield error
        error = error.__cause__ or error.__context__


def _once(path):
    """Check whether a path leads to what can be read or written only once."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _told(path, code, seconds, kept):
    return DiskError(
        code,
        f"`path` must be on a disk that answers. Received: path={str(path)!r},"
        f" and {os.strerror(code).lower()} for {seconds:.0f} seconds. "
        f"{kept + ' ' if kept else ''}Look at the disk or the network, and run "
        "the same command again; TFCAP_DISK_WAIT sets the seconds.",
    )
