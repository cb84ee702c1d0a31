"""Rows of published tables as dicts: a method, and its numbers."""

import inspect


def build(row, networks, numbers, about=None):
    """The model of a row.

    Args:
        row: Dict with the `"method"`, a function of `tfcap.methods`, and what
            sets the row apart: arguments by their names. One that depends on
            the settings is a function of `about`. `"unread"` names those of
            `numbers` that the method does not read, so chosen.
        numbers: Dict of arguments that all rows of a paper share. Those that
            the method does not know are left out.

    Example:

    >>> from reproduce.rows import build
    >>> def method(speaker, *, rho=0.25, seed=None):
    ...     return speaker, rho, seed
    >>> row = {"method": method, "rho": lambda about: 1 - about}
    >>> build(row, ["speaker"], {"seed": 3, "margin": 0.2}, about=0.25)
    ('speaker', 0.75, 3)
    """
    method, unread = row["method"], row.get("unread", ())
    known = inspect.signature(method).parameters.keys() - {*unread}
    shared = {k: v for k, v in numbers.items() if k in known}
    own = {
        name: value(about) if callable(value) else value
        for name, value in row.items()
        if name not in ("method", "unread")
    }
    return method(*networks, **shared | own)
