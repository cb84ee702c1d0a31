"""Reading JSON files, with errors that say which file and what to do."""

import gzip
import json
import re
import zlib

_AGAIN = (
    "Download or copy the file again; if it is compressed in another way than "
    "gzip, unpack it first."
)
#: A character by its number, or anything else after a backslash.
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|.)", re.DOTALL)
#: Half of a character by its number.
_HALF = re.compile(r"\\u[dD][89a-fA-F]")


def malformed(path, where, problem, cure):
    """Makes the error for a data file that is not as it should be.

    Args:
        path: String or path of the file.
        where: String, the place in the file; empty for the whole of it.
        problem: String, what is wrong there.
        cure: String, a sentence that says what to do.

    Returns:
        ValueError, to be raised by the caller.
    """
    place = f" in {where}" if where else ""
    return ValueError(
        f"`path` must name a well-formed file. Received: path={str(path)!r},"
        f" where{place} {problem}. {cure}"
    )


def read_bytes(path):
    """Reads a file, gzipped or not.

    Args:
        path: String or path. A gzipped file is recognized by its content.

    Returns:
        Bytes, unpacked.

    Raises:
        ValueError: If the compressed data are cut off.
        OSError: If there is no such file.
    """
    with open(path, "rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
    opener = gzip.open if zipped else open
    try:
        with opener(path, "rb") as file:
            return file.read()
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise malformed(
            path,
            "",
            f"the compressed data are cut off or damaged ({error})",
            "Download or copy the file again.",
        ) from error


def read_json(path, object_hook=None, cure=_AGAIN):
    """Reads a JSON file, gzipped or not.

    Python takes the last of two values of one name, and half of a character
    that needs two numbers, which no encoding can write; here both are refused.

    Args:
        path: String or path. A gzipped file is recognized by its content.
        object_hook: Function, optional, called on each object read, as in
            `json.load()`.
        cure: String, a sentence that says what to do with a damaged file.

    Returns:
        The content as Python objects.

    Raises:
        ValueError: If the file is cut off or is not JSON.
        OSError: If there is no such file.
    """
    finish = object_hook or (lambda found: found)

    def distinct(pairs):
        found = dict(pairs)
        if len(found) < len(pairs):
            raise _Repeated(pairs)
        return finish(found)

    text = _decoded(path, read_bytes(path))
    _check_characters(path, text)
    try:
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
        raise malformed(path, "", problem, cure) from error


def _decoded(path, content):
    try:
        return content.decode(json.detect_encoding(content))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        problem = f"the text is not {error.encoding.upper()} ({error.reason})"
        raise malformed(path, f"line {line}", problem, _AGAIN) from error


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
