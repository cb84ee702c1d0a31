"""Checks of arguments: numbers, weights and lengths; optional packages."""

import importlib
import math
from collections.abc import Callable
from collections.abc import Iterable
from typing import Any

import keras
import numpy as np

from tfcap._ops.private_names import is_softmax_output
from tfcap._ops.sequences import check_values


def checked_integer(
    value, name: str, expected: str = "a positive integer", least: int = 1
) -> int:
    """Checks an integer argument.

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


def optional_package(name: str, needed_by: str, extra: str) -> Any:
    """Imports a package or a module of one that an extra installs.

    Raises:
        ImportError: If it is missing; the message names the extra.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"`{needed_by}` needs the package {name.split('.')[0]}. Install it "
            f"with `pip install tfcap[{extra}]`."
        ) from error


def checked_seed(value):
    """Checks a seed: an integer, Python's or NumPy's, or `None`."""
    if value is None:
        return None
    return checked_integer(value, "seed", "an integer, or None", -math.inf)


def checked_number(value, name: str, expected: str, fits: Callable) -> float:
    """Checks a number that stays constant.

    Raises:
        ValueError: If it is not a finite number, or out of range.

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
    """Checks a dropout rate, a number in `[0, 1)`."""
    return checked_number(value, name, "in [0, 1)", lambda x: 0 <= x < 1)


def checked_scalar(value, name: str, expected: str, fits: Callable):
    """Checks an argument that is a number, or a variable that holds one.

    Returns:
        Python float, or the `keras.Variable` of shape `()`.

    Raises:
        ValueError: If it is neither, or out of range.

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
    """Rejects a value that is not one of the choices.

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


def check_not_softmax(logits: Any, name: str) -> None:
    """Rejects the output of a softmax, such as a layer's activation.

    Raises:
        ValueError: If Keras computed the tensor by a softmax, on TensorFlow.
    """
    if is_softmax_output(logits):
        raise ValueError(
            f"`{name}` must be logits. Received: probabilities, the output of "
            'a softmax. Leave out `activation="softmax"` of the layer that '
            "makes them, or pass their logarithm."
        )


def initial_value(value):
    """Returns the value of a number or a variable, for a config."""
    if isinstance(value, keras.Variable):
        return float(keras.ops.convert_to_numpy(value))
    return value


def config_of(part: Any, names: str) -> dict:
    """Returns arguments of an object, for its `get_config()`.

    Args:
        part: Object with an attribute for each argument, of the same name.
        names: String, the names, separated by spaces.

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
    """Rejects texts that are longer than a network's positions.

    Args:
        length: Integer, or a scalar tensor if it is dynamic.
        max_length: Integer.
        network: String, the network's name in the message.
        name: String, its argument. Defaults to `"max_length"`.
        cure: String, what to do about it.

    Returns:
        `length`; in a graph, what is computed from it waits for the check.

    Raises:
        ValueError: If they are longer, as in `check_values()`.
    """
    message = (
        f"`{name}` of the {network} must be at least the number of words of "
        f"its input. Received: {name}={max_length}, "
    )
    if not isinstance(length, int):
        return check_values(
            length <= max_length, f"{message}more words. {cure}", length
        )
    if length > max_length:
        raise ValueError(f"{message}{length} words. {cure}")
    return length
