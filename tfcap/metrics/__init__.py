"""Metrics of captions, rankings and retrievals."""

from tfcap.metrics.clip_score import clip_score
from tfcap.metrics.clip_score import ref_clip_score
from tfcap.metrics.collapse_ratio import CollapseRatio
from tfcap.metrics.ranking import ordinal_ranks
from tfcap.metrics.reports import RankingReport
from tfcap.metrics.reports import answer_prior
from tfcap.metrics.retrieval import evaluate_retrieval
