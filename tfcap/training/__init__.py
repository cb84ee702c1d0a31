"""Training: the model with a train step, callbacks, checkpoints."""

from tfcap.training.dataset_inputs import generate
from tfcap.training.evaluator import EvaluationCallback
from tfcap.training.evaluator import Evaluator
from tfcap.training.exponential_temperature import ExponentialTemperature
from tfcap.training.health import CollapseWarning
from tfcap.training.health import FallingScoreWarning
from tfcap.training.joint_training import ClippedAdam
from tfcap.training.joint_training import JointTraining
from tfcap.training.joint_training import Learner
from tfcap.training.network_file import load_network
from tfcap.training.network_file import save_network
from tfcap.training.ranking import candidate_scores
from tfcap.training.ranking import rank_candidates
from tfcap.training.resume import Resume
from tfcap.training.speaker_report import SpeakerReport
from tfcap.training.workers import from_chief
from tfcap.training.workers import is_chief
from tfcap.training.workers import open_strategy
