"""Numbers that are given to constructors, checked and made Python's own.

NumPy's numbers are numbers: what a notebook computes may be handed on. As
Python's they are saved with a layer's config.
"""

import math

import keras
import numpy as np


def checked_integer(value, name, wanted="a positive integer", least=1):
    """Checks an argument that counts something.

    Args:
        value: The argument.
        name: String, its name, for the message.
        wanted: String, what it must be, for the message.
        least: Integer, the smallest that is taken. Defaults to `1`.

    Returns:
        Integer of Python's.

    Raises:
        ValueError: If it is no integer, Python's or NumPy's, or a smaller one.

    Example:

    >>> from tfcap.ops.arguments import checked_integer
    >>> checked_integer(np.int64(3), "max_length")
    3
    """
    if not _is_number(value, int | np.integer) or value < least:
        _refuse(value, name, wanted)
    return int(value)


def checked_seed(value):
    """Checks a seed: an integer of Python's, or `None`."""
    if value is None:
        return None
    return checked_integer(value, "seed", "an integer, or None", -math.inf)


def checked_number(value, name, wanted, fits):
    """Checks an argument that is a number and stays it.

    Args:
        value: The argument.
        name: String, its name, for the message.
        wanted: String, what it must be, for the message.
        fits: Callable from a float to a boolean.

    Returns:
        Float of Python's.

    Raises:
        ValueError: If it is no finite number, or one that does not fit.

    Example:

    >>> from tfcap.ops.arguments import checked_number
    >>> checked_number(np.float32(0.5), "rate", "positive", lambda x: x > 0)
    0.5
    """
    if not _is_number(value, int | float | np.integer | np.floating):
        _refuse(value, name, wanted)
    if not math.isfinite(value) or not fits(float(value)):
        _refuse(value, name, wanted)
    return float(value)


def checked_rate(value, name):
    """Checks a rate of dropout, as `checked_number()`: it is in `[0, 1)`."""
    return checked_number(value, name, "in [0, 1)", lambda x: 0 <= x < 1)


def checked_scalar(value, name, wanted, fits):
    """Checks an argument that is a number, or a variable that holds one.

    Args:
        value: The argument. What a variable will hold is not checked.
        name: String, its name, for the message.
        wanted: String, what it must be, for the message.
        fits: Callable from a float to a boolean.

    Returns:
        Float of Python's, or the `keras.Variable` of shape `()`.

    Raises:
        ValueError: If it is neither, or does not fit.

    Example:

    >>> from tfcap.ops.arguments import checked_scalar
    >>> checked_scalar(np.float64(2), "scale", "positive", lambda x: x > 0)
    2.0
    """
    if not isinstance(value, keras.Variable):
        return checked_number(value, name, wanted, fits)
    if tuple(value.shape) != ():
        raise ValueError(
            f"`{name}` must be a number, or a `keras.Variable` of shape (). "
            f"Received: {name}={value!r}."
        )
    return value


def initial_value(value):
    """Value of a number or a variable for a config: a float."""
    if isinstance(value, keras.Variable):
        return float(keras.ops.convert_to_numpy(value))
    return value


def _is_number(value, kinds):
    return isinstance(value, kinds) and not isinstance(value, bool)


def _refuse(value, name, wanted):
    raise ValueError(f"`{name}` must be {wanted}. Received: {name}={value!r}.")
