"""Reading JSON files, with errors that say which file and what to do.

An object may hold its checksum: the value of `"sha256"` is the SHA-256, in
hexadecimal, of the rest of the object as `json.dumps(rest, sort_keys=True)`
gives it. Files without one are taken as they are.
"""

import contextlib
import functools
import gc
import gzip
import hashlib
import io
import json
import math
import os
import re
import stat
import zlib
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from os import PathLike
from typing import Any

from tfcap._io.file_limits import check_dense
from tfcap._io.file_limits import check_unpacked
from tfcap._io.file_limits import limit
from tfcap._io.file_limits import open_to_read
from tfcap._io.file_limits import raise_limit
from tfcap._io.file_limits import read_stream
from tfcap._io.passing_errors import named
from tfcap._io.passing_errors import tried_again

_AGAIN = (
    "Download or copy the file again; if it is compressed in another way than "
    "gzip, unpack it first."
)
#: A character by its number, or anything else after a backslash.
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|.)", re.DOTALL)
#: Half of a character by its number.
_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_GZIP, _BLOCK = b"\x1f\x8b", 1 << 20
_KEY = "sha256"


def malformed(
    path: str | PathLike, where: str, problem: str, hint: str
) -> ValueError:
    """Makes the error for a data file that is not as it should be.

    Args:
        path: String or path of the file.
        where: String, the place in the file; empty for the whole of it.
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


def read_bytes(path) -> bytes:
    """Reads a file, gzipped or not.

    It is opened and read once, so that a pipe will do, such as `/dev/stdin`
    or what `<(zcat captions.json.gz)` stands for in a shell.

    Raises:
        ValueError: If the compressed data are cut off, or if there are too
            many bytes, packed or unpacked; see `tfcap._io.file_limits`.
        OSError: If there is no such file.
    """
    content = tried_again(path, lambda: _packed(path))
    return _unpacked(path, content) if content[:2] == _GZIP else content


def _packed(path):
    """The bytes of a file, as they are."""
    with open_once(path) as file:
        size, most = file.seek(0, io.SEEK_END), limit("TFCAP_MAX_BYTES")
        if size > most:
            problem = f"there are {size:,} bytes, more than {most:,}"
            raise malformed(path, "", problem, raise_limit("TFCAP_MAX_BYTES"))
        file.seek(0)
        return file.read()


def _unpacked(path, content):
    """Unpacks gzipped data, a part at a time: they may be a bomb."""
    found = io.BytesIO()
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            while part := file.read(_BLOCK):
                found.write(part)
                check_unpacked(len(content), found.tell())
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise malformed(
            path,
            "",
            f"the compressed data are cut off or damaged ({error})",
            "Download or copy the file again.",
        ) from error
    except ValueError as error:
        hint = raise_limit("TFCAP_MAX_BYTES")
        raise malformed(path, "", str(error), hint) from error
    return found.getvalue()


@contextlib.contextmanager
def open_once(path: str | PathLike):
    """Opens a file to be read, in which one can seek, whatever it is.

    A pipe or a device is read into memory, since it can be read only once.

    Yields:
        The file, open in binary mode.

    Raises:
        ValueError: If a pipe or a device gives too much, or nothing for too
            long, or if a file is mostly holes; see `tfcap._io.file_limits`.
        OSError: If there is no such file.
    """
    refuse = functools.partial(malformed, path, "")
    with named(path), open_to_read(path) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            file = read_stream(file, refuse)
        else:
            try:
                check_dense(file)
            except ValueError as error:
                hint = "Where that is right, copy it with `cp --sparse=never`."
                raise refuse(str(error), hint) from error
        yield file


def read_json(
    path: str | PathLike,
    object_hook: Callable | None = None,
    hint: str = _AGAIN,
    layout: str = "",
    content: bytes | None = None,
) -> Any:
    """Reads a JSON file, gzipped or not.

    Python takes the last of two values of one name, and half of a character
    that needs two numbers, which no encoding can write; here both are refused.

    Args:
        path: String or path. A gzipped file is recognized by its content.
        object_hook: Function, optional, called on each object read, as in
            `json.load()`.
        hint: String, a sentence that says what to do with a damaged file.
        layout: String, a sentence that says what a file of another format
            should hold, such as one of JSON lines. Defaults to `hint`.
        content: Bytes, what `read_bytes()` gave, where the file has been read.

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
    finish = object_hook or (lambda found: found)

    def distinct(pairs):
        found = dict(pairs)
        if len(found) < len(pairs):
            raise _Repeated(pairs)
        return finish(found)

    content = read_bytes(path) if content is None else content
    text = _decoded(path, content, hint)
    if not text.strip():
        if hint == _AGAIN:
            hint = "A pipe can be read once only: give each input one of its "
            hint = f"{hint}own. {_AGAIN}"
        raise malformed(path, "", "there is nothing", hint)
    _check_characters(path, text)
    try:
        with paused_collection():
            return json.loads(text, object_pairs_hook=distinct)
    except _Repeated as error:
        (pairs,) = error.args
        names = [name for name, _ in pairs]
        again = next(name for name in names if names.count(name) > 1)
        problem = f"the name {again!r:.60} is there more than once"
        where = f"the object of {pairs!r:.80}"
        raise malformed(path, where, problem, "Keep one of them.") from error
    except (ValueError, RecursionError) as error:
        problem = f"the JSON is cut off or damaged ({error})"
        other = _other_format(text)
        if other:
            problem, hint = f"there are {other}, not JSON", layout or hint
        raise malformed(path, "", problem, hint) from error


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """Adds its checksum to an object.

    Args:
        content: Dict that JSON can hold.

    Returns:
        Dict, as JSON gives it back, with the checksum last.

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
    """Takes the checksum off an object, if it is as it was written.

    Args:
        content: What JSON holds. Without a checksum it is returned as it is.

    Returns:
        The content without its checksum.

    Raises:
        ValueError: If the checksum is another. The message is a clause.

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


def read_sealed(path: str | PathLike, hint: str, layout: str = "") -> Any:
    """Reads a JSON file whose object may have a checksum.

    Args:
        path: String or path.
        hint: String, a sentence that says what to do with a damaged file.
        layout: String, see `read_json()`.

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
    content = read_json(path, hint=hint, layout=layout)
    try:
        return unsealed(content)
    except ValueError as error:
        problem = f"there is something else than was written ({error})"
        raise malformed(path, "", problem, hint) from error


def _other_format(text):
    """Format of a text that is no JSON, if its first lines show it."""
    lines = text.lstrip("\ufeff \t\r\n").split("\n", 2)[:2]
    if lines[0].startswith(("[", "{")):
        try:
            several = len([json.loads(line) for line in lines]) == 2
        except (ValueError, RecursionError):
            return ""
        return "lines of JSON (JSONL)" * several
    for mark, name in (("\t", "tabs (TSV)"), (",", "commas (CSV)")):
        if len(lines) == 2 and all(mark in line for line in lines):
            return f"lines with {name}"
    return ""


def _decoded(path, content, hint):
    try:
        return content.decode(json.detect_encoding(content))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        problem = f"the text is not {error.encoding.upper()} ({error.reason})"
        raise malformed(path, f"line {line}", problem, hint) from error


class _Repeated(Exception):
    """An object's pairs, two of which have one name."""


def _check_characters(path, text):
    """Refuses a half of a character that is not beside the other half."""
    if _HALF.search(text) is None:
        return
    first = None
    for found in (*_ESCAPE.finditer(text), None):
        code = int(found[1] or "0", 16) if found else 0
        second = 0xDC00 <= code < 0xE000
        joined = first and found and first.end() == found.start()
        if bool(first) != second or second and not joined:
            place = (first or found).start()
            line = text.count("\n", 0, place) + 1
            column = place - text.rfind("\n", 0, place)
            problem = "there is half of a character, which no text can hold"
            where = f"line {line}, column {column}"
            raise malformed(path, where, problem, "Write it anew.")
        first = found if 0xD800 <= code < 0xDC00 else None


def _checksum(content):
    text = json.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def finite(value: float) -> float | None:
    """A number as JSON holds it, `None` for one that is infinite or none."""
    return float(value) if math.isfinite(value) else None


@contextlib.contextmanager
def paused_collection() -> Iterator[None]:
    """Pauses Python's cyclic garbage collector.

    Parsing a large file makes millions of objects that stay and form no
    cycles: the collector would visit all of them again and again.

    Example:

    >>> from tfcap._io import paused_collection
    >>> with paused_collection():
    ...     rows = [[str(i)] for i in range(3)]
    """
    paused = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if paused:
            gc.enable()
