"""Checks of what is written, which readers would drop silently."""

import math

import numpy as np

from tensorboard_plugin_tfcap.metadata import LARGEST
from tensorboard_plugin_tfcap.metadata import MOST
from tensorboard_plugin_tfcap.metadata import is_infinite


def text(name, value):
    """A string.

    Raises:
        TypeError: If it is not a string.
    """
    if not isinstance(value, str):
        raise TypeError(
            f"`{name}` must be a string. Received: {name}={value!r}."
        )
    return value


def filled_text(name, value):
    """A string that is not empty."""
    if not text(name, value):
        raise ValueError(f"`{name}` must not be empty. Received: {value!r}.")
    return value


def texts(name, values):
    """Strings of a list.

    Raises:
        TypeError: If it is a single string, or contains another type.
    """
    if isinstance(values, str):
        raise TypeError(
            f"`{name}` must be a list of strings. Received: "
            f"{name}={values!r}. Put a single one in a list."
        )
    return [text(name, value) for value in values]


def setting(name, value):
    """A number or a string, the value of a parameter."""
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, str | int | float):
        raise TypeError(
            f"`{name}` must be a number or a string. Received: "
            f"{name}={value!r}. Leave out what has no value."
        )
    # As a string, since JSON has no infinity.
    return str(value) if is_infinite(value) else value


def settings(values):
    """Parameters by name."""
    few("params", values)
    return {text("params", k): setting(k, v) for k, v in values.items()}


def numbers(values):
    """The numbers of a dict, without `None` and strings.

    Raises:
        TypeError: If a name is not a string, or a value is an array.
        ValueError: If there is no number, or too many.
    """
    kept = {
        text("metrics", name): _number(name, value)
        for name, value in values.items()
        if is_number(value)
    }
    if not kept:
        raise ValueError(
            f"`metrics` must contain a number. Received: metrics={values}."
        )
    few("metrics", kept)
    return kept


def few(name, values):
    """Rejects more entries than readers accept."""
    if len(values) > MOST:
        raise ValueError(
            f"`{name}` must have at most {MOST} entries. Received: "
            f"{len(values)}. Leave some out."
        )


def small(record):
    """A record as bytes.

    Raises:
        ValueError: If it is larger than readers accept.
    """
    if len(record) > LARGEST:
        raise ValueError(
            f"`metrics` and `params` must be at most {LARGEST} bytes as JSON. "
            f"Received: {len(record)} bytes. Write shorter names or values."
        )
    return record


def is_number(value):
    """Check whether a value is not `None`, a string, or a Boolean."""
    return value is not None and not isinstance(value, bool | str)


def plain(value):
    """A finite number as a float, and anything else as `None`."""
    if is_number(value) and math.isfinite(float(value)):
        return float(value)
    return None


def _number(name, value):
    try:
        return float(value)
    except TypeError as error:
        raise TypeError(
            "`metrics` must hold numbers. Received: "
            f"{name}={value!r:.80}. Reduce it to a number, such as its mean."
        ) from error
