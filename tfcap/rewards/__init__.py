"""Rewards: what is wanted of the words that were said."""

from tfcap.rewards.bidirectional_contrastive import BidirectionalContrastive
from tfcap.rewards.bleu import BLEU
from tfcap.rewards.cider_d import CIDErD
from tfcap.rewards.cider_r import CIDErR
from tfcap.rewards.clip_score import CLIPScore
from tfcap.rewards.constant import Constant
from tfcap.rewards.dialog_score import DialogScore
from tfcap.rewards.host_scorer import HostScorer
from tfcap.rewards.kl_penalty import KLPenalty
from tfcap.rewards.match_probability import MatchProbability
from tfcap.rewards.pairwise_diversity import PairwiseDiversity
from tfcap.rewards.reference_reward import ReferenceReward
from tfcap.rewards.retrieval import Retrieval
from tfcap.rewards.reward import Reward
from tfcap.rewards.rouge_l import ROUGEL
from tfcap.rewards.surprisal import Surprisal
from tfcap.rewards.weighted_sum import WeightedSum
