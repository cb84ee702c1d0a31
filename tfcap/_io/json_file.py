"""Strict reading of JSON and text, with errors that name file and remedy.

An object may hold its checksum: the value of `"sha256"` is the SHA-256, in
hexadecimal, of `json.dumps(rest, sort_keys=True)`, the rest of the object.
Objects without a checksum are not verified.
"""

import codecs
import gzip
import hashlib
import io
import json
import math
import zlib
from collections.abc import Callable
from collections.abc import Mapping
from os import PathLike
from typing import Any

from tfcap._io.file_limits import limit
from tfcap._io.file_limits import raise_limit

_AGAIN = (
    "Download or copy the file again; if it is compressed, but not by gzip, "
    "unpack it first."
)
_GZIP, _BLOCK = b"\x1f\x8b", 1 << 20
_KEY = "sha256"


def malformed(
    path: str | PathLike, where: str, problem: str, hint: str
) -> ValueError:
    """Makes the error for a malformed data file.

    Args:
        path: String or path of the file.
        where: String, the place in the file; empty for the whole file.
        problem: String, what is wrong there.
        hint: String, a sentence that says what to do.

    Returns:
        ValueError, to be raised by the caller.

    Example:

    >>> error = tfcap._io.malformed("a.json", "line 3", "is no id", "Add one.")
    >>> str(error).endswith("in line 3 is no id. Add one.")
    True
    """
    place = f" in {where}" if where else ""
    return ValueError(
        f"`path` must name a well-formed file. Received: path={str(path)!r},"
        f" where{place} {problem}. {hint}"
    )


def read_bytes(path: str | PathLike) -> bytes:
    """Reads a file, gzipped or not.

    It is opened and read once, so that a pipe works, too, such as `/dev/stdin`
    or `<(zcat captions.json.gz)` in a shell.

    Raises:
        ValueError: If the compressed data are cut off, or if the unpacked file
            is too large; see `tfcap._io.file_limits`.
        OSError: If there is no such file.
    """
    found, most = io.BytesIO(), limit("TFCAP_MAX_BYTES")
    with open(path, "rb") as file:
        packed = file.peek(2)[:2] == _GZIP
        try:
            source = gzip.GzipFile(fileobj=file) if packed else file
            while part := source.read(_BLOCK):
                found.write(part)
                # Read in parts, since it may be a decompression bomb.
                if found.tell() > most:
                    problem = f"there are more than {most:,} bytes"
                    hint = raise_limit("TFCAP_MAX_BYTES")
                    raise malformed(path, "", problem, hint)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            problem = f"the compressed data are cut off or damaged ({error})"
            raise malformed(path, "", problem, _AGAIN) from error
    return found.getvalue()


def read_lines(path: str | PathLike, content: bytes | None = None) -> list[str]:
    """Reads the lines of a text in UTF-8 or marked UTF-16, gzipped or not.

    Args:
        path: String or path. A gzipped file is recognized by its content.
        content: Bytes, result of `read_bytes()` if the file has been read.

    Returns:
        List of strings without ends of line, including blank lines, so that
        indices count the lines of the file.

    Raises:
        ValueError: If the file is cut off or is not such a text.
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
        problem = f"the text is not {error.encoding.upper()} ({error.reason})"
        raise malformed(path, f"line {line}", problem, _AGAIN) from error
    # Captions may hold other separators, at which `splitlines()` would split.
    return [line.removesuffix("\r") for line in text.split("\n")]


def read_json(
    path: str | PathLike,
    object_hook: Callable | None = None,
    hint: str = _AGAIN,
    layout: str = "",
    content: bytes | None = None,
) -> Any:
    """Reads a JSON file, gzipped or not, strictly.

    Repeated names in an object, NaN and infinity are rejected; Python's `json`
    accepts them.

    Args:
        path: String or path. A gzipped file is recognized by its content.
        object_hook: Function, optional, called on each object read, as in
            `json.load()`.
        hint: String, a sentence that says what to do with a damaged file.
        layout: String, a sentence that says what the file should hold, for a
            file of another format, such as JSON lines.
        content: Bytes, result of `read_bytes()` if the file has been read.

    Returns:
        The content as Python objects.

    Raises:
        ValueError: If the file is cut off or is not JSON.
        OSError: If there is no such file.

    Example:

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.json").write_text('{"r@10": 55.0}')
    >>> tfcap._io.read_json(folder / "a.json")
    {'r@10': 55.0}
    """

    def distinct(pairs):
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ValueError(f"a name is repeated in {pairs!r:.80}")
        return object_hook(found) if object_hook else found

    def refuse(name):
        raise ValueError(f"{name} is not a number of JSON")

    content = read_bytes(path) if content is None else content
    try:
        text = content.decode(json.detect_encoding(content))
        return json.loads(
            text, object_pairs_hook=distinct, parse_constant=refuse
        )
    except (ValueError, RecursionError) as error:
        problem = f"the JSON is cut off or damaged ({error})"
        hint = f"{hint} {layout}".strip()
        raise malformed(path, "", problem, hint) from error


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """Adds a checksum to an object.

    Args:
        content: Dict that JSON can hold.

    Returns:
        Dict as read back from JSON, with the checksum last.

    Example:

    >>> from tfcap._io import sealed, unsealed
    >>> kept = sealed({"r@10": 55.0})
    >>> unsealed(kept)
    {'r@10': 55.0}
    >>> unsealed({**kept, "r@10": 95.0})
    Traceback (most recent call last):
    ValueError: its checksum is that of another content
    """
    content = json.loads(json.dumps(content))
    content.pop(_KEY, None)
    return {**content, _KEY: _checksum(content)}


def unsealed(content: Any) -> Any:
    """Verifies and removes the checksum of an object.

    Args:
        content: Value read from JSON, returned unchanged if it has no checksum.

    Returns:
        The content without its checksum.

    Raises:
        ValueError: If the checksum is wrong. The message is a clause.

    Example:

    >>> tfcap._io.unsealed(tfcap._io.sealed({"r@10": 55.0}))
    {'r@10': 55.0}
    """
    if not isinstance(content, dict) or _KEY not in content:
        return content
    content = dict(content)
    if content.pop(_KEY) != _checksum(content):
        raise ValueError("its checksum is that of another content")
    return content


def read_sealed(path: str | PathLike, hint: str) -> Any:
    """Reads a JSON file whose object may have a checksum.

    Args:
        path: String or path.
        hint: String, a sentence that says what to do with a damaged file.

    Returns:
        The content, without its checksum.

    Raises:
        ValueError: If the file is damaged.
        OSError: If there is no such file.

    Example:

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> with tfcap._io.whole_file(folder / "a.json", "w") as file:
    ...     json.dump(tfcap._io.sealed({"r@10": 55.0}), file)
    >>> tfcap._io.read_sealed(folder / "a.json", "Make it anew.")
    {'r@10': 55.0}
    """
    content = read_json(path, hint=hint)
    try:
        return unsealed(content)
    except ValueError as error:
        problem = f"the content is not what was written ({error})"
        raise malformed(path, "", problem, hint) from error


def _checksum(content):
    text = json.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def finite(value: float) -> float | None:
    """Returns a number for JSON, `None` for NaN and infinity."""
    return float(value) if math.isfinite(value) else None
