"""Beam search."""

import functools
from typing import Any
from typing import NamedTuple

import keras
from keras import ops

from tfcap._ops import is_end
from tfcap._ops import repeat_samples
from tfcap._ops import sequence_mask
from tfcap._ops import take_rows
from tfcap._ops.arguments import checked_integer
from tfcap._ops.arguments import checked_number
from tfcap._ops.sequences import IMPOSSIBLE
from tfcap.decoding.loop import check_first
from tfcap.decoding.loop import loop_over_words
from tfcap.decoding.loop import state_of_loop
from tfcap.decoding.rollout import Decoder
from tfcap.decoding.rollout import LogitsProcessors
from tfcap.decoding.rollout import Rollout
from tfcap.decoding.rollout import checked_max_length
from tfcap.decoding.rollout import checked_unroll
from tfcap.decoding.speaker import check_start
from tfcap.decoding.speaker import checked_guidance
from tfcap.decoding.speaker import each_step
from tfcap.decoding.speaker import guided
from tfcap.decoding.speaker import unrolls


class BeamSearch(Decoder):
    """Keeps the `width` most likely sequences at every step.

    The search runs without dropout in training, too, see `Greedy`.

    The sequences are returned best first. An estimator scores them again, in
    one pass with gradients, for their log probabilities. If fewer than `width`
    sequences are possible, the others are empty and come last.

    ```
    score = sum(log p(word)) / length ** length_penalty
    ```

    Args:
        width: Integer, sequences kept. Defaults to `5`.
        max_length: Integer `T`, number of words with the end token.
        length_penalty: Float, 0 ranks by the summed log probability, 1 by its
            mean over words. Defaults to `0.0`.
        suppress: Tuple of integers, ids that are never generated, such as the
            unknown word's. `scores` are log probabilities over the other
            words; an estimator scores the sequences over all words. Defaults
            to none.
        no_repeat_ngram: Integer `n`: no n-gram of this size is generated
            twice. Defaults to `0`, no limit.
        groups: Integer by which `width` is divisible. The beams are split into
            as many groups, each of which avoids, at each step, the words that
            the groups before it have just chosen. Defaults to `1`.
        diversity: Float, the penalty of such a word, in nats. `scores` exclude
            it. Defaults to `0.5`.
        num_samples: Integer `S` of at most `width`, how many of the sequences
            are returned. Defaults to `None`, all.
        unroll: Boolean or `None`, see `Sample`. Defaults to `None`.
        guidance: As that of `Greedy`. `scores` are of the guided distribution.

    Example:

    >>> tfcap.decoding.BeamSearch(width=5, max_length=16).width
    5

    Reference:

    - Vijayakumar et al., Diverse Beam Search, AAAI 2018, for `groups`, with
      Hamming diversity
    """

    inference = True

    def __init__(
        self,
        width: int = 5,
        max_length: int = 16,
        length_penalty: float = 0.0,
        suppress: tuple[int, ...] = (),
        no_repeat_ngram: int = 0,
        groups: int = 1,
        diversity: float = 0.5,
        num_samples: int | None = None,
        unroll: bool | None = None,
        guidance: float = 1.0,
    ):
        self.guidance = checked_guidance(guidance)
        self.unroll = checked_unroll(unroll)
        self.max_length = checked_max_length(max_length)
        self.width = checked_integer(width, "width")
        divisor = "a positive integer by which `width` is divisible"
        self.groups = checked_integer(groups, "groups", divisor)
        if self.width % self.groups:
            raise ValueError(
                f"`groups` must be {divisor}. Received: groups={groups} with "
                f"width={width}."
            )
        self.diversity = checked_number(
            diversity, "diversity", "0 or more", lambda x: x >= 0
        )
        self.length_penalty = checked_number(
            length_penalty, "length_penalty", "a number", lambda x: True
        )
        wanted = "an integer from 1 to `width`"
        num_samples = width if num_samples is None else num_samples
        self.num_samples = checked_integer(num_samples, "num_samples", wanted)
        if self.num_samples > self.width:
            raise ValueError(
                f"`num_samples` must be {wanted}. Received: "
                f"num_samples={num_samples} with width={width}."
            )
        processors = LogitsProcessors(suppress, no_repeat_ngram)
        self.logits_processors = processors.checked()

    def decode(self, speaker, state, references=None, training=False):
        speaker, state = guided(speaker, state, self.guidance)
        unrolled = unrolls(speaker, state, self.max_length, False, self.unroll)
        beams = self._search(speaker, state, unrolled)
        return self._ranked(beams, speaker.eos, getattr(speaker, "pad", 0))

    def _search(self, speaker, state, unrolled):
        """Beams after the last word."""
        rows = ops.shape(keras.tree.flatten(state)[0])[0]
        words = ops.full((rows * self.width,), speaker.bos, dtype="int32")
        carried = words, self._initial(rows, getattr(speaker, "pad", 0))
        check = check_start if unrolled else check_first
        step = functools.partial(self._advance, speaker, check)
        if unrolled:
            state = repeat_samples(state, self.width)
            _, (carried, _) = each_step(
                speaker,
                lambda *now: ((), step(*now)),
                self.max_length,
                (carried, state),
            )
            return carried[1]
        state = state_of_loop(speaker, state, self.max_length, self.width)
        return loop_over_words(
            *(speaker, state, self.max_length, carried),
            lambda carried: ops.logical_not(ops.all(carried[1].ended)),
            step,
        )[1]

    def _advance(self, speaker, check, t, carried, state):
        """Adds a word: the words and beams, and the state of the next step."""
        words, beams = carried
        logits, state = speaker.step(words, state, training=False)
        check(logits, speaker, t)
        step = self._step_scores(logits, beams, speaker, t)
        beams, parents, ids = self._select(beams, step)
        beams, state = self._reorder(beams, state, parents)
        ids = ops.where(beams.ended, getattr(speaker, "pad", 0), ids)
        here = ops.equal(ops.arange(self.max_length, dtype="int32"), t)
        beams = beams._replace(
            tokens=ops.where(here, ids[..., None], beams.tokens),
            ended=ops.logical_or(beams.ended, is_end(ids, speaker.eos)),
        )
        return (ops.reshape(ids, (-1,)), beams), state

    def _initial(self, batch, pad):
        """Beams before the first word."""
        # All beams of a group start equal: only the first may branch.
        first = ops.arange(self.width) % (self.width // self.groups) == 0
        total = ops.cast(ops.where(first, 0.0, IMPOSSIBLE), "float32")
        total = ops.tile(total[None], (batch, 1))
        return _Beams(
            total,
            total,
            ops.full((batch, self.width, self.max_length), pad, dtype="int32"),
            ops.zeros((batch, self.width), "bool"),
        )

    def _step_scores(self, logits, beams, speaker, t):
        """Log probabilities `(B, W, V)`; an ended beam can only stay, free."""
        tokens = ops.reshape(beams.tokens, (-1, self.max_length))
        processors = self.logits_processors.for_speaker(speaker)
        logits = ops.cast(logits, "float32")
        logits = processors.apply(logits, tokens, ops.cast(t, "int32"))
        scores = ops.log_softmax(logits, axis=-1)
        size = speaker.vocabulary_size
        scores = ops.reshape(scores, (-1, self.width, size))
        pad = getattr(speaker, "pad", 0)
        stay = ops.where(ops.arange(size) == pad, 0.0, IMPOSSIBLE)
        stay = ops.cast(stay, "float32")
        return ops.where(beams.ended[..., None], stay, scores)

    def _select(self, beams, step):
        """Selects the best successors, group by group: scores, parents, ids."""
        size, selected = self.width // self.groups, []
        said = ops.zeros((), "float32")  # (B, 1, V): counts in groups before
        for start in range(0, self.width, size):
            own = slice(start, start + size)
            # Finished sequences say nothing that others said.
            penalty = ops.where(beams.ended[:, own, None], 0.0, said)
            penalized, parents, ids = _top(
                beams.penalized[:, own, None]
                + step[:, own]
                - self.diversity * penalty
            )
            selected.append((penalized, parents + start, ids))
            if start + size < self.width:
                once = ops.one_hot(ids, step.shape[-1], dtype="float32")
                said = said + ops.sum(once, axis=1, keepdims=True)
        penalized, parents, ids = (
            ops.concatenate(part, axis=1) for part in zip(*selected)
        )
        of_parent = ops.take_along_axis(step, parents[..., None], axis=1)
        gain = ops.take_along_axis(of_parent, ids[..., None], axis=2)[..., 0]
        total = ops.take_along_axis(beams.total, parents, axis=1) + gain
        return beams._replace(total=total, penalized=penalized), parents, ids

    def _reorder(self, beams, state, parents):
        """Tokens and states of the beams that are continued."""
        batch = ops.shape(parents)[0]
        rows = parents + ops.arange(batch, dtype="int32")[:, None] * self.width
        return beams._replace(
            tokens=ops.take_along_axis(beams.tokens, parents[..., None], 1),
            ended=ops.take_along_axis(beams.ended, parents, axis=1),
        ), take_rows(state, ops.reshape(rows, (-1,)))

    def _ranked(self, beams, eos, pad):
        """Rollout of the sequences, best first."""
        # A beam without any possible word has taken an impossible one.
        real = beams.total > IMPOSSIBLE / 2
        beams = beams._replace(
            tokens=ops.where(real[..., None], beams.tokens, pad)
        )
        # An end that comes first may be the padding's id, too.
        mask = sequence_mask(beams.tokens, eos, pad)
        mask = mask * ops.cast(real, mask.dtype)[..., None]
        length = ops.maximum(ops.sum(mask, axis=-1), 1.0)
        scores, order = ops.top_k(
            beams.total / length**self.length_penalty, self.num_samples
        )
        order = ops.cast(order, "int32")[..., None]
        return Rollout(
            ops.take_along_axis(beams.tokens, order, axis=1),
            ops.take_along_axis(mask, order, axis=1),
            scores=ops.stop_gradient(scores),
        )


class _Beams(NamedTuple):
    """Beams of every row, `(B, W)` and tokens `(B, W, T)`."""

    #: Log probability so far.
    total: Any
    #: The same, less the penalty for words of other groups.
    penalized: Any
    tokens: Any
    ended: Any


def _top(scores):
    """The W best of `(B, W, V)`: their scores, beams and words."""
    _, width, vocabulary_size = scores.shape
    values, index = ops.top_k(
        ops.reshape(scores, (-1, width * vocabulary_size)), width
    )
    index = ops.cast(index, "int32")
    return values, index // vocabulary_size, index % vocabulary_size
