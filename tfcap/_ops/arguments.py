"""Checks of arguments: numbers, weights and lengths."""

import math
from collections.abc import Callable
from collections.abc import Iterable
from typing import Any

import keras
import numpy as np

from tfcap._ops.sequences import check_values


def checked_integer(
    value, name: str, expected: str = "a positive integer", least: int = 1
) -> int:
    """Checks an argument that counts something.

    Raises:
        ValueError: If it is not an integer of Python or NumPy, or too small.

    Example:

    >>> from tfcap._ops.arguments import checked_integer
    >>> checked_integer(np.int64(3), "max_length")
    3
    """
    if not _is_number(value, int | np.integer) or value < least:
        _refuse(value, name, expected)
    return int(value)


def checked_seed(value):
    """Checks a seed: an integer, Python's or NumPy's, or `None`."""
    if value is None:
        return None
    return checked_integer(value, "seed", "an integer, or None", -math.inf)


def checked_number(value, name: str, expected: str, fits: Callable) -> float:
    """Checks an argument that is a number and stays it.

    Raises:
        ValueError: If it is not a finite number, or one that does not fit.

    Example:

    >>> from tfcap._ops.arguments import checked_number
    >>> checked_number(np.float32(0.5), "rate", "positive", lambda x: x > 0)
    0.5
    """
    if not _is_number(value, int | float | np.integer | np.floating):
        _refuse(value, name, expected)
    if not math.isfinite(value) or not fits(float(value)):
        _refuse(value, name, expected)
    return float(value)


def checked_rate(value, name):
    """Checks a rate of dropout, as `checked_number()`: it is in `[0, 1)`."""
    return checked_number(value, name, "in [0, 1)", lambda x: 0 <= x < 1)


def checked_scalar(value, name: str, expected: str, fits: Callable):
    """Checks an argument that is a number, or a variable that holds one.

    Returns:
        Float of Python's, or the `keras.Variable` of shape `()`.

    Raises:
        ValueError: If it is neither, or does not fit.

    Example:

    >>> from tfcap._ops.arguments import checked_scalar
    >>> checked_scalar(np.float64(2), "scale", "positive", lambda x: x > 0)
    2.0
    """
    if not isinstance(value, keras.Variable):
        return checked_number(value, name, expected, fits)
    if tuple(value.shape) != ():
        raise ValueError(
            f"`{name}` must be a number, or a `keras.Variable` of shape (). "
            f"Received: {name}={value!r}."
        )
    return value


def check_choice(value: Any, name: str, choices: Iterable) -> None:
    """Rejects what is not one of some choices.

    Example:

    >>> from tfcap._ops.arguments import check_choice
    >>> check_choice("nll", "kind", ("sum", "mean"))
    Traceback (most recent call last):
    ValueError: `kind` must be one of ('sum', 'mean'). Received: kind='nll'.
    """
    if value not in choices:
        raise ValueError(
            f"`{name}` must be one of {tuple(choices)}. Received: "
            f"{name}={value!r}."
        )


def initial_value(value):
    """Value of a number or a variable for a config: a float."""
    if isinstance(value, keras.Variable):
        return float(keras.ops.convert_to_numpy(value))
    return value


def config_of(part: Any, names: str) -> dict:
    """Returns arguments of a part, as `get_config()` has them.

    Args:
        part: The part, which keeps each under its argument's name.
        names: The names, with spaces between them.

    Example:

    >>> from tfcap._ops.arguments import config_of
    >>> config_of(keras.layers.Dropout(0.5, seed=1), "rate seed")
    {'rate': 0.5, 'seed': 1}
    """
    values = {name: getattr(part, name) for name in names.split()}
    serialize = keras.saving.serialize_keras_object
    return {
        name: serialize(value) if hasattr(value, "get_config") else value
        for name, value in values.items()
    }


def _is_number(value, kinds):
    return isinstance(value, kinds) and not isinstance(value, bool)


def _refuse(value, name, expected):
    raise ValueError(
        f"`{name}` must be {expected}. Received: {name}={value!r}."
    )


def check_length(
    length: Any,
    max_length: int,
    network: str,
    name: str = "max_length",
    cure: str = "Make one with more positions, or cut the texts.",
) -> Any:
    """Rejects texts of more words than a network has positions for.

    Args:
        length: Integer, or a scalar tensor where it is not known.
        max_length: Integer.
        network: String, what the network is called in the message.
        name: String, its argument. Defaults to `"max_length"`.
        cure: String, what to do about it.

    Returns:
        `length`; in a graph, what is computed of it waits for the check.

    Raises:
        ValueError: If there are more, as of `check_values()`.
    """
    message = (
        f"`{name}` of the {network} must be at least the number of words "
        f"that it is given. Received: {name}={max_length}, "
    )
    if not isinstance(length, int):
        return check_values(
            length <= max_length, f"{message}more words. {cure}", length
        )
    if length > max_length:
        raise ValueError(f"{message}{length} words. {cure}")
    return length
