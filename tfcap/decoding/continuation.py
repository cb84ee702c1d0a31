"""Other ends of what was said."""

import keras
import numpy as np
from keras import ops

from tfcap.decoding.restrictions import NONE
from tfcap.ops import repeat_samples
from tfcap.ops import sequence_mask
from tfcap.ops import take_rows


def continue_from(
    speaker,
    state,
    rollout,
    draw,
    *,
    num_continuations,
    training,
    restrictions=NONE,
):
    """Speaks on from every beginning of what was said.

    All beginnings are continued at once, each from the state in which it left
    the speaker: before step `t` those of `t` words branch off from what was
    said, and join those that branched off before. All rows of a step are of
    one length, whatever a state holds. On TensorFlow, what has ended costs
    nothing.

    Args:
        speaker: `tfcap.decoding.Speaker`.
        state: Nest of tensors with leading axis `B`.
        rollout: `Rollout`, tokens of shape `(B, S, T)` with `T` of 2 or more.
        draw: Callable from logits `(n, V)` to words `(n, V)` and ids `(n,)`.
        num_continuations: Integer `K`, of each beginning.
        training: Boolean, passed on to the speaker.
        restrictions: `Restrictions` that do not look back.

    Returns:
        Tokens, int32, and mask, of shape `(B, S, T - 1, K, T)`: along the
        third axis, what begins with the words up to that one. All zeros where
        the sequence had ended with it.
    """
    _, samples, length = rollout.tokens.shape
    told = ops.cast(ops.reshape(rollout.tokens, (-1, length)), "int32")
    there = ops.reshape(rollout.mask, (-1, length)) > 0
    table = (ops.shape(told)[0], length - 1, num_continuations)
    state = repeat_samples(state, samples)
    start = ops.full_like(told[:, 0], speaker.bos)
    _, state = speaker.step(start, state, training=training)
    # Rows of the state: readers of what was told, then branches.
    readers = _which(there[:, 1])
    state = take_rows(state, readers)
    branches, last, columns = readers[:0], start[:0], []
    for t in range(1, length):
        words = ops.concatenate([ops.take(told[:, t - 1], readers), last])
        logits, state = speaker.step(words, state, training=training)
        rows, new = _branch_off(readers, words, t - 1, table)
        branches = ops.concatenate([branches, new])
        _, ids = draw(restrictions.apply(ops.take(logits, rows, axis=0)))
        ids = ops.cast(ids, "int32")
        size = table[0] * table[1] * table[2]
        columns.append(ops.scatter(branches[:, None], ids, (size,)))
        if t + 1 < length:
            alive = _which(ops.not_equal(ids, speaker.eos))
            branches, last = ops.take(branches, alive), ops.take(ids, alive)
            on = _which(ops.take(there[:, t + 1], readers))
            readers = ops.take(readers, on)
            rows = ops.concatenate([on, ops.take(rows, alive)])
            state = take_rows(state, rows)
    said = ops.reshape(ops.stack(columns, axis=-1), (*table, length - 1))
    return _whole(told, there, said, samples, speaker.eos)


def _branch_off(readers, words, beginning, table):
    """Rows of branches, old and new, and places of the new in the table."""
    _, beginnings, count = table
    reading, everybody = ops.shape(readers)[0], ops.shape(words)[0]
    old = ops.arange(reading, everybody, dtype="int32")
    new = repeat_samples(ops.arange(reading, dtype="int32"), count)
    places = (readers[:, None] * beginnings + beginning) * count
    places = places + np.arange(count, dtype="int32")
    return ops.concatenate([old, new]), ops.reshape(places, (-1,))


def _whole(told, there, said, samples, eos):
    """Beginnings with what followed, and their mask."""
    _, beginnings, count, length = said.shape
    begun = np.tri(length, length + 1, dtype="int32")[:, None]
    tokens = told[:, None, None] * begun
    tokens = tokens + ops.pad(said, [(0, 0)] * 3 + [(1, 0)])
    mask = sequence_mask(tokens, eos)
    mask = mask * ops.cast(there[:, 1:, None, None], mask.dtype)
    tokens = tokens * ops.cast(mask, "int32")
    shape = (-1, samples, beginnings, count, length + 1)
    return ops.reshape(tokens, shape), ops.reshape(mask, shape)


def _which(condition):
    """Rows that meet a condition; all of them where shapes must be static."""
    if keras.backend.backend() == "tensorflow":
        return ops.cast(ops.nonzero(condition)[0], "int32")
    return ops.arange(ops.shape(condition)[0], dtype="int32")
