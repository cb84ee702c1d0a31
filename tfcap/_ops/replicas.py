"""Helpers for `tf.distribute`: sums, means and gathers across replicas.

Keras' TensorFlow optimizer sums gradients over replicas, so a loss divides its
mean by the number of replicas, once: `mean_over_replicas()`. On other backends,
and outside a strategy, everything here is the identity.
"""

import contextlib
import contextvars
from collections.abc import Callable
from collections.abc import Iterator
from typing import Any

import keras
from keras import ops

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
    """Check whether a strategy has several replicas, and none computes here.

    Keras builds a compiled model there, once, from batches that it reduces to
    their mean over replicas: integers are floats, and nothing is trained.
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
        tensor: Tensor of shape `(B, ...)`, B rows on this replica, which may
            be another number on another.

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


def _tracked() -> type:
    """Base class of what TensorFlow saves with the layer that holds it."""
    if keras.backend.backend() != "tensorflow":
        return object
    import tensorflow as tf

    return tf.__internal__.tracking.AutoTrackable


class SeedGenerator(keras.random.SeedGenerator, _tracked()):
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
        """Context in which seeds are those of later calls, or of earlier ones.

        A loop of a graph draws at step `t` what the calls from `t * calls` on
        would have drawn, and may draw the same again afterwards. `state` stays
        as it is: `skip()` moves it on.

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
        """Moves on as `count` calls of `next()` would."""
        count = ops.convert_to_tensor([0, count], dtype=self.state.dtype)
        self.state.assign(ops.add(self.state, count))
