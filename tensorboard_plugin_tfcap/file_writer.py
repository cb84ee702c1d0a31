"""Files that are written as a whole or not at all."""

import contextlib
import errno
import os
import shutil


def write_whole(path, data: bytes):
    """Writes a file atomically.

    An old file stays until the new one is complete. A link stays a link, and a
    pipe or a device is written to.

    Raises:
        OSError: If the folder is absent or cannot be written to.

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
            # The partial file is no more readable than the whole one.
            return os.open(name, flags, 0o600 if there else 0o666)

        with open(partial, "wb", opener=opener) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if there:
            shutil.copymode(path, partial)
        os.replace(partial, os.path.realpath(path))


def check_place(path):
    """Rejects a path at which no file can be written.

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
    """A path in the same folder, whose file is removed afterwards."""
    partial = f"{os.path.realpath(path)}.{os.getpid()}.partial"
    try:
        yield partial
    except OSError as error:
        # The name that the user gave.
        error.filename, error.filename2 = os.fspath(path), None
        raise
    finally:
        with contextlib.suppress(OSError):
            os.remove(partial)
