"""A reward in standard deviations of those of its row."""

from typing import Any

from keras import ops

from tfcap._ops import masked_mean
from tfcap.rewards.reward import ABSTAINED
from tfcap.rewards.reward import Reward

#: Rewards that differ by less are equal but for float error.
_EQUAL = 1e-5


class Standardized(Reward):
    """A reward less the mean of its row's samples, in standard deviations.

    Decoupled normalisation: of several rewards, each is brought to one scale
    before they are added, so that none drowns in the spread of another, and
    combinations of rewards that differ keep different advantages:

    ```
    reward = Standardized(CIDErD(frequencies)) + 0.5 * Standardized(BLEU(4))
    term = ScoreFunction(reward, samples, standardize="batch")
    ```

    is GDPO, an advantage that needs no baseline. Rows whose samples have equal
    rewards get 0. What is logged is the reward as it was.

    Args:
        reward: `tfcap.rewards.Reward` of one number a sequence.

    Example:

    >>> reward = tfcap.rewards.Standardized(tfcap.rewards.BLEU(4))
    >>> reward.name, (reward + reward).terms
    ('bleu_4', ('bleu_4', 'bleu_4_2'))

    Reference:

    - Liu et al., GDPO: Group reward-Decoupled Normalization Policy
      Optimization for Multi-reward RL Optimization, 2026
    """

    compares_samples = True

    def __init__(self, reward: Reward):
        if not isinstance(reward, Reward):
            raise TypeError(
                "`reward` must be a `tfcap.rewards.Reward`. Received: "
                f"reward={reward!r}. Make one of a function of strings with "
                "`tfcap.rewards.TextReward(function)`."
            )
        self.reward = reward
        self.name = reward.name
        self.terms = reward.terms
        self.decoders = reward.decoders
        self.abstains = reward.abstains
        self.judges = reward.judges
        self.reads_log_probs = reward.reads_log_probs

    def call(self, rollout: Any, episode: Any) -> Any:
        return self.credited(rollout, episode)[0]

    def measure(self, rollout, episode):
        rewards, _, parts = self.credited(rollout, episode)
        return rewards, parts

    def measured(self, rollout, episode):
        return self.credited(rollout, episode)

    def credited(self, rollout, episode):
        rewards, own, parts = self.reward.credited(rollout, episode)
        if len(rewards.shape) != 2:
            raise ValueError(
                "`reward` must give one number a sequence for Standardized. "
                f"Received: rewards of shape {tuple(rewards.shape)}."
            )
        if rewards.shape[1] is not None and rewards.shape[1] < 2:
            raise ValueError(
                "Standardized needs at least 2 samples of each row. Received: "
                f"rewards of shape {tuple(rewards.shape)}. Set `num_samples` "
                "of the decoder."
            )
        present = rollout.nonempty
        if self.abstains:
            judged = rewards != ABSTAINED
            present = ops.logical_and(present, judged)
            rewards = ops.where(judged, rewards, 0)
        mean = ops.expand_dims(masked_mean(rewards, present, axis=1), 1)
        above = rewards - mean
        squares = masked_mean(ops.square(above), present, axis=1)
        std = ops.sqrt(ops.expand_dims(squares, 1))
        scaled = ops.where(std > _EQUAL, above / ops.maximum(std, _EQUAL), 0)
        scaled = ops.where(present, scaled, 0)
        if self.abstains:
            scaled = ops.where(judged, scaled, ABSTAINED)
        return scaled, own, parts
