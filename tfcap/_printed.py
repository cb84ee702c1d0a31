"""How objects print: their class and its arguments, arrays by their shape."""

import inspect
from typing import Any

#: Entries of a sequence, and letters of one, that are printed.
_ENTRIES, _LETTERS = 16, 80


def printed(part: Any) -> str:
    """Returns the text of an object; a class says `__repr__ = printed`.

    Shown are the arguments of the class that are attributes of the object,
    under the same name, and that differ from their defaults.

    Example:

    >>> tfcap.decoding.Greedy(max_length=9)
    Greedy(max_length=9)
    """
    shown = []
    for name, parameter in inspect.signature(type(part)).parameters.items():
        value = getattr(part, name, parameter.default)
        plain = isinstance(value, type(parameter.default))
        if not (plain and value == parameter.default):
            shown.append(f"{name}={brief(value)}")
    return f"{type(part).__name__}({', '.join(shown)})"


def brief(value: Any) -> str:
    """Returns one line on a value: large ones by their size.

    Example:

    >>> from tfcap._printed import brief
    >>> print(brief(np.zeros((2, 3))), brief([0.1 + 0.2, "a"]), brief(map))
    float64 (2, 3) [0.3, 'a'] map
    """
    if isinstance(value, float):
        return f"{value:.6g}"
    if getattr(value, "ndim", 0):
        if value.ndim > 1 or not hasattr(value, "tolist"):
            dtype = getattr(value.dtype, "name", value.dtype)
            return f"{dtype} {tuple(value.shape)}"
        value = value.tolist()
    if type(value) in (list, tuple, dict):
        text = _entries(value) if len(value) <= _ENTRIES else ""
        if 0 < len(text) <= _LETTERS:
            return text
        return f"<{type(value).__name__} of {len(value):,}>"
    text = getattr(value, "__name__", None) or repr(value)
    return type(value).__name__ if " at 0x" in text else text


def _entries(values):
    """A short list or dict in full."""
    if isinstance(values, dict):
        inner = (f"{key!r}: {brief(value)}" for key, value in values.items())
        return f"{{{', '.join(inner)}}}"
    start, end = "[]" if isinstance(values, list) else "()"
    return f"{start}{', '.join(map(brief, values))}{end}"
