"""Warnings of public names and arguments that are about to go."""

import warnings

#: Minor releases in which what is deprecated goes on working.
PERIOD = 2


def warn_deprecated(
    old: str, use: str, since: str, stacklevel: int = 2
) -> None:
    """Warns that a public name or argument is deprecated.

    What is deprecated does what it did, for two minor releases. A test fails
    when it has outlived them.

    Args:
        old: String, such as "`tfcap.layers.Old`", or "`old` of `scst()`".
        use: String, its replacement.
        since: String, the first version that warns, such as `"0.2.0"`.
        stacklevel: Integer, as that of `warnings.warn()`, counted from the
            function that calls this one. Defaults to `2`, its caller.

    Example:

    >>> import warnings
    >>> from tfcap._deprecation import warn_deprecated
    >>> def old_name():
    ...     warn_deprecated("`old_name()`", "`new_name()`", since="0.2.0")
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     old_name()
    >>> print(caught[0].message)
    `old_name()` is deprecated since tfcap 0.2.0 and goes with 0.4.0. Use \
`new_name()`.
    """
    warnings.warn(
        f"{old} is deprecated since tfcap {since} and goes with "
        f"{removal(since)}. Use {use}.",
        FutureWarning,
        stacklevel=stacklevel + 1,
    )


def removal(since: str) -> str:
    """First version without what is deprecated since another one."""
    major, minor, _ = since.split(".")
    return f"{major}.{int(minor) + PERIOD}.0"
