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

    >>> from tfcap._ops.schedules import schedules_held
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


class StepCounter:
    """Counts training steps, once in each, however often it is asked to.

    A function that TensorFlow traces, without the loops and branches in it, is
    one step: in it, the count is read once, and moves on once. Elsewhere it
    moves on whenever it is asked to.

    Args:
        variable: Integer `keras.Variable` that holds the count.
    """

    def __init__(self, variable: keras.Variable):
        self.variable = variable

    def __call__(self) -> Any:
        """The number of this training step, a scalar tensor."""
        function = traced_function()
        if function is None:
            return self.variable.value
        return self._begun(function)["now"]

    def advance(self) -> None:
        """Moves on to the next step, if that has not been done in this one."""
        function = traced_function()
        if function is None:
            self.variable.assign(self.variable + 1)
            return
        begun = self._begun(function)
        if begun["over"]:
            return
        begun["over"] = True
        import tensorflow as tf

        # A data set of unknown length ends with a step without data: wait for
        # it, or a step more is counted.
        with function.as_default(), tf.control_dependencies(function.inputs):
            self.variable.assign(begun["now"] + 1)

    def _begun(self, function):
        """State of the step that a function is, on this replica."""
        import tensorflow as tf

        replica = id(tf.distribute.get_replica_context())
        kept = function.get_collection_ref(f"tfcap_step_{id(self)}_{replica}")
        if not kept:
            with function.as_default():
                now = tf.identity(tf.convert_to_tensor(self.variable.value))
            kept.append({"now": now, "over": False})
        return kept[0]


def traced_function() -> Any:
    """The function that TensorFlow traces, or `None`.

    Its loops and branches are graphs of their own, whose operations run as
    often as the loop does; this is the one around them.
    """
    if keras.backend.backend() != "tensorflow":
        return None
    import tensorflow as tf

    graph = tf.compat.v1.get_default_graph()
    if tf.executing_eagerly() or not hasattr(graph, "outer_graph"):
        return None
    while type(graph) is not tf.__internal__.FuncGraph:
        graph = graph.outer_graph
    return graph


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
