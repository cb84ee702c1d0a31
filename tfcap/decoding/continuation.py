"""Continuations of prefixes of sampled sequences."""

from collections.abc import Callable
from typing import Any
from typing import NamedTuple

import keras
import numpy as np
from keras import ops

from tfcap._ops import is_end
from tfcap._ops import repeat_samples
from tfcap._ops import sequence_mask
from tfcap._ops import take_rows
from tfcap.decoding.loop import loop_over_words
from tfcap.decoding.loop import speak_in_loop
from tfcap.decoding.loop import state_of_loop
from tfcap.decoding.loop import without_gradient
from tfcap.decoding.rollout import NONE
from tfcap.decoding.rollout import LogitsProcessors
from tfcap.decoding.rollout import Rollout

#: How many groups of prefixes go on in a loop of their own, on JAX.
_GROUPS = 4


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
    seeds: Any = None,
) -> tuple[Any, Any]:
    """Continues prefixes of sampled sequences.

    All prefixes are continued at once, each from the speaker's state after it:
    before step `t`, the prefixes of `t` words branch off from the sequences
    and join those that branched off before. All rows of a step have one
    length. On TensorFlow, ended rows cost nothing, and the sequences are read
    no further than the last prefix.

    Arguments and result, as a pair of tokens and mask, are those of
    `Sample.continuations()`; `draw` is a callable from logits `(n, V)` to words
    `(n, V)` and ids `(n,)`. With `seeds`, the `StepSeeds` of the channel, the
    same words are drawn in a loop of TensorFlow's graph, without dropout.
    """
    _, samples, length = rollout.tokens.shape
    if prefixes is None:
        prefixes = tuple(range(length - 1))
    tokens = ops.cast(ops.reshape(rollout.tokens, (-1, length)), "int32")
    mask = ops.reshape(rollout.mask, (-1, length)) > 0
    table = (ops.shape(tokens)[0], len(prefixes), num_continuations)
    start = ops.full_like(tokens[:, :1], speaker.bos)
    plan = _Plan(
        speaker,
        logits_processors.for_speaker(speaker),
        draw if seeds is None else seeds.draw,
        prefixes,
        table,
        ops.concatenate([start, tokens], axis=1),
        ops.pad(mask[:, 1:], [(0, 0), (0, 1)]),
    )
    size = table[0] * table[1] * table[2]
    said = {
        # Rows of the state: readers of the rollout's tokens, then branches.
        "readers": ops.arange(table[0], dtype="int32"),
        "branches": start[:0, 0],
        "last": start[:0, 0],
        "drawn": ops.zeros((length, size), "int32"),
    }
    if seeds is None:
        state = repeat_samples(state, samples)
        for t in range(length):
            said, state = plan.step(t, said, state, training)
    elif keras.backend.backend() != "tensorflow":
        state = state_of_loop(speaker, state, length, samples)
        drawn = _in_groups(plan, state)
        seeds.skip(_GROUPS * length)
        return _join(tokens, mask, drawn, prefixes, samples, speaker)
    else:
        state = state_of_loop(speaker, state, length, samples)
        said = loop_over_words(
            *(speaker, state, length, said, _any_rows, plan.step),
            free_rows=True,
        )
    drawn = ops.transpose(said["drawn"][1:])
    drawn = ops.reshape(drawn, (*table, length - 1))
    return _join(tokens, mask, drawn, prefixes, samples, speaker)


def _in_groups(plan, state):
    """Words `(n, N, K, T - 1)` that are drawn in loops of static shapes.

    A group of prefixes goes on at a time, from the shortest of them on: all at
    once, twice as many words would be read as are drawn.
    """
    (rows, count, copies), length = plan.table, plan.further.shape[1]
    size = -(-count // _GROUPS)
    lasts = np.array(plan.prefixes, "int32")
    lasts = np.pad(lasts, (0, -count % size), "edge").reshape(-1, size)
    firsts = lasts[:, 0] + 1

    def of_group(state, group):
        index, (first, following), lasts = group
        lasts = ops.tile(ops.repeat(lasts, copies), [rows])
        words = ops.take(plan.fed, first, axis=1)
        alive = ops.take(plan.further, first - 1, axis=1)
        fed, words, alive = repeat_samples(
            (plan.fed, words, alive), size * copies
        )

        def draw(logits, t):
            ids = plan.draw(logits, index * length + t)
            return ops.where(t <= lasts, ops.take(fed, t + 1, axis=1), ids)

        tokens, *_ = speak_in_loop(
            plan.speaker,
            state,
            draw,
            num_samples=size * copies,
            max_length=length,
            logits_processors=plan.processors,
            start=(first, words, alive),
        )
        return read(first, following, state), tokens

    def read(first, last, state):
        def step(t, state):
            words = ops.take(plan.fed, t, axis=1)
            return plan.speaker.step(words, state, training=False)[1]

        with without_gradient(plan.speaker):
            return ops.fori_loop(first, last, step, state)

    ends = np.append(firsts[1:], firsts[-1])
    groups = np.arange(len(firsts)), (firsts, ends), lasts
    state = read(0, firsts[0], state)
    groups = keras.tree.map_structure(ops.convert_to_tensor, groups)
    _, tokens = ops.scan(of_group, state, groups)
    tokens = ops.reshape(tokens, (len(firsts), rows, size, copies, length))
    tokens = ops.reshape(ops.moveaxis(tokens, 0, 1), (rows, -1, copies, length))
    places = ops.arange(length, dtype="int32") > lasts.reshape(-1, 1, 1)
    return ops.where(places, tokens, 0)[:, :count, :, 1:]


class _Plan(NamedTuple):
    """Prefixes that are continued, and by whom."""

    speaker: Any
    processors: LogitsProcessors
    draw: Callable
    prefixes: tuple[int, ...]
    #: Rows, prefixes and continuations.
    table: tuple
    #: Words that are read at every step, `(n, T + 1)`.
    fed: Any
    #: Boolean tensor of shape `(n, T)`, where there is a next word.
    further: Any

    def step(self, t, said, state, training=False):
        """Reads a word in every row, and draws the next of the branches."""
        readers = said["readers"]
        words = ops.take(ops.take(self.fed, t, axis=1), readers)
        words = ops.concatenate([words, said["last"]])
        logits, state = self.speaker.step(words, state, training=training)
        reading = ops.shape(readers)[0]
        rows = ops.arange(reading, ops.shape(words)[0], dtype="int32")
        new_rows, new = self.branch_off(t, readers)
        rows = ops.concatenate([rows, new_rows])
        branches = ids = ops.concatenate([said["branches"], new])
        if not isinstance(t, int) or t > 0:
            ids = self.drawn(ops.take(logits, rows, axis=0), t)
        places = ops.stack([ops.full_like(branches, t), branches], axis=1)
        ended = is_end(ids, self.speaker.eos)
        alive = _rows_where(ops.logical_not(ended))
        on = ops.take(ops.take(self.further, t, axis=1), readers)
        on = _rows_where(ops.logical_and(on, t <= self.prefixes[-1]))
        if isinstance(t, int) and t > self.prefixes[-1]:
            on = on[:0]
        following = {
            "readers": ops.take(readers, on),
            "branches": ops.take(branches, alive),
            "last": ops.take(ids, alive),
            "drawn": ops.scatter_update(said["drawn"], places, ids),
        }
        rows = ops.concatenate([on, ops.take(rows, alive)])
        return following, take_rows(state, rows)

    def branch_off(self, t, readers):
        """Rows of branches of `t` words, and their indices in the table."""
        _, count, copies = self.table
        # Index of the prefix of so many words; the last, and all after it,
        # have none.
        index = np.full(self.prefixes[-1] + 3, -1, "int32")
        index[[last + 1 for last in self.prefixes]] = np.arange(count)
        reading = ops.arange(ops.shape(readers)[0], dtype="int32")
        rows = repeat_samples(reading, copies)
        if isinstance(t, int):
            index = int(index[min(t, len(index) - 1)])
            size = 0 if index < 0 else ops.shape(rows)[0]
        else:
            index = ops.take(index, ops.minimum(t, len(index) - 1))
            size = ops.where(index < 0, 0, ops.shape(rows)[0])
        flat = (readers[:, None] * count + index) * copies
        flat = ops.reshape(flat + np.arange(copies, dtype="int32"), (-1,))
        return rows[:size], flat[:size]

    def drawn(self, logits, t):
        """Draws the word of step `t` of every row."""
        # Of no rows, known to be none, not every channel can draw; but seeds
        # go on.
        none = logits.shape[0] == 0
        logits = ops.zeros((1, logits.shape[-1])) if none else logits
        logits = self.processors.apply(logits)
        if isinstance(t, int):
            _, ids = self.draw(logits)
        else:
            ids = self.draw(logits, t - 1)
        return ops.cast(ids[:0] if none else ids, "int32")


def _any_rows(said):
    """Returns whether any row is read, or any branch goes on."""
    return ops.shape(said["readers"])[0] + ops.shape(said["last"])[0] > 0


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
