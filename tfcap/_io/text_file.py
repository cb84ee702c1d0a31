"""Reading text files line by line."""

import codecs
import warnings
from os import PathLike

from tfcap._io.json_file import malformed
from tfcap._io.json_file import read_bytes


def read_lines(path: str | PathLike, content: bytes | None = None) -> list[str]:
    """Reads the lines of a text in UTF-8 or marked UTF-16, gzipped or not.

    Args:
        path: String or path. A gzipped file is recognized by its content.
        content: Bytes, what `read_bytes()` gave, where the file has been read.

    Returns:
        List of strings without their ends of line, blank ones included, so
        that the place in the list is the number of the line.

    Raises:
        ValueError: If the file is cut off or is no such text, or holds zeros.
        OSError: If there is no such file.

    Example:

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.txt").write_text("a dog\\na cat")
    >>> tfcap._io.read_lines(folder / "a.txt")
    ['a dog', 'a cat']
    """
    content = read_bytes(path) if content is None else content
    marked = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    encoding = "utf-16" if marked else "utf-8-sig"
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise malformed(
            path,
            f"line {line}",
            f"the text is not {error.encoding.upper()} ({error.reason})",
            "Download or copy the file again; if it is compressed in another "
            "way than gzip, unpack it first.",
        ) from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise malformed(
            path,
            f"line {line}",
            "there are zeros, as a disk that failed leaves them",
            "Download or copy the file again.",
        )
    # A caption may hold other separators, which are no ends of line here.
    return [line.removesuffix("\r") for line in text.split("\n")]


def warn_if_cut(path: str | PathLike, lines: list[str]):
    """Warns where a file ends within a line, as one that is cut off does."""
    if lines[-1].strip():
        warnings.warn(
            f"{path} ends within line {len(lines)}. If that is not whole, "
            "download or copy the file again.",
            stacklevel=2,
        )
