"""Checks of the entries of a file."""

import os
from typing import Any

from tfcap._io import malformed
from tfcap.data.image_names import whole_number

FIX = "Correct the file, or get it again from where it is published."
ID = "an integer or some text"
_SHOWN = 5


def is_image_id(value):
    """Returns whether a value may identify an image: an integer or a string."""
    return type(value) is int or isinstance(value, str) and value != ""


#: What a field may hold, by the name of its kind.
_KINDS = {
    ID: is_image_id,
    # NumPy and the files hold numbers in 64 bits.
    "an integer": lambda x: type(x) is int and -(2**63) <= x < 2**63,
    "text": lambda x: isinstance(x, str),
    "a list": lambda x: isinstance(x, list),
    "an object": lambda x: isinstance(x, dict),
    "a list of words": lambda x: (
        isinstance(x, list) and all(isinstance(w, str) and w for w in x)
    ),
}


def field(
    path: str | os.PathLike,
    where: str,
    entry: Any,
    key: str,
    kind: str,
    hint: str = FIX,
    default: Any = None,
) -> Any:
    """Returns a checked field of an entry.

    Args:
        path: String or path of the file, for the message.
        where: String, the place of the entry in the file.
        entry: The entry, which must be an object.
        key: String, name of the field.
        kind: String, kind of its value, such as `"text"`.
        hint: String, a sentence on what to do.
        default: Value of an absent field. Defaults to `None`, which is
            rejected.

    Raises:
        ValueError: If the entry is not an object or the value has another
            kind.

    Example:

    >>> from tfcap.data.entry_problems import field
    >>> field("results.json", "entry 3", {"caption": 7}, "caption", "text")
    Traceback (most recent call last):
    ValueError: `path` must name a well-formed file. Received:
    path='results.json', where in entry 3 `caption` is 7 and not text. Correct
    the file, or get it again from where it is published.
    """
    if not isinstance(entry, dict):
        raise malformed(path, where, "there is no object", hint)
    value = entry.get(key, default)
    # Tables write whole numbers as fractions.
    value = whole_number(value) if kind == ID else value
    if _KINDS[kind](value):
        return value
    found = f"is {value!r:.60} and not {kind}" if key in entry else "is missing"
    raise malformed(path, where, f"`{key}` {found}", hint)


def listed(items: list) -> str:
    """Names the first few of many things, and their number.

    Example:

    >>> from tfcap.data.entry_problems import listed
    >>> listed([7, 8, 9])
    '7, 8, 9'
    >>> listed(list(range(42)))
    '0, 1, 2, 3, 4 and 37 more'
    """
    # In a damaged file, a name may be very long.
    shown = ", ".join(f"{str(item):.200}" for item in items[:_SHOWN])
    more = len(items) - _SHOWN
    return f"{shown} and {more:,} more" if more > 0 else shown
