"""Numbers that follow a schedule of the training step."""

import contextlib
import contextvars
from collections.abc import Callable
from typing import Any

import keras
from keras import ops

_HELD = contextvars.ContextVar("tfcap_schedules_held", default=None)


@contextlib.contextmanager
def schedules_held():
    """Context of one training step, in which no schedule moves on.

    What follows a schedule moves it on after every use in training. Whoever
    uses it several times in a step, such as a decoder that draws one word
    after another, does so in this context, and moves it on afterwards.

    Yields:
        Dict, by `id`, of what would have moved on.

    Example:

    >>> from tfcap.ops.schedules import schedules_held
    >>> channel = tfcap.layers.PartialSamplingST(lambda step: 1 / (1 + step))
    >>> with schedules_held():
    ...     _ = [channel(np.zeros((2, 5)), training=True) for _ in range(9)]
    >>> float(channel.rho)
    1.0
    """
    used = {}
    token = _HELD.set(used)
    try:
        yield used
    finally:
        _HELD.reset(token)


def is_held(part: Any) -> bool:
    """Check whether a part must not move on, in `schedules_held()`."""
    used = _HELD.get()
    if used is not None:
        used[id(part)] = part
    return used is not None


def is_schedule(value: Any) -> bool:
    """Check whether an argument is a schedule rather than a number."""
    if isinstance(value, keras.Variable):
        return False
    return callable(value) or isinstance(value, dict)


def checked_schedule(
    value: Any, name: str, wanted: str, fits: Callable
) -> Callable:
    """Checks a schedule: a callable from the step to a number.

    Raises:
        TypeError: If it cannot be computed in a graph.
        ValueError: If its first value does not fit.
    """
    if isinstance(value, dict):
        value = keras.saving.deserialize_keras_object(value)
    try:
        # As in a graph of any backend: a tensor without a value.
        value(keras.KerasTensor((), dtype="float32"))
        first = float(at_step(value, 0))
    except Exception as error:
        raise TypeError(
            f"`{name}` must be a number, or a callable from the step, a "
            f"float32 tensor, to one. Received: {name}={value!r}, which no "
            f"graph can compute ({type(error).__name__}). Give an object "
            "of `keras.optimizers.schedules`, or a function of `keras.ops`: "
            "`keras.ops.minimum()` where Python has `min()`."
        ) from error
    if not fits(first):
        raise ValueError(
            f"`{name}` must be {wanted} at every step. Received: {name}="
            f"{value!r}, which is {first} at step 0."
        )
    return value


def at_step(schedule: Callable, step: Any) -> Any:
    """The number of a schedule at a step: a float32 scalar tensor."""
    # As a float, since TensorFlow multiplies no integer with Python's floats.
    step = ops.cast(ops.convert_to_tensor(step), "float32")
    return ops.cast(schedule(step), "float32")


def schedule_config(value: Any) -> Any:
    """A schedule for a layer's config; numbers and `None` stay."""
    if callable(value):
        return keras.saving.serialize_keras_object(value)
    return value
