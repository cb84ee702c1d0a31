"""Baselines: what a reward is compared with, to quieten its gradient.

Each is a callable from rewards `(B, S)` and the episode to a tensor that
broadcasts to them. No gradient passes through a baseline.
"""

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


class LeaveOneOutBaseline:
    """The mean reward of a row's other samples.

    Example:

    >>> baseline = tfcap.objectives.LeaveOneOutBaseline()
    >>> print(baseline(np.array([[1.0, 2.0, 6.0]]), None).numpy())
    [[4.  3.5 1.5]]

    Reference:

    - Kool et al., Buy 4 REINFORCE Samples, Get a Baseline for Free!, 2019
    """

    def __call__(self, rewards, episode):
        samples = rewards.shape[1]
        if samples < 2:
            raise ValueError(
                "LeaveOneOutBaseline needs at least 2 samples of each row. "
                f"Received: rewards of shape {tuple(rewards.shape)}. Set "
                "`num_samples` of the decoder."
            )
        total = ops.sum(rewards, axis=1, keepdims=True)
        return (total - rewards) / (samples - 1)
