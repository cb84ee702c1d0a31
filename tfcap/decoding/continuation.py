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
    beginnings=None,
):
    """Speaks on from beginnings of what was said.

    All beginnings are continued at once, each from the state in which it left
    the speaker: before step `t` those of `t` words branch off from what was
    said, and join those that branched off before. All rows of a step are of
    one length, whatever a state holds. On TensorFlow, what has ended costs
    nothing; what was said is read no further than the last beginning.

    Args:
        speaker: `tfcap.decoding.Speaker`.
        state: Nest of tensors with leading axis `B`.
        rollout: `Rollout`, tokens of shape `(B, S, T)` with `T` of 2 or more.
        draw: Callable from logits `(n, V)` to words `(n, V)` and ids `(n,)`.
        num_continuations: Integer `K`, of each beginning.
        training: Boolean, passed on to the speaker.
        restrictions: `Restrictions` that do not look back.
        beginnings: Tuple of `N` integers from 0 to `T - 2`, ascending, the
            last words of the beginnings. Defaults to `None`, all of them.

    Returns:
        Tokens, int32, and mask, of shape `(B, S, N, K, T)`: along the third
        axis, what begins with the words up to that one. All zeros where the
        sequence had ended with it.
    """
    _, samples, length = rollout.tokens.shape
    if beginnings is None:
        beginnings = tuple(range(length - 1))
    told = ops.cast(ops.reshape(rollout.tokens, (-1, length)), "int32")
    there = ops.reshape(rollout.mask, (-1, length)) > 0
    table = (ops.shape(told)[0], len(beginnings), num_continuations)
    state = repeat_samples(state, samples)
    restrictions = restrictions.of(speaker)
    start = ops.full_like(told[:, 0], speaker.bos)
    _, state = speaker.step(start, state, training=training)
    # Rows of the state: readers of what was told, then branches.
    readers = _which(there[:, 1])
    state = take_rows(state, readers)
    branches, last, columns = readers[:0], start[:0], []
    for t in range(1, length):
        words = ops.concatenate([ops.take(told[:, t - 1], readers), last])
        logits, state = speaker.step(words, state, training=training)
        reading = ops.shape(readers)[0]
        rows = ops.arange(reading, ops.shape(words)[0], dtype="int32")
        if t - 1 in beginnings:
            place = beginnings.index(t - 1)
            new_rows, new = _branch_off(readers, place, table)
            rows = ops.concatenate([rows, new_rows])
            branches = ops.concatenate([branches, new])
        ids = start[:0]
        # Of no rows, known to be none, not every channel can draw.
        if rows.shape[0] != 0:
            _, ids = draw(restrictions.apply(ops.take(logits, rows, axis=0)))
            ids = ops.cast(ids, "int32")
        size = table[0] * table[1] * table[2]
        columns.append(ops.scatter(branches[:, None], ids, (size,)))
        if t + 1 < length:
            alive = _which(ops.not_equal(ids, speaker.eos))
            branches, last = ops.take(branches, alive), ops.take(ids, alive)
            on = _which(ops.take(there[:, t + 1], readers))
            on = on if t <= beginnings[-1] else on[:0]
            readers = ops.take(readers, on)
            rows = ops.concatenate([on, ops.take(rows, alive)])
            state = take_rows(state, rows)
    said = ops.reshape(ops.stack(columns, axis=-1), (*table, length - 1))
    return _whole(told, there, said, beginnings, samples, speaker.eos)


def _branch_off(readers, place, table):
    """Rows of the readers' branches, and their places in the table."""
    _, beginnings, count = table
    reading = ops.arange(ops.shape(readers)[0], dtype="int32")
    places = (readers[:, None] * beginnings + place) * count
    places = places + np.arange(count, dtype="int32")
    return repeat_samples(reading, count), ops.reshape(places, (-1,))


def _whole(told, there, said, beginnings, samples, eos):
    """Beginnings with what followed, and their mask."""
    *_, count, length = said.shape
    begun = np.tri(length, length + 1, dtype="int32")[list(beginnings)]
    tokens = told[:, None, None] * begun[:, None]
    tokens = tokens + ops.pad(said, [(0, 0)] * 3 + [(1, 0)])
    mask = sequence_mask(tokens, eos)
    goes_on = ops.take(there, [last + 1 for last in beginnings], axis=1)
    mask = mask * ops.cast(goes_on[..., None, None], mask.dtype)
    tokens = tokens * ops.cast(mask, "int32")
    shape = (-1, samples, len(beginnings), count, length + 1)
    return ops.reshape(tokens, shape), ops.reshape(mask, shape)


def _which(condition):
    """Rows that meet a condition; all of them where shapes must be static."""
    if keras.backend.backend() == "tensorflow":
        return ops.cast(ops.nonzero(condition)[0], "int32")
    return ops.arange(ops.shape(condition)[0], dtype="int32")
