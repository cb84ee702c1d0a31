"""Rewards: what is wanted of the words that were said."""

from tfcap.rewards.as_reward import as_reward
from tfcap.rewards.bcmr import BCMR
from tfcap.rewards.bidirectional_contrastive import BidirectionalContrastive
from tfcap.rewards.bleu import BLEU
from tfcap.rewards.cider_d import CIDErD
from tfcap.rewards.cider_r import CIDErR
from tfcap.rewards.clip_score import CLIPScore
from tfcap.rewards.constant import Constant
from tfcap.rewards.dialog_score import DialogScore
from tfcap.rewards.grammar import Grammar
from tfcap.rewards.kl_penalty import KLPenalty
from tfcap.rewards.match_probability import MatchProbability
from tfcap.rewards.meteor import METEOR
from tfcap.rewards.pairwise_diversity import PairwiseDiversity
from tfcap.rewards.reference_reward import ReferenceReward
from tfcap.rewards.retrieval import Retrieval
from tfcap.rewards.reward import Reward
from tfcap.rewards.reward import WeightedSum
from tfcap.rewards.rouge_l import ROUGEL
from tfcap.rewards.spice import SPICE
from tfcap.rewards.spice_spacy import SPICESpaCy
from tfcap.rewards.spider import SPIDEr
from tfcap.rewards.surprisal import Surprisal
from tfcap.rewards.text_reward import TextReward
