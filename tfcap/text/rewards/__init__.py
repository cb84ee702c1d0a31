"""Caption scores as reward functions for other trainers.

This package uses NumPy, and imports neither TensorFlow nor Keras nor PyTorch.
Rewards have the signature of TRL's reward functions; ms-swift and verl call
them through a few lines, see docs/rewards_for_other_trainers.md.
"""

from tfcap.text.rewards.caption_reward import CaptionReward
from tfcap.text.rewards.score_rewards import bleu_reward
from tfcap.text.rewards.score_rewards import cider_d_reward
from tfcap.text.rewards.score_rewards import cider_r_reward
from tfcap.text.rewards.score_rewards import claim_reward
from tfcap.text.rewards.score_rewards import meteor_reward
from tfcap.text.rewards.score_rewards import rouge_l_reward
from tfcap.text.rewards.score_rewards import spice_spacy_reward
