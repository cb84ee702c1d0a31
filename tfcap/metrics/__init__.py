"""How good a ranking, how varied the language, how sure the comparison."""

from tfcap.metrics.clip_score import CLIP_PREFIX
from tfcap.metrics.clip_score import clip_score
from tfcap.metrics.clip_score import pac_score
from tfcap.metrics.clip_score import ref_clip_score
from tfcap.metrics.clip_score import ref_pac_score
from tfcap.metrics.diversity import answer_statistics
from tfcap.metrics.keras_mean_rank import MeanRank
from tfcap.metrics.keras_mean_reciprocal_rank import MeanReciprocalRank
from tfcap.metrics.keras_ndcg import NDCG
from tfcap.metrics.keras_recall_at_k import RecallAtK
from tfcap.metrics.ranking import candidate_ranks
from tfcap.metrics.ranking import mean_rank
from tfcap.metrics.ranking import mean_reciprocal_rank
from tfcap.metrics.ranking import median_rank
from tfcap.metrics.ranking import ndcg
from tfcap.metrics.ranking import ordinal_ranks
from tfcap.metrics.ranking import recall_at_k
from tfcap.metrics.ranking_metric import RankingMetric
from tfcap.metrics.ranking_report import RankingReport
from tfcap.metrics.retrieval import evaluate_retrieval
from tfcap.metrics.retrieval_report import RetrievalReport
