"""Checks of arguments: numbers, shapes and values."""

import inspect
import math
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import ops

from tfcap._ops.sequences import dense


def checked_integer(
    value, name: str, expected: str = "a positive integer", least: int = 1
) -> int:
    """Checks an argument that counts something.

    Raises:
        ValueError: If it is no integer, Python's or NumPy's, or a smaller one.

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
        ValueError: If it is no finite number, or one that does not fit.

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


def initial_value(value):
    """Value of a number or a variable for a config: a float."""
    if isinstance(value, keras.Variable):
        return float(keras.ops.convert_to_numpy(value))
    return value


def _is_number(value, kinds):
    return isinstance(value, kinds) and not isinstance(value, bool)


def _refuse(value, name, expected):
    raise ValueError(
        f"`{name}` must be {expected}. Received: {name}={value!r}."
    )


def check_shape(tensor: Any, axes: str, name: str):
    """Refuses a tensor whose static shape does not fit a legend.

    Costs nothing when a graph runs: only static shapes are looked at, and an
    axis of unknown size fits everything.

    Args:
        tensor: Tensor, array or `KerasTensor`.
        axes: String, one word an axis, such as `"B S T"`. A number must be
            met exactly; a letter that is repeated must have one size. A
            leading `"..."` stands for any number of axes.
        name: String, the argument's name, for the message.

    Raises:
        ValueError: If the shape does not fit.

    Example:

    >>> tfcap._ops.check_shape(np.zeros((2, 5, 7)), "B S T", "log_probs")
    >>> tfcap._ops.check_shape(np.zeros((2, 7)), "B S T", "log_probs")
    Traceback (most recent call last):
    ValueError: `log_probs` must have shape (B, S, T). Received: shape=(2, 7).
    """
    check_shapes(**{name: (tensor, axes)})


def check_shapes(**tensors):
    """Refuses tensors that do not fit each other, and so would broadcast.

    A letter, and what `"..."` stands for, must have one size in all of them.

    Args:
        **tensors: Pairs `(tensor, axes)` by name, axes as in `check_shape()`.

    Raises:
        ValueError: If a shape does not fit its axes, or those before it.

    Example:

    >>> from tfcap._ops.arguments import check_shapes
    >>> labels, scores = np.zeros((4, 1)), np.zeros((4, 5))
    >>> check_shapes(labels=(labels, "B N"), scores=(scores, "B N"))
    Traceback (most recent call last):
    ValueError: `scores` must have the N of `labels`. Received: \
labels.shape=(4, 1), scores.shape=(4, 5).
    """
    known = {}
    for name, (tensor, axes) in tensors.items():
        shape = tuple(tensor.shape)
        sizes = _sizes(shape, axes.split())
        if sizes is None:
            raise ValueError(
                f"`{name}` must have shape ({', '.join(axes.split())}). "
                f"Received: shape={shape}."
            )
        for letter, size in sizes.items():
            expected, first = known.setdefault(letter, (size, name))
            if expected is None:
                known[letter] = size, name
            elif size not in (None, expected):
                what = "axes" if letter.startswith(".") else letter
                raise ValueError(
                    f"`{name}` must have the {what} of `{first}`. Received: "
                    f"{first}.shape={tuple(tensors[first][0].shape)}, "
                    f"{name}.shape={shape}."
                )


def _sizes(shape, letters):
    """Sizes by letter, those of `"..."` by dots; `None` where they differ."""
    sizes = {}
    if letters[0] == "...":
        lead = len(shape) - len(letters) + 1
        letters = [*(f"...{i}" for i in range(lead)), *letters[1:]]
        sizes["..."] = lead
    if len(letters) != len(shape):
        return None
    for letter, size in zip(letters, shape):
        expected = int(letter) if letter.isdigit() else sizes.get(letter)
        if None not in (size, expected) and size != expected:
            return None
        sizes[letter] = size if expected is None else expected
    return sizes


def row_weights(weights: Any, values: Any, name: str = "sample_weight") -> Any:
    """Weights of values, or of their rows.

    Args:
        weights: Tensor of the shape of the values, of leading axes of it, or
            with one more axis of size 1.
        values: Float tensor of shape `(B, ...)`.

    Raises:
        ValueError: If there is not a weight for every row.

    Example:

    >>> from tfcap._ops.arguments import row_weights
    >>> row_weights(np.ones(4), np.zeros((4, 3))).shape
    TensorShape([4, 1])
    """
    weights = ops.cast(ops.convert_to_tensor(weights), values.dtype)
    shape, expected = tuple(weights.shape), tuple(values.shape)
    if len(shape) == len(expected) + 1 and shape[-1] == 1:
        weights = ops.squeeze(weights, axis=-1)
    given = tuple(weights.shape)
    # One weight of the last axes is that of all; one of a batch is not.
    known = [
        size == want or size is None or want is None or (i and size == 1)
        for i, (size, want) in enumerate(zip(given, expected))
    ]
    if len(given) > len(expected) or not all(known):
        raise ValueError(
            f"`{name}` must be of shape {expected}, or of its leading axes. "
            f"Received: {name}.shape={shape}."
        )
    for _ in range(len(expected) - len(given)):
        weights = ops.expand_dims(weights, axis=-1)
    return weights


def batch_entry(inputs, key: str, what: str, remedy: str = "", pad: int = 0):
    """Look up an entry of a batch by its key.

    Args:
        inputs: Dict of tensors, or of their shapes.
        key: String.
        what: String, what it is, for the message.
        remedy: String, for the message.
        pad: Integer, by which ragged ids are filled. Defaults to `0`.

    Raises:
        ValueError: If there is none.
    """
    if isinstance(inputs, dict) and key in inputs:
        return dense(inputs[key], pad)
    received = type(inputs).__name__
    if isinstance(inputs, dict):
        received = f"inputs with {', '.join(sorted(inputs))}"
    message = (
        f"`inputs` must hold {key!r}, {what}. Received: {received}. {remedy}"
    )
    raise ValueError(message.rstrip())


def mask_for(function: Callable, mask: Any) -> dict:
    """Returns a mask as an argument, of a function that takes one.

    A user's network, of which `embed_images(image, training)` is asked, need
    not.

    Args:
        function: Callable.
        mask: Tensor, or `None` where nothing is masked.

    Returns:
        Dict of `mask`, or an empty one.

    Example:

    >>> from tfcap._ops.arguments import mask_for
    >>> mask_for(lambda image, mask=None: image, 1), mask_for(len, 1)
    ({'mask': 1}, {})
    """
    if mask is None or "mask" not in inspect.signature(function).parameters:
        return {}
    return {"mask": mask}


def check_length(
    length: Any,
    max_length: int,
    network: str,
    name: str = "max_length",
    cure: str = "Make one with more positions, or cut the texts.",
) -> Any:
    """Refuses texts of more words than a network has positions for.

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


def check_values(holds: Any, message: str, value: Any = None) -> Any:
    """Refuses values for which a condition does not hold.

    Shapes and types are checked while a graph is traced; what only values
    tell is checked whenever it runs. TensorFlow alone can do that within a
    graph, and not within one that XLA compiles: there, and on other backends,
    nothing is checked.

    Args:
        holds: Boolean tensor, the condition.
        message: String.
        value: Tensor, optional.

    Returns:
        `value`; in a graph, what is computed of it waits for the check.

    Raises:
        ValueError: If it does not hold, where tensors have values. In a graph
            of TensorFlow it is a `tf.errors.InvalidArgumentError`.

    Example:

    >>> from tfcap._ops.arguments import check_values
    >>> check_values(keras.ops.any([0, 1] == 2), "`x` must hold a 2.")
    Traceback (most recent call last):
    ValueError: `x` must hold a 2.
    """
    if keras.backend.backend() != "tensorflow":
        return value
    import tensorflow as tf

    if isinstance(holds, keras.KerasTensor):
        return value
    holds = tf.convert_to_tensor(holds)
    if tf.executing_eagerly():
        if not bool(holds):
            raise ValueError(message)
        return value
    check = tf.debugging.Assert(holds, [message])
    if value is None:
        return None
    with tf.control_dependencies([check]):
        return tf.identity(value)
