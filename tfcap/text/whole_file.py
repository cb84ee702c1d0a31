"""Files that are there whole or not at all."""

import contextlib
import errno
import os
import pathlib
import uuid

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextlib.contextmanager
def whole_file(path, mode="wb"):
    """Opens a file that takes its place when it is whole.

    What was there before stays as it was until then, and stays for good if
    the block fails, if the process is killed or if the disk is full.

    Args:
        path: String or path.
        mode: String, `"wb"`, `"w+b"`, or `"w"` for text in UTF-8. Defaults to
            `"wb"`.

    Yields:
        The file, open.

    Raises:
        OSError: If the disk is full; names the file, and the cure.

    Example:

    >>> import pathlib, tempfile
    >>> from tfcap.text.whole_file import whole_file
    >>> path = pathlib.Path(tempfile.mkdtemp(), "words.txt")
    >>> with whole_file(path, "w") as file:
    ...     _ = file.write("a dog")
    >>> path.read_text()
    'a dog'
    """
    path = pathlib.Path(path)
    # Machines that share a disk may have processes of one number.
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    encoding = None if "b" in mode else "utf-8"
    try:
        with told_if_full(path), open(partial, mode, encoding=encoding) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


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
