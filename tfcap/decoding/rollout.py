"""What a decoder hands on: words, and what is known about them."""

from typing import Any
from typing import NamedTuple

from keras import ops


class Rollout(NamedTuple):
    """Words that a speaker said, or is made to say.

    Args:
        tokens: Integer tensor of shape `(B, S, T)`, padded with 0.
        mask: Float tensor of shape `(B, S, T)`: 1 up to and including the end
            token.
        words: Float tensor of shape `(B, S, T, V)`, the words as vectors that
            a listener can read and gradients can pass, zero under the mask;
            or `None` where words are known as tokens only.
        log_probs: Float32 tensor of shape `(B, S, T)`, 0 under the mask, or
            `None` where the speaker has not scored the words yet.
        scores: Float tensor of shape `(B, S)`: by which a search ranked its
            results, best first; the log probability of what was sampled; or
            `None`, of words that are not the speaker's.
        discrete: Boolean, whether every vector of `words` is one-hot.
        states: Float tensor of shape `(B, S, T, D)`, what
            `state_vector()` makes of the state in which each word was drawn,
            without gradient; or `None`, where nobody asked for it.
        given: Float tensor of shape `(B, S, T)`, 1 for words that the speaker
            was given and did not choose; or `None`, where all are of a kind.
    """

    tokens: Any
    mask: Any
    words: Any = None
    log_probs: Any = None
    scores: Any = None
    discrete: bool = True
    states: Any = None
    given: Any = None

    @property
    def heard(self):
        """What a listener reads: `words` where there are any, else `tokens`."""
        return self.tokens if self.words is None else self.words

    @property
    def said(self):
        """Which samples have words, a boolean tensor of shape `(B, S)`."""
        return ops.any(self.mask > 0, axis=-1)

    def masked(self, present):
        """The same rollout, in which some sequences are absent.

        `words` stay as they are: who embeds them is given the mask, and a
        product with all of them would cost a pass over the vocabulary.

        Args:
            present: Float tensor that broadcasts to `(B, S)`, 0 where a
                sequence is absent.
        """
        steps = present[..., None]

        def kept(tensor, present):
            if tensor is None:
                return None
            return tensor * ops.cast(present, tensor.dtype)

        return self._replace(
            tokens=kept(self.tokens, steps),
            mask=kept(self.mask, steps),
            log_probs=kept(self.log_probs, steps),
            scores=kept(self.scores, present),
            given=kept(self.given, steps),
        )

    def stop_gradient(self):
        """The same rollout, through which no gradient passes.

        Discrete words are then their tokens, and need no vectors.
        """

        def stop(tensor):
            return None if tensor is None else ops.stop_gradient(tensor)

        return self._replace(
            words=None if self.discrete else stop(self.words),
            log_probs=stop(self.log_probs),
            scores=stop(self.scores),
        )
