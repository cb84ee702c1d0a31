"""The result of a decoder."""

from typing import Any
from typing import NamedTuple

from keras import ops


class Rollout(NamedTuple):
    """Words of a speaker, drawn or given.

    Args:
        tokens: Integer tensor of shape `(B, S, T)`, filled with the speaker's
            `pad` after the end.
        mask: Float tensor of shape `(B, S, T)`: 1 up to and including the end
            token.
        words: Float tensor of shape `(B, S, T, V)`, the words as vectors that
            a listener can read and gradients can pass, zero under the mask;
            or `None` where words are known as tokens only.
        log_probs: Float32 tensor of shape `(B, S, T)`, 0 under the mask, or
            `None` where the speaker has not scored the words yet.
        scores: Float tensor of shape `(B, S)`: of a search, the scores that
            rank its results, best first; of sampling, log probabilities; or
            `None`, of words that are not the speaker's.
        discrete: Boolean, whether every vector of `words` is one-hot.
        states: Float tensor of shape `(B, S, T, D)`, the `state_vector()` of
            the state in which each word was drawn, without gradient; or
            `None`, where not asked for.
        given: Float tensor of shape `(B, S, T)`, 1 for words that the speaker
            was given and did not choose; or `None`, where all are of a kind.
        endings: `tfcap.decoding.endings.Endings`, words that go on where the
            sequences end, of `SampleEndings`; or `None`.
        weights: Float tensor of shape `(B, S)`, without gradient, of sequences
            that stand for an expectation, the sum over them times these; or
            `None`, where it is their mean. See `SumAndSample`.
    """

    tokens: Any
    mask: Any
    words: Any = None
    log_probs: Any = None
    scores: Any = None
    discrete: bool = True
    states: Any = None
    given: Any = None
    endings: Any = None
    weights: Any = None

    @property
    def listener_inputs(self) -> Any:
        """Inputs of a listener: `words` where there are any, else `tokens`."""
        return self.tokens if self.words is None else self.words

    @property
    def nonempty(self) -> Any:
        """Boolean tensor of shape `(B, S)`, true for samples with words."""
        return ops.any(self.mask > 0, axis=-1)

    def masked(self, present: Any, pad: int = 0) -> "Rollout":
        """Masks whole sequences.

        `words` stay as they are: a network that embeds them is given the mask,
        and a product with all of them would cost a pass over the vocabulary.

        Args:
            present: Float tensor that broadcasts to `(B, S)`, 0 where a
                sequence is absent.
            pad: Integer, the speaker's padding. Defaults to `0`.
        """
        steps = present[..., None]

        def kept(tensor, present):
            if tensor is None:
                return None
            return tensor * ops.cast(present, tensor.dtype)

        return self._replace(
            tokens=ops.where(ops.cast(steps, "bool"), self.tokens, pad),
            mask=kept(self.mask, steps),
            log_probs=kept(self.log_probs, steps),
            scores=kept(self.scores, present),
            given=kept(self.given, steps),
            weights=kept(self.weights, present),
        )

    def stop_gradient(self) -> "Rollout":
        """Stops the gradient through the rollout.

        Discrete words are then their tokens, and need no vectors.
        """

        def stop(tensor):
            return None if tensor is None else ops.stop_gradient(tensor)

        return self._replace(
            words=None if self.discrete else stop(self.words),
            log_probs=stop(self.log_probs),
            scores=stop(self.scores),
            endings=None,
        )
