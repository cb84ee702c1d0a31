"""Rewards of plain functions."""

from collections.abc import Callable
from collections.abc import Sequence
from typing import Any

from tfcap.rewards.reward import Reward
from tfcap.rewards.text_reward import FORMS
from tfcap.rewards.text_reward import TextReward
from tfcap.rewards.text_reward import function_name
from tfcap.rewards.text_reward import parameters_of


def as_reward(
    reward: Reward | Callable | Sequence, vocabulary: Any = None
) -> Reward:
    """Makes a reward of a function, or of several; leaves a reward as it is.

    Estimators and baselines call this on the reward that they are given. The
    signature of a function decides: one with parameters `rollout` and
    `episode` scores tensors, as `tfcap.rewards.Reward.call()` does; any other
    one scores strings, see `tfcap.rewards.TextReward`.

    Args:
        reward: `tfcap.rewards.Reward` or function, or a list of these, which
            is their sum.
        vocabulary: As that of `TextReward`. Defaults to `None`: that of the
            speaker.

    Returns:
        `tfcap.rewards.Reward`.

    Raises:
        TypeError: If one is no reward, and no function of one of these forms.

    Example:

    >>> def brevity(captions, references):
    ...     return [-len(caption.split()) for caption in captions]
    >>> tfcap.rewards.as_reward(brevity).name
    'brevity'
    """
    if isinstance(reward, Reward):
        return reward
    if isinstance(reward, list | tuple) and reward:
        return sum(as_reward(each, vocabulary) for each in reward)
    if isinstance(reward, type) or not callable(reward):
        raise TypeError(
            f"`reward` must be a `tfcap.rewards.Reward` or a function, {FORMS}."
            f" Received: reward={reward!r}."
        )
    if {"rollout", "episode"} <= parameters_of(reward).keys():
        return _TensorReward(reward)
    return TextReward(reward, vocabulary)


class _TensorReward(Reward):
    """A function of a rollout and its episode as a reward, by value."""

    def __init__(self, function):
        self.function = function
        self.name = function_name(function)

    def call(self, rollout, episode):
        return self.function(rollout=rollout, episode=episode)
