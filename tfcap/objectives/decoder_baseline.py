"""The reward of other words as a baseline."""

from keras import ops

from tfcap.decoding import Decoder


class DecoderBaseline:
    """The same reward for what another decoder says.

    With `Greedy`, self-critical training; with `GroundTruth`, the reward of
    the human words.

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
        values = ops.stop_gradient(self.reward(rollout, episode))
        return ops.mean(values, axis=1, keepdims=True)
