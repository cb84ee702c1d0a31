"""The reward of other words as a baseline."""

from keras import ops

from tfcap.decoding import Decoder


class DecoderBaseline:
    """The same reward for what another decoder says.

    With `Greedy`, self-critical training; with `GroundTruth`, the reward of
    the human words. It does not depend on what is sampled, and leaves the
    expected gradient as it is.

    Where a reward compares samples it is their credit, the effect on the
    other words of that decoder included; see `tfcap.rewards.Reward`. As every
    sample has an effect on all S samples of another row, that effect is
    scaled to as many samples as are scored.

    Args:
        reward: `tfcap.rewards.Reward`.
        decoder: `tfcap.decoding.Decoder`.

    Example:

    >>> reward, greedy = tfcap.rewards.Constant(), tfcap.decoding.Greedy()
    >>> objective = tfcap.objectives.ScoreFunction(
    ...     reward,
    ...     tfcap.decoding.Sample(),
    ...     baseline=tfcap.objectives.DecoderBaseline(reward, greedy),
    ... )

    Reference:

    - Rennie et al., Self-critical Sequence Training, CVPR 2017
    """

    def __init__(self, reward, decoder):
        if not isinstance(decoder, Decoder):
            raise TypeError(
                "`decoder` must be a `tfcap.decoding.Decoder`. Received: "
                f"decoder={decoder!r}."
            )
        self.reward = reward
        self.decoder = decoder

    def __call__(self, rewards, episode):
        rollout = episode.rollout(self.decoder).stop_gradient()
        values, own, _ = self.reward.credited(rollout, episode)
        if self.reward.compares_samples:
            values = own + (values - own) * _ratio(rewards, own)
        values = ops.stop_gradient(values)
        return ops.mean(values, axis=1, keepdims=True)


def _ratio(rewards, values):
    """How many samples are scored for every one of the baseline."""
    counts = (ops.shape(x)[1] for x in (rewards, values))
    samples, own = (ops.cast(count, values.dtype) for count in counts)
    return samples / own
