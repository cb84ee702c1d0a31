"""Beam search."""

from typing import Any
from typing import NamedTuple

import keras
from keras import ops

from tfcap.decoding.decoder import Decoder
from tfcap.decoding.decoder import checked_max_length
from tfcap.decoding.logits import check_logits
from tfcap.decoding.restrictions import Restrictions
from tfcap.decoding.rollout import Rollout
from tfcap.ops import repeat_samples
from tfcap.ops import sequence_mask
from tfcap.ops import take_rows
from tfcap.ops.arguments import checked_integer
from tfcap.ops.arguments import checked_number

_NEVER = -1e9


class BeamSearch(Decoder):
    """Keeps the `width` most likely sequences at every step.

    In training, too, they are searched as at inference, with dropout off, see
    `Greedy`.

    The sequences are returned best first. Their log probabilities are
    left to an estimator, which scores them again in one pass with gradients.
    Where `no_repeat_ngram` leaves fewer than `width` to say, the others are
    empty, and last.

    ```
    score = sum(log p(word)) / length ** length_penalty
    ```

    Args:
        width: Integer, sequences kept. Defaults to `5`.
        max_length: Integer `T`, number of words with the end token.
        length_penalty: Float, 0 ranks by the summed log probability, 1 by its
            mean over words. Defaults to `0.0`.
        suppress: Tuple of integers, ids that are never said, such as the
            unknown word's. `scores` are of the distribution over the other
            words; what an estimator scores again is of all words. Defaults to
            none.
        no_repeat_ngram: Integer, size of the n-grams of which none is said
            twice, such as 3. Defaults to `0`, none.
        groups: Integer by which `width` is divisible: as many beams search by
            themselves, and avoid, at each step, the words that those before
            them have just said. Defaults to `1`.
        diversity: Float, what such a word costs, in nats. `scores` are without
            it. Defaults to `0.5`.
        num_samples: Integer `S` of `width` at most, how many of the sequences
            are returned. Defaults to `None`, all.

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
        width=5,
        max_length=16,
        length_penalty=0.0,
        suppress=(),
        no_repeat_ngram=0,
        groups=1,
        diversity=0.5,
        num_samples=None,
    ):
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
        self.restrictions = Restrictions(suppress, no_repeat_ngram).checked()

    def decode(self, speaker, state, references=None, training=False):
        self._check_width(speaker)
        state = repeat_samples(state, self.width)
        rows = ops.shape(keras.tree.flatten(state)[0])[0]
        beams = self._first(rows // self.width)
        words = ops.full((rows,), speaker.bos, dtype="int32")
        for place in range(self.max_length):
            logits, state = speaker.step(words, state, training=False)
            if place == 0:
                check_logits(logits, speaker)
            step = self._step_scores(logits, beams, speaker)
            beams, parents, ids = self._choose(beams, step)
            beams, state = self._follow(beams, state, parents)
            ids = ops.where(beams.ended, 0, ids)
            beams = beams._replace(
                tokens=ops.concatenate([beams.tokens, ids[..., None]], -1),
                ended=ops.logical_or(beams.ended, ops.equal(ids, speaker.eos)),
            )
            words = ops.reshape(ids, (-1,))
        return self._ranked(beams, speaker.eos)

    def _check_width(self, speaker):
        """Refuses more beams of a group than there are sequences."""
        unsaid = {0, speaker.bos, speaker.eos, *self.restrictions.suppress}
        words = len(set(range(speaker.vocabulary_size)) - unsaid)
        ends = speaker.eos not in self.restrictions.suppress
        # How many have ended by a step, and how many go on.
        ended, open_, size = 0, 1, self.width // self.groups
        for _ in range(self.max_length):
            ended, open_ = ended + ends * open_, open_ * words
            if ended + open_ >= size:
                return
        raise ValueError(
            "`width` must not exceed what can be said. Received: "
            f"width={self.width} in groups={self.groups}, with {words + ends} "
            f"words and max_length={self.max_length}. Search with a narrower "
            "beam."
        )

    def _first(self, batch):
        """Beams before the first word."""
        # All beams of a group start equal: only the first may branch.
        first = ops.arange(self.width) % (self.width // self.groups) == 0
        total = ops.cast(ops.where(first, 0.0, _NEVER), "float32")
        total = ops.tile(total[None], (batch, 1))
        return _Beams(
            total,
            total,
            ops.zeros((batch, self.width, 0), "int32"),
            ops.zeros((batch, self.width), "bool"),
        )

    def _step_scores(self, logits, beams, speaker):
        """Log probabilities `(B, W, V)`; an ended beam can only stay, free."""
        told = ops.reshape(beams.tokens, (-1, beams.tokens.shape[-1]))
        logits = ops.cast(logits, "float32")
        logits = self.restrictions.of(speaker).apply(logits, told)
        scores = ops.log_softmax(logits, axis=-1)
        size = speaker.vocabulary_size
        scores = ops.reshape(scores, (-1, self.width, size))
        stay = ops.where(ops.arange(size) == 0, 0.0, _NEVER)
        stay = ops.cast(stay, "float32")
        return ops.where(beams.ended[..., None], stay, scores)

    def _choose(self, beams, step):
        """The best ways to go on, group by group."""
        size, chosen = self.width // self.groups, []
        said = ops.zeros((), "float32")
        for start in range(0, self.width, size):
            own = slice(start, start + size)
            # Who has ended says nothing that others said.
            avoided = ops.where(beams.ended[:, own, None], 0.0, said)
            standing, parents, ids = _best(
                beams.standing[:, own, None]
                + step[:, own]
                - self.diversity * avoided
            )
            chosen.append((standing, parents + start, ids))
            if start + size < self.width:
                once = ops.one_hot(ids, step.shape[-1], dtype="float32")
                said = said + ops.sum(once, axis=1, keepdims=True)
        standing, parents, ids = (
            ops.concatenate(part, axis=1) for part in zip(*chosen)
        )
        of_parent = ops.take_along_axis(step, parents[..., None], axis=1)
        gained = ops.take_along_axis(of_parent, ids[..., None], axis=2)[..., 0]
        total = ops.take_along_axis(beams.total, parents, axis=1) + gained
        return beams._replace(total=total, standing=standing), parents, ids

    def _follow(self, beams, state, parents):
        """Tokens and states of the beams that are gone on with."""
        batch = ops.shape(parents)[0]
        rows = parents + ops.arange(batch, dtype="int32")[:, None] * self.width
        return beams._replace(
            tokens=ops.take_along_axis(beams.tokens, parents[..., None], 1),
            ended=ops.take_along_axis(beams.ended, parents, axis=1),
        ), take_rows(state, ops.reshape(rows, (-1,)))

    def _ranked(self, beams, eos):
        # A beam that has nothing left to say says what cannot be said.
        real = beams.total > _NEVER / 2
        beams = beams._replace(
            tokens=ops.where(real[..., None], beams.tokens, 0)
        )
        mask = sequence_mask(beams.tokens, eos)
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
    """What is kept of every row, `(B, W)` and tokens `(B, W, t)`."""

    #: Log probability so far.
    total: Any
    #: The same, less what was lost by saying what another group said.
    standing: Any
    tokens: Any
    ended: Any


def _best(paths):
    """Of `(B, W, V)` the W best: their values, beams and words."""
    _, width, vocabulary_size = paths.shape
    values, index = ops.top_k(
        ops.reshape(paths, (-1, width * vocabulary_size)), width
    )
    index = ops.cast(index, "int32")
    return values, index // vocabulary_size, index % vocabulary_size
