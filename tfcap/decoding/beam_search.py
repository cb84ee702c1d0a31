"""Beam search."""

import keras
from keras import ops

from tfcap.decoding.decoder import Decoder
from tfcap.decoding.decoder import check_max_length
from tfcap.decoding.rollout import Rollout
from tfcap.decoding.suppression import check_suppress
from tfcap.decoding.suppression import suppressed
from tfcap.ops import repeat_samples
from tfcap.ops import sequence_mask
from tfcap.ops import take_rows

_NEVER = -1e9


class BeamSearch(Decoder):
    """Keeps the `width` most likely sequences at every step.

    All `width` sequences are returned, best first. Their log probabilities are
    left to an estimator, which scores them again in one pass with gradients.

    ```
    score = sum(log p(word)) / length ** length_penalty
    ```

    Args:
        width: Integer, sequences kept, and returned as `S`. Defaults to `5`.
        max_length: Integer `T`, number of words with the end token.
        length_penalty: Float, 0 ranks by the summed log probability, 1 by its
            mean over words. Defaults to `0.0`.
        suppress: Tuple of integers, ids that are never said, such as the
            unknown word's. `scores` are of the distribution over the other
            words; what an estimator scores again is of all words. Defaults to
            none.

    Example:

    >>> tfcap.decoding.BeamSearch(width=5, max_length=16).width
    5
    """

    def __init__(self, width=5, max_length=16, length_penalty=0.0, suppress=()):
        check_max_length(max_length)
        if not isinstance(width, int) or width < 1:
            raise ValueError(
                f"`width` must be a positive integer. Received: width={width}."
            )
        self.width = width
        self.max_length = max_length
        self.length_penalty = length_penalty
        self.suppress = check_suppress(suppress)

    def decode(self, speaker, state, references=None, training=False):
        words = speaker.vocabulary_size - len(set(self.suppress))
        if self.width > words:
            raise ValueError(
                "`width` must not exceed the vocabulary. Received: "
                f"width={self.width} with {words} words."
            )
        state = repeat_samples(state, self.width)
        rows = ops.shape(keras.tree.flatten(state)[0])[0]
        batch = rows // self.width
        first = ops.arange(self.width) == 0
        # All beams of a row start equal: only the first may branch.
        total = ops.tile(ops.where(first, 0.0, _NEVER)[None], (batch, 1))
        ended = ops.zeros((batch, self.width), "bool")
        tokens = ops.zeros((batch, self.width, 0), "int32")
        words = ops.full((rows,), speaker.bos, dtype="int32")
        for _ in range(self.max_length):
            logits, state = speaker.step(words, state, training=False)
            step = self._step_scores(logits, ended, speaker.vocabulary_size)
            total, parents, ids = self._best(total, step, ended)
            tokens, ended, state = self._follow(
                (tokens, ended, state), parents, batch
            )
            ids = ops.where(ended, 0, ids)
            tokens = ops.concatenate([tokens, ids[..., None]], axis=-1)
            ended = ops.logical_or(ended, ops.equal(ids, speaker.eos))
            words = ops.reshape(ids, (-1,))
        return self._ranked(tokens, total, speaker.eos)

    def _step_scores(self, logits, ended, vocabulary_size):
        """Log probabilities `(B, W, V)`; an ended beam can only stay, free."""
        logits = suppressed(ops.cast(logits, "float32"), self.suppress)
        scores = ops.log_softmax(logits, axis=-1)
        scores = ops.reshape(scores, (-1, self.width, vocabulary_size))
        stay = ops.where(ops.arange(vocabulary_size) == 0, 0.0, _NEVER)
        return ops.where(ended[..., None], stay, scores)

    def _best(self, total, step, ended):
        vocabulary_size = step.shape[-1]
        paths = ops.reshape(
            total[..., None] + step, (-1, self.width * vocabulary_size)
        )
        total, index = ops.top_k(paths, self.width)
        index = ops.cast(index, "int32")
        return total, index // vocabulary_size, index % vocabulary_size

    def _follow(self, carried, parents, batch):
        tokens, ended, state = carried
        rows = parents + ops.arange(batch)[:, None] * self.width
        flat = ops.reshape(rows, (-1,))

        def pick(tensor):
            shape = (-1, *tensor.shape[2:])
            return ops.reshape(
                ops.take(ops.reshape(tensor, shape), flat, axis=0),
                (-1, self.width, *tensor.shape[2:]),
            )

        return pick(tokens), pick(ended), take_rows(state, flat)

    def _ranked(self, tokens, total, eos):
        mask = sequence_mask(tokens, eos)
        length = ops.maximum(ops.sum(mask, axis=-1), 1.0)
        scores, order = ops.top_k(
            total / length**self.length_penalty, self.width
        )
        order = ops.cast(order, "int32")[..., None]
        return Rollout(
            ops.take_along_axis(tokens, order, axis=1),
            ops.take_along_axis(mask, order, axis=1),
            scores=ops.stop_gradient(scores),
        )
