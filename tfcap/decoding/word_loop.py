"""Loops of a graph over words, whose state gets room as words are said."""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from tfcap._ops import repeat_samples
from tfcap._ops.sequences import same_shapes

#: Words that a state gets room for at a time.
ROOM = 32

_REMEDY = (
    "Give the speaker `fixed_state(state, steps)`, see "
    "`tfcap.decoding.Speaker`, or decode with `unroll=True`."
)


def state_of_loop(
    speaker: Any, state: Any, length: int, num_samples: int
) -> Any:
    """Returns the first state of a loop of `length` words, for every sample."""
    state = keras.tree.map_structure(ops.stop_gradient, state)
    if hasattr(speaker, "fixed_state"):
        room = {"room": ROOM} if _extends(speaker, length) else {}
        state = speaker.fixed_state(state, length, **room)
    state = repeat_samples(state, num_samples)
    return keras.tree.map_structure(ops.convert_to_tensor, state)


def loop_over_words(
    speaker: Any,
    state: Any,
    length: int,
    carried: Any,
    goes_on: Callable,
    step: Callable,
    free_rows: bool = False,
) -> Any:
    """Runs a loop over words, of which a step is traced once.

    A speaker that keeps what it has read looks at all the room there is. With
    `extend_state()`, on TensorFlow, a state gets room for 32 words at a time: a
    step costs what has been said rather than what may be.

    Args:
        speaker: `Speaker`.
        state: Nest of tensors, from `state_of_loop()`.
        length: Integer `T`.
        carried: Nest of tensors.
        goes_on: Callable from `carried` to a boolean tensor, whether there is
            a next step.
        step: Callable from the step, a scalar tensor, `carried` and `state` to
            the next two.
        free_rows: Boolean, whether the first axis of every tensor may change
            from step to step; on TensorFlow only.

    Returns:
        The last `carried`.
    """
    free, nest = int(free_rows), (carried, state)
    extends = _extends(speaker, length)

    def extended(state):
        more = speaker.extend_state(state, ROOM)
        return keras.tree.map_structure(ops.convert_to_tensor, more)

    def advance(t, *leaves):
        now, before = keras.tree.pack_sequence_as(nest, leaves)
        if extends:
            full = ops.logical_and(ops.equal(t % ROOM, 0), t > 0)
            flat = keras.tree.flatten(before)
            flat = ops.cond(
                full,
                lambda: keras.tree.flatten(extended(before)),
                lambda: [*flat],
            )
            before = keras.tree.pack_sequence_as(before, flat)
        after, following = step(t, now, before)
        following = keep_shapes(speaker, before, following, free)
        after = _map_like(after, now, free)
        return t + 1, *keras.tree.flatten((after, following))

    def continues(t, *leaves):
        now, _ = keras.tree.pack_sequence_as(nest, leaves)
        return ops.logical_and(t < length, goes_on(now))

    start = (ops.zeros((), "int32"), *keras.tree.flatten(nest))
    if extends or free_rows:
        ends = (carried, extended(state) if extends else state)
        shapes = _invariants(start[1:], keras.tree.flatten(ends), free)
        leaves = _while(continues, advance, start, shapes)
    else:
        leaves = ops.while_loop(continues, advance, start)
    return keras.tree.pack_sequence_as(nest, leaves[1:])[0]


def _extends(speaker, length):
    """Check whether a state gets room as it goes."""
    known = keras.backend.backend() == "tensorflow" and length > ROOM
    return known and hasattr(speaker, "extend_state")


def _invariants(leaves, extended, free):
    """Static shapes without rows, if they are free, and what is extended."""
    return [
        [
            size if axis >= free and size == other else None
            for axis, (size, other) in enumerate(zip(leaf.shape, more.shape))
        ]
        for leaf, more in zip(leaves, extended)
    ]


def _while(condition, body, start, shapes):
    import tensorflow as tf

    invariants = tuple(map(tf.TensorShape, ([], *shapes)))
    return tf.while_loop(condition, body, start, shape_invariants=invariants)


def keep_shapes(speaker: Any, before: Any, after: Any, free: int = 0) -> Any:
    """Returns the state after a step with the static shapes of that before.

    The first `free` axes may be of any size.

    Raises:
        ValueError: If it has others.
    """
    if not alike(before, after, free):
        raise ValueError(
            "`speaker.step()` must return a state of the shapes and types that "
            f"it was given, for `unroll=False`. Received: speaker={speaker!r}. "
            f"{_REMEDY}"
        )
    return _map_like(after, before, free)


def alike(before: Any, after: Any, free: int = 0) -> bool:
    """Check whether two states have the same structure, shapes and types."""
    return same_shapes(before, after, free) and all(
        keras.backend.standardize_dtype(x.dtype)
        == keras.backend.standardize_dtype(y.dtype)
        for x, y in zip(*map(keras.tree.flatten, (before, after)))
    )


def _map_like(tensors, others, free):
    """The same, with the static shapes of others, which may tell more."""
    if keras.backend.backend() != "tensorflow":
        return tensors
    import tensorflow as tf

    def like(tensor, other):
        return tf.ensure_shape(tensor, [*[None] * free, *other.shape[free:]])

    return keras.tree.map_structure(like, tensors, others)
