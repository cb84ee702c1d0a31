"""Replicas of a training step, their seeds, and the schedules of the step.

Keras' TensorFlow optimizer sums gradients over replicas, so a loss divides its
mean by the number of replicas, once: `mean_over_replicas()`. On other backends,
and outside a strategy, there is one replica.
"""

import contextlib
import contextvars
from collections.abc import Callable
from collections.abc import Iterator
from typing import Any

import keras
from keras import ops

from tfcap._ops.private_names import is_function_graph
from tfcap._ops.private_names import tracked
from tfcap._ops.sequences import at_least_float32

# By the `id` of a generator, what gives its seeds instead of its state.
_REPLAYED = contextvars.ContextVar("tfcap_replayed_seeds", default=None)


def _context():
    if keras.backend.backend() != "tensorflow":
        return None
    import tensorflow as tf

    context = tf.distribute.get_replica_context()
    if context is None or context.num_replicas_in_sync == 1:
        return None
    return context


def num_replicas() -> int:
    """Number of replicas in sync, 1 outside a strategy.

    Returns:
        Integer.

    Example:

    >>> tfcap._ops.num_replicas()
    1
    """
    context = _context()
    return 1 if context is None else context.num_replicas_in_sync


def outside_replicas() -> bool:
    """Returns whether this is the cross-replica context of several replicas.

    Keras builds a compiled model there, once, from the mean of the replicas'
    batches: integers are floats, and nothing is trained.
    """
    if keras.backend.backend() != "tensorflow":
        return False
    import tensorflow as tf

    strategy = tf.distribute.get_strategy()
    several = strategy.num_replicas_in_sync > 1
    return several and tf.distribute.in_cross_replica_context()


def gather_across_replicas(tensor: Any) -> Any:
    """Concatenates a tensor over all replicas, along its first axis.

    Differentiable: a replica's rows receive the gradient of every replica.

    Args:
        tensor: Tensor of shape `(B, ...)`, B rows on this replica.

    Returns:
        Tensor of shape `(B * replicas, ...)`, in the order of the replicas.

    Example:

    >>> tfcap._ops.gather_across_replicas(np.zeros((3, 2))).shape
    (3, 2)
    """
    context = _context()
    if context is None:
        return tensor
    # all_gather takes neither bfloat16 nor bool.
    dtype = keras.backend.standardize_dtype(tensor.dtype)
    wire = {"bfloat16": "float32", "bool": "int32"}.get(dtype, dtype)
    return ops.cast(context.all_gather(ops.cast(tensor, wire), axis=0), dtype)


def rows_across_replicas(tensor: Any) -> Any:
    """Indices of this replica's rows in `gather_across_replicas()`.

    Args:
        tensor: Tensor of shape `(B, ...)`, B rows on this replica; B may
            differ between replicas.

    Returns:
        Int32 tensor of shape `(B,)`.

    Example:

    >>> print(tfcap._ops.rows_across_replicas(np.zeros((3, 2))).numpy())
    [0 1 2]
    """
    count = ops.shape(tensor)[0]
    rows = ops.arange(count, dtype="int32")
    context = _context()
    if context is None:
        return rows
    counts = ops.cast(ops.reshape(count, (1,)), "int32")
    counts = context.all_gather(counts, axis=0)
    replicas = ops.arange(context.num_replicas_in_sync, dtype="int32")
    before = replicas < context.replica_id_in_sync_group
    return rows + ops.sum(ops.where(before, counts, 0))


def sum_over_replicas(tensor: Any) -> Any:
    """Sums a tensor over all replicas.

    Args:
        tensor: Float tensor.

    Returns:
        Float tensor of the same shape, equal on every replica.

    Example:

    >>> float(tfcap._ops.sum_over_replicas(np.float32(2.0)))
    2.0
    """
    context = _context()
    return tensor if context is None else context.all_reduce("SUM", tensor)


def mean_over_replicas(values: Any, mask: Any = None):
    """This replica's share of the global mean.

    Summed over replicas, as Keras' optimizer sums gradients, the shares give
    the mean over the global batch; with a mask, over its unmasked entries.

    Args:
        values: Float tensor.
        mask: Tensor of the same shape, nonzero where a value counts, or
            `None`.

    Returns:
        Scalar float tensor, at least float32.

    Example:

    >>> float(tfcap._ops.mean_over_replicas(np.array([1.0, 3.0])))
    2.0
    >>> float(tfcap._ops.mean_over_replicas(np.array([1.0, 3.0]), [1, 0]))
    1.0
    """
    # Half precision can neither hold a long sum nor count far.
    values = at_least_float32(values)
    if mask is None:
        if num_replicas() == 1:
            return ops.mean(values)
        # The last batch of a data set may be spread unevenly.
        mask = ops.ones_like(values)
    keep = ops.cast(ops.cast(mask, "bool"), values.dtype)
    count = ops.stop_gradient(sum_over_replicas(ops.sum(keep)))
    return ops.sum(ops.where(keep > 0, values, 0)) / ops.maximum(count, 1)


class SeedGenerator(keras.random.SeedGenerator, tracked()):
    """A `keras.random.SeedGenerator` whose stream differs on every replica.

    Under `tf.distribute`, Keras' own generator draws the same numbers on every
    replica: the samples of a batch would repeat. On one replica, and on other
    backends, this is Keras' generator to the bit.

    Args:
        seed: Integer or `None`.
        name: String, optional.

    Example:

    >>> seeds = tfcap._ops.SeedGenerator(7)
    >>> keras.random.uniform((2,), seed=seeds).shape
    TensorShape([2])
    """

    def next(self, ordered=True):
        replayed = (_REPLAYED.get() or {}).get(id(self))
        seed = super().next(ordered) if replayed is None else replayed()
        context = _context()
        if context is None:
            return seed
        replica = ops.cast(context.replica_id_in_sync_group, seed.dtype)
        return seed + ops.stack([replica * 1_000_003, replica * 0])

    @contextlib.contextmanager
    def replayed(self, state: Any, first: Any) -> Iterator[Callable]:
        """Opens a context in which seeds are those of other calls.

        A loop of a graph draws at step `t` what the calls from `t * calls` on
        would have drawn, and may draw the same again afterwards. `state` does
        not change: `skip()` advances it.

        Args:
            state: Integer tensor of shape `(2,)`, a copy of `self.state`.
            first: Integer or scalar tensor, how many calls after that state.

        Yields:
            Callable that gives the number of seeds drawn in the context.
        """
        calls = 0

        def replay():
            nonlocal calls
            count = ops.cast(first + calls, state.dtype)
            calls += 1
            return state + ops.stack([0 * count, count])

        others = _REPLAYED.get() or {}
        token = _REPLAYED.set({**others, id(self): replay})
        try:
            yield lambda: calls
        finally:
            _REPLAYED.reset(token)

    def skip(self, count: int) -> None:
        """Advances the state as `count` calls of `next()` would."""
        count = ops.convert_to_tensor([0, count], dtype=self.state.dtype)
        self.state.assign(ops.add(self.state, count))


def drop_out(tensor: Any, rate: float, seed: Any, training: bool) -> Any:
    """Applies dropout in training, with a `SeedGenerator`."""
    if not training or rate == 0.0:
        return tensor
    return keras.random.dropout(tensor, rate, seed=seed)


_HELD = contextvars.ContextVar("tfcap_schedules_held", default=None)


@contextlib.contextmanager
def schedules_held():
    """Opens the context of one training step, in which no schedule advances.

    An object with a schedule advances it after every use in training. A caller
    that uses it several times in a step, such as a decoder that draws word
    by word, does so in this context, and advances it afterwards.

    Yields:
        Dict, by `id`, of objects that would have advanced.

    Example:

    >>> from tfcap._ops.replicas import schedules_held
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
    """Returns whether an object must not advance, in `schedules_held()`."""
    used = _HELD.get()
    if used is not None:
        used[id(part)] = part
    return used is not None


class StepCounter:
    """Counts training steps, each once.

    A function that TensorFlow traces, with the loops and branches in it, is
    one step, in which the count is read once and advances once. Elsewhere
    every call of `advance()` counts.

    Args:
        variable: Integer `keras.Variable` that holds the count.
    """

    def __init__(self, variable: keras.Variable):
        self.variable = variable

    def __call__(self) -> Any:
        """Returns the number of this training step, a scalar tensor."""
        function = traced_function()
        if function is None:
            return self.variable.value
        return self._begun(function)["now"]

    def advance(self) -> None:
        """Advances to the next step, once in each step."""
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
    """Returns the graph of the function that TensorFlow traces, or `None`.

    Loops and branches are graphs of their own; this is the one around them.
    """
    if keras.backend.backend() != "tensorflow":
        return None
    import tensorflow as tf

    graph = tf.compat.v1.get_default_graph()
    if tf.executing_eagerly() or not hasattr(graph, "outer_graph"):
        return None
    while not is_function_graph(graph):
        graph = graph.outer_graph
    return graph


def is_schedule(value: Any) -> bool:
    """Returns whether an argument is a schedule rather than a number."""
    if isinstance(value, keras.Variable):
        return False
    return callable(value) or isinstance(value, dict)


def checked_schedule(
    value: Any, name: str, wanted: str, fits: Callable
) -> Callable:
    """Checks a schedule: a callable from the step to a number.

    Raises:
        TypeError: If it cannot be computed in a graph.
        ValueError: If its first value is out of range.
    """
    if isinstance(value, dict):
        value = keras.saving.deserialize_keras_object(value)
    try:
        # As in a graph of any backend: of a tensor without a value.
        at = keras.layers.Lambda(lambda step: at_step(value, step))
        at.compute_output_shape(())
        first = float(at_step(value, 0))
    except Exception as error:
        raise TypeError(
            f"`{name}` must be a number, or a callable from the step, a "
            f"float32 tensor, to one. Received: {name}={value!r}, which fails "
            f"in a graph ({type(error).__name__}). Use an object of "
            "`keras.optimizers.schedules`, or write the function in "
            "`keras.ops`, such as `keras.ops.minimum()` for `min()`."
        ) from error
    if not fits(first):
        raise ValueError(
            f"`{name}` must be {wanted} at every step. Received: {name}="
            f"{value!r}, which is {first} at step 0."
        )
    return value


def at_step(schedule: Callable, step: Any) -> Any:
    """Returns the value of a schedule at a step, a float32 scalar tensor."""
    # As a float, since TensorFlow multiplies no integer with Python's floats.
    step = ops.cast(ops.convert_to_tensor(step), "float32")
    return ops.cast(schedule(step), "float32")


def schedule_config(value: Any) -> Any:
    """Returns a schedule for a layer's config; numbers and `None` stay."""
    if callable(value):
        return keras.saving.serialize_keras_object(value)
    return value
