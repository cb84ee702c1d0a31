"""The same reward for everything."""

from keras import ops

from tfcap.rewards.reward import Reward


class ConstantReward(Reward):
    """Rewards everything alike.

    The score-function estimator of a constant reward on ground truth is
    teacher forcing.

    Args:
        value: Float. Defaults to `1.0`.

    Example:

    >>> ones = np.ones((2, 1, 3))
    >>> rollout = tfcap.decoding.Rollout(tokens=ones, mask=ones)
    >>> print(tfcap.rewards.ConstantReward(2.0)(rollout, None).numpy())
    [[2.]
     [2.]]
    """

    name = "constant"

    def __init__(self, value=1.0):
        self.value = value

    def call(self, rollout, episode):
        return ops.ones_like(rollout.mask[..., 0]) * self.value
