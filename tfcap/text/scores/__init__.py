"""Scores of captions on the host: exact to the reference codes, no Java."""

from tfcap.text.scores.bleu import bleu
from tfcap.text.scores.bleu import mutual_bleu
from tfcap.text.scores.bleu import self_bleu
from tfcap.text.scores.caption_statistics import BAD_ENDINGS
from tfcap.text.scores.caption_statistics import LengthStatistics
from tfcap.text.scores.caption_statistics import bad_ending_rate
from tfcap.text.scores.caption_statistics import distinct_n
from tfcap.text.scores.caption_statistics import length_statistics
from tfcap.text.scores.caption_statistics import novelty
from tfcap.text.scores.caption_statistics import vocabulary_size
from tfcap.text.scores.cider import cider
from tfcap.text.scores.cider import cider_d
from tfcap.text.scores.cider_r import cider_r
from tfcap.text.scores.rouge_l import rouge_l
from tfcap.text.scores.scores import Scores
from tfcap.text.scores.self_cider import self_cider
