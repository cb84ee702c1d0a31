"""The reward of other words as a baseline."""

from keras import ops

from tfcap.decoding import Decoder
from tfcap.objectives.several_samples import present_samples
from tfcap.ops import masked_mean
from tfcap.ops import sum_over_replicas
from tfcap.rewards import as_reward


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
        reward = as_reward(reward)
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
        said = rollout.nonempty
        if self.reward.compares_samples:
            ratio = _count(present_samples(rewards, episode)) / _count(said)
            values = own + (values - own) * ops.cast(ratio, values.dtype)
        if len(values.shape) == 3:
            said = said[..., None]
        values = masked_mean(ops.stop_gradient(values), said, axis=1)
        return ops.expand_dims(values, 1)


def _count(present):
    """Number of sequences scored in the batch, of all replicas."""
    count = sum_over_replicas(ops.sum(ops.cast(present, "float32")))
    return ops.maximum(count, 1)
