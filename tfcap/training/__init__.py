"""Training: the two models with a train step, callbacks, checkpoints."""

from tfcap.training.anneal import Anneal
from tfcap.training.checkpoint import RunCheckpoint
from tfcap.training.checkpoint import fit
from tfcap.training.collapse_warning import CollapseWarning
from tfcap.training.diversity_report import DiversityReport
from tfcap.training.diversity_report import evaluate_diversity
from tfcap.training.exponential_temperature import ExponentialTemperature
from tfcap.training.falling_score_warning import FallingScoreWarning
from tfcap.training.game import Game
from tfcap.training.game import Player
from tfcap.training.generation import generate
from tfcap.training.grammar_accuracy import grammar_accuracy
from tfcap.training.objective_model import ObjectiveModel
from tfcap.training.ranking import discriminative_ranking
from tfcap.training.ranking import embed_answers
from tfcap.training.ranking import generative_ranking
from tfcap.training.ranking_evaluation import RankingEvaluation
from tfcap.training.speaker_evaluation import SpeakerEvaluation
from tfcap.training.speaker_evaluator import SpeakerEvaluator
from tfcap.training.speaker_evaluator import evaluate_speaker
from tfcap.training.speaker_report import SpeakerReport
from tfcap.training.sweep import Sweep
from tfcap.training.sweep_records import load_records
from tfcap.training.tradeoff_logger import TradeoffLogger
from tfcap.training.tradeoff_logger import report_samples
from tfcap.training.tradeoff_logger import write_report
