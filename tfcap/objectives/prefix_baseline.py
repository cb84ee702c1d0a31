"""The worth of what was said before a word as its baseline."""

from keras import ops


class PrefixBaseline:
    """What was to be expected before the word was said.

    ```
    baseline[t] = credit[t - 1]
    ```

    of a credit that is an estimate of its own for every beginning, such as
    `MonteCarlo`: what it says of the beginning does not depend on the word
    that came next, so it costs no expectation, and nothing to compute.

    Args:
        first: The baseline of the first word, which has nothing before it:
            callable from `(rewards, episode)` to a tensor of shape `(B, 1)`,
            such as `DecoderBaseline`. Defaults to `None`, 0.

    Example:

    >>> credit = np.array([[[1.0, 2.0, 6.0]]])
    >>> print(tfcap.objectives.PrefixBaseline()(credit, None).numpy())
    [[[0. 1. 2.]]]
    """

    def __init__(self, first=None):
        self.first = first

    def __call__(self, rewards, episode):
        if len(rewards.shape) != 3:
            raise ValueError(
                "PrefixBaseline needs a reward for every word. Received: "
                f"rewards of shape {tuple(rewards.shape)}. Give the estimator "
                "a `credit`, such as MonteCarlo."
            )
        first = ops.zeros_like(rewards[..., :1])
        if self.first is not None:
            first = first + self.first(rewards, episode)[..., None]
        return ops.concatenate([first, rewards[..., :-1]], axis=-1)
