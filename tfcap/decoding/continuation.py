"""Continuations of prefixes of what was said."""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import ops

from tfcap.decoding.logits_processors import NONE
from tfcap.decoding.logits_processors import LogitsProcessors
from tfcap.decoding.rollout import Rollout
from tfcap.ops import is_end
from tfcap.ops import repeat_samples
from tfcap.ops import sequence_mask
from tfcap.ops import take_rows


def continue_from(
    speaker: Any,
    state: Any,
    rollout: Rollout,
    draw: Callable,
    *,
    num_continuations: int,
    training: bool,
    logits_processors: LogitsProcessors = NONE,
    prefixes: tuple[int, ...] | None = None,
) -> tuple[Any, Any]:
    """Continues prefixes of what was said.

    All prefixes are continued at once, each from the state in which it left
    the speaker: before step `t` those of `t` words branch off from what was
    said, and join those that branched off before. All rows of a step are of
    one length, whatever a state holds. On TensorFlow, what has ended costs
    nothing; what was said is read no further than the last prefix.

    Arguments and result, as a pair of tokens and mask, are those of
    `Sample.continuations()`; `draw` is a callable from logits `(n, V)` to words
    `(n, V)` and ids `(n,)`.
    """
    _, samples, length = rollout.tokens.shape
    if prefixes is None:
        prefixes = tuple(range(length - 1))
    tokens = ops.cast(ops.reshape(rollout.tokens, (-1, length)), "int32")
    mask = ops.reshape(rollout.mask, (-1, length)) > 0
    table = (ops.shape(tokens)[0], len(prefixes), num_continuations)
    state = repeat_samples(state, samples)
    processors = logits_processors.for_speaker(speaker)
    start = ops.full_like(tokens[:, 0], speaker.bos)
    _, state = speaker.step(start, state, training=training)
    # Rows of the state: readers of the rollout's tokens, then branches.
    readers = _rows_where(mask[:, 1])
    state = take_rows(state, readers)
    branches, last, columns = readers[:0], start[:0], []
    for t in range(1, length):
        words = ops.concatenate([ops.take(tokens[:, t - 1], readers), last])
        logits, state = speaker.step(words, state, training=training)
        reading = ops.shape(readers)[0]
        rows = ops.arange(reading, ops.shape(words)[0], dtype="int32")
        if t - 1 in prefixes:
            index = prefixes.index(t - 1)
            new_rows, new = _branch_off(readers, index, table)
            rows = ops.concatenate([rows, new_rows])
            branches = ops.concatenate([branches, new])
        ids = start[:0]
        # Of no rows, known to be none, not every channel can draw.
        if rows.shape[0] != 0:
            _, ids = draw(processors.apply(ops.take(logits, rows, axis=0)))
            ids = ops.cast(ids, "int32")
        size = table[0] * table[1] * table[2]
        columns.append(ops.scatter(branches[:, None], ids, (size,)))
        if t + 1 < length:
            alive = _rows_where(ops.logical_not(is_end(ids, speaker.eos)))
            branches, last = ops.take(branches, alive), ops.take(ids, alive)
            on = _rows_where(ops.take(mask[:, t + 1], readers))
            on = on if t <= prefixes[-1] else on[:0]
            readers = ops.take(readers, on)
            rows = ops.concatenate([on, ops.take(rows, alive)])
            state = take_rows(state, rows)
    drawn = ops.reshape(ops.stack(columns, axis=-1), (*table, length - 1))
    return _join(tokens, mask, drawn, prefixes, samples, speaker)


def _branch_off(readers, index, table):
    """Rows of the readers' branches, and their indices in the flat table."""
    _, prefixes, count = table
    reading = ops.arange(ops.shape(readers)[0], dtype="int32")
    flat = (readers[:, None] * prefixes + index) * count
    flat = flat + np.arange(count, dtype="int32")
    return repeat_samples(reading, count), ops.reshape(flat, (-1,))


def _join(tokens, mask, drawn, prefixes, samples, speaker):
    """Prefixes with what followed `(B, S, N, K, T)`, and their mask."""
    *_, count, length = drawn.shape
    given = np.tri(length, length + 1, dtype="int32")[list(prefixes)]
    tokens = tokens[:, None, None] * given[:, None]  # (B * S, N, 1, T)
    tokens = tokens + ops.pad(drawn, [(0, 0)] * 3 + [(1, 0)])
    valid = ops.take(mask, [last + 1 for last in prefixes], axis=1)
    pad = getattr(speaker, "pad", 0)
    mask = sequence_mask(tokens, speaker.eos, pad)
    mask = mask * ops.cast(valid[..., None, None], mask.dtype)
    tokens = ops.where(mask > 0, tokens, pad)
    shape = (-1, samples, len(prefixes), count, length + 1)
    return ops.reshape(tokens, shape), ops.reshape(mask, shape)


def _rows_where(condition):
    """Rows that meet a condition; all of them where shapes must be static."""
    if keras.backend.backend() == "tensorflow":
        return ops.cast(ops.nonzero(condition)[0], "int32")
    return ops.arange(ops.shape(condition)[0], dtype="int32")
