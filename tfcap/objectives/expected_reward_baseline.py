"""The expected reward of weighted sequences, as a baseline."""

from typing import Any

from keras import ops

from tfcap.decoding import SumAndSample
from tfcap.objectives.baseline import Baseline
from tfcap.objectives.baselines import check_of_sequences


class ExpectedRewardBaseline(Baseline):
    """The expected reward by `SumAndSample`, without a sample's own part.

    ```
    baseline = sum over the beam of p(y) * reward(y)
               + (1 - p(beam)) * mean reward of the other samples
    ```

    For sequences of the beam, of all samples; with one sample alone, the mean
    over the beam. In the mean it is the same number for all sequences of a
    row, and leaves the expected gradient as it is.

    Args:
        decoder: `tfcap.decoding.SumAndSample`, the estimator's own.

    Example:

    >>> decoder = tfcap.decoding.SumAndSample(width=4, num_samples=2)
    >>> objective = tfcap.objectives.ScoreFunction(
    ...     tfcap.rewards.BLEU(4),
    ...     decoder,
    ...     baseline=tfcap.objectives.ExpectedRewardBaseline(decoder),
    ... )

    Reference:

    - Kool et al., Estimating Gradients for Discrete Random Variables by
      Sampling without Replacement, ICLR 2020
    """

    def __init__(self, decoder: SumAndSample):
        if not isinstance(decoder, SumAndSample):
            raise TypeError(
                "`decoder` must be a `tfcap.decoding.SumAndSample`. Received: "
                f"decoder={decoder!r}. Use LeaveOneOutBaseline for samples."
            )
        self.decoder = decoder

    def check(self, decoder: Any, credit: Any) -> None:
        if decoder is not self.decoder:
            raise ValueError(
                "`decoder` of ExpectedRewardBaseline must be the estimator's. "
                f"Received: decoder={self.decoder}, and {decoder}. Give both "
                "the same object."
            )

    def __call__(self, rewards, episode):
        check_of_sequences(rewards, "ExpectedRewardBaseline")
        width, rest = self.decoder.width, self.decoder.rest
        weights = episode.rollout(self.decoder).weights
        weights = ops.cast(weights, rewards.dtype)
        parts = weights * rewards
        found = ops.sum(parts[:, :width], axis=1, keepdims=True)
        if rest == 1:
            known = ops.sum(weights[:, :width], axis=1, keepdims=True)
            value = found / ops.maximum(known, 1e-12)
            return ops.broadcast_to(value, ops.shape(rewards))
        sampled = ops.sum(parts[:, width:], axis=1, keepdims=True)
        beam = ops.broadcast_to(found + sampled, ops.shape(rewards[:, :width]))
        # All weights of a row's samples are equal.
        others = (sampled - parts[:, width:]) * (rest / (rest - 1.0))
        return ops.concatenate([beam, found + others], axis=1)
