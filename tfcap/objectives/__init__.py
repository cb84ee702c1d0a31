"""Objectives: estimators that turn rewards into losses, and their sums."""

from tfcap.objectives.credit import GAE
from tfcap.objectives.credit import LearnedBaseline
from tfcap.objectives.credit import MonteCarlo
from tfcap.objectives.credit import PrefixBaseline
from tfcap.objectives.discriminator_loss import DiscriminatorLoss
from tfcap.objectives.episode import Episode
from tfcap.objectives.estimator import DecoderBaseline
from tfcap.objectives.estimator import Estimator
from tfcap.objectives.estimator import LeaveOneOutBaseline
from tfcap.objectives.estimator import Objective
from tfcap.objectives.estimator import RunningMeanBaseline
from tfcap.objectives.estimator import SampleMeanBaseline
from tfcap.objectives.expected_ending import ExpectedEnding
from tfcap.objectives.proximal import ClippedRatio
from tfcap.objectives.ranking import StructureLoss
from tfcap.objectives.relax import RELAX
from tfcap.objectives.score_function import Pathwise
from tfcap.objectives.score_function import ScoreFunction
from tfcap.objectives.score_function import TeacherForcing
