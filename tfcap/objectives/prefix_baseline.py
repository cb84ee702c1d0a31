"""The worth of what was said before a word as its baseline."""

import numpy as np
from keras import ops


class PrefixBaseline:
    """What was to be expected before the word was said.

    ```
    baseline[t] = credit[t - 1]
    ```

    of a credit that is an estimate of its own for every beginning, such as
    `MonteCarlo`: what it says of the beginning does not depend on the word
    that came next, so it costs no expectation, and nothing to compute.

    Where `MonteCarlo` does not continue every beginning, `credit[t - 1]` may
    be the value of a longer beginning, which does depend on word `t`: the
    baseline would take away what the word is worth. It is then the value of
    the last beginning before the word that was continued, and must be told
    which these are.

    Args:
        first: The baseline of the first word, which has nothing before it:
            callable from `(rewards, episode)` to a tensor of shape `(B, S)`,
            `(B, 1)` or `(B, S, 1)`, or that broadcasts to one, such as
            `DecoderBaseline`. Defaults to `None`, 0.
        credit: The `MonteCarlo` of the estimator; needed where it has
            `rollout_every` or `max_rollouts`. Defaults to `None`, every
            beginning has a value of its own.

    Example:

    >>> credit = np.array([[[1.0, 2.0, 6.0]]])
    >>> print(tfcap.objectives.PrefixBaseline()(credit, None).numpy())
    [[[0. 1. 2.]]]
    """

    def __init__(self, first=None, credit=None):
        self.first = first
        self.credit = credit

    @property
    def layers(self):
        """The Keras layers of the baseline of the first word."""
        return getattr(self.first, "layers", ())

    def check(self, decoder, credit):
        """Refuses a credit of an estimator that it would be wrong with."""
        untold = self.credit is None and getattr(credit, "skips", False)
        if untold or self.credit not in (None, credit):
            raise ValueError(
                "`credit` of PrefixBaseline must be the estimator's, which "
                "does not continue every beginning. Received: "
                f"credit={self.credit}, and {credit}. Give both the same "
                "object."
            )

    def __call__(self, rewards, episode):
        if len(rewards.shape) != 3:
            raise ValueError(
                "PrefixBaseline needs a reward for every word. Received: "
                f"rewards of shape {tuple(rewards.shape)}. Give the estimator "
                "a `credit`, such as MonteCarlo."
            )
        first = ops.zeros_like(rewards[..., :1])
        if self.first is not None:
            first = first + self._of_first(rewards, episode)
        length = rewards.shape[-1]
        ends = list(range(length - 1))
        if self.credit is not None:
            ends = list(self.credit.prefixes(length))
        known = ops.concatenate(
            [first, ops.take(rewards, np.array(ends, int), axis=-1)], axis=-1
        )
        # Of every word, the last beginning that it is not in.
        return ops.take(known, np.searchsorted(ends, range(length)), axis=-1)

    def _of_first(self, rewards, episode):
        """The baseline of the first word, to be added to `(B, S, 1)`."""
        values = self.first(rewards, episode)
        if len(values.shape) == 2:
            return values[..., None]
        if len(values.shape) != 3 or values.shape[-1] != 1:
            raise ValueError(
                "`first` must give one number a sequence. Received: "
                f"first={type(self.first).__name__}, which gives values of "
                f"shape {tuple(values.shape)}. Use DecoderBaseline or "
                "RunningMeanBaseline."
            )
        return values
