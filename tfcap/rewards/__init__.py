"""Rewards: what is wanted of the words that were said."""

from tfcap.rewards.constant import Constant
from tfcap.rewards.dialog_score import DialogScore
from tfcap.rewards.reward import Reward
