"""Metrics of captions, rankings and retrievals."""

from tfcap.metrics.clip_score import CLIP_PREFIX
from tfcap.metrics.clip_score import clip_score
from tfcap.metrics.clip_score import pac_score
from tfcap.metrics.clip_score import ref_clip_score
from tfcap.metrics.clip_score import ref_pac_score
from tfcap.metrics.collapse_ratio import CollapseRatio
from tfcap.metrics.diversity import answer_statistics
from tfcap.metrics.keras_ranking import NDCG
from tfcap.metrics.keras_ranking import MeanRank
from tfcap.metrics.keras_ranking import MeanReciprocalRank
from tfcap.metrics.keras_ranking import RankingMetric
from tfcap.metrics.keras_ranking import RecallAtK
from tfcap.metrics.ranking import candidate_ranks
from tfcap.metrics.ranking import mean_rank
from tfcap.metrics.ranking import mean_reciprocal_rank
from tfcap.metrics.ranking import median_rank
from tfcap.metrics.ranking import ndcg
from tfcap.metrics.ranking import ordinal_ranks
from tfcap.metrics.ranking import recall_at_k
from tfcap.metrics.reports import RankingReport
from tfcap.metrics.reports import RetrievalReport
from tfcap.metrics.retrieval import evaluate_retrieval
