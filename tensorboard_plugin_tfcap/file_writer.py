"""Files that are there whole or not at all."""

import contextlib
import errno
import os
import shutil


def write_whole(path, data: bytes):
    """Writes a file that takes its place when it is whole.

    What was there before stays until then. A link stays a link, and a pipe or
    a device is written to.

    Raises:
        OSError: If there is no such folder, or it cannot be written to.

    Example:

    >>> import os, tempfile
    >>> from tensorboard_plugin_tfcap.file_writer import write_whole
    >>> path = os.path.join(tempfile.mkdtemp(), "a.txt")
    >>> write_whole(path, b"a dog")
    >>> open(path).read()
    'a dog'
    """
    if _is_other(path):
        with open(path, "wb") as file:
            file.write(data)
        return
    with _beside(path) as partial:
        there = os.path.exists(path)

        def opener(name, flags):
            # Nobody reads half a file who may not read the whole.
            return os.open(name, flags, 0o600 if there else 0o666)

        with open(partial, "wb", opener=opener) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if there:
            shutil.copymode(path, partial)
        os.replace(partial, os.path.realpath(path))


def check_place(path):
    """Rejects a path at which no file can be written, before there is one.

    Raises:
        OSError: As of `write_whole()`.
    """
    if os.path.isdir(path):
        code = errno.EISDIR
        raise IsADirectoryError(code, os.strerror(code), os.fspath(path))
    if not _is_other(path):
        with _beside(path) as partial:
            open(partial, "wb").close()


def _is_other(path):
    return os.path.exists(path) and not os.path.isfile(path)


@contextlib.contextmanager
def _beside(path):
    """A path in the same folder, whose file is gone afterwards."""
    partial = f"{os.path.realpath(path)}.{os.getpid()}.partial"
    try:
        yield partial
    except OSError as error:
        # The name that a person knows.
        error.filename, error.filename2 = os.fspath(path), None
        raise
    finally:
        with contextlib.suppress(OSError):
            os.remove(partial)
