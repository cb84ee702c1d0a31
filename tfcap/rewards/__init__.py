"""Rewards of generated captions and answers."""

from tfcap.rewards.critics import DialogScore
from tfcap.rewards.critics import Grammar
from tfcap.rewards.critics import MatchProbability
from tfcap.rewards.distributions import KLPenalty
from tfcap.rewards.distributions import Surprisal
from tfcap.rewards.readers import DialogReader
from tfcap.rewards.readers import LikelihoodReader
from tfcap.rewards.references import BLEU
from tfcap.rewards.references import ROUGEL
from tfcap.rewards.references import CIDErD
from tfcap.rewards.references import PairwiseDiversity
from tfcap.rewards.retrieval import BidirectionalContrastive
from tfcap.rewards.retrieval import CLIPScore
from tfcap.rewards.retrieval import Retrieval
from tfcap.rewards.reward import ConstantReward
from tfcap.rewards.reward import LengthPenalty
from tfcap.rewards.reward import Reward
from tfcap.rewards.reward import Standardized
from tfcap.rewards.text_rewards import BCMR
from tfcap.rewards.text_rewards import METEOR
from tfcap.rewards.text_rewards import SPICE
from tfcap.rewards.text_rewards import SPICESpaCy
from tfcap.rewards.text_rewards import SPIDEr
from tfcap.rewards.text_rewards import TextReward
from tfcap.rewards.utility import Utility
