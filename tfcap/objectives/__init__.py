"""Objectives: estimators that turn rewards into losses, and their sums."""

from tfcap.objectives.baseline import Baseline
from tfcap.objectives.baseline import Credit
from tfcap.objectives.baselines import DecoderBaseline
from tfcap.objectives.baselines import LeaveOneOutBaseline
from tfcap.objectives.baselines import RunningMeanBaseline
from tfcap.objectives.baselines import SampleMeanBaseline
from tfcap.objectives.clipped_ratio import ClippedRatio
from tfcap.objectives.discriminator_loss import DiscriminatorLoss
from tfcap.objectives.episode import Episode
from tfcap.objectives.estimator import Estimator
from tfcap.objectives.expected_reward_baseline import ExpectedRewardBaseline
from tfcap.objectives.gae import GAE
from tfcap.objectives.kl_divergence import KLDivergence
from tfcap.objectives.learned_baseline import LearnedBaseline
from tfcap.objectives.listener_loss import ListenerLoss
from tfcap.objectives.monte_carlo import MonteCarlo
from tfcap.objectives.monte_carlo import PrefixBaseline
from tfcap.objectives.objective import Objective
from tfcap.objectives.objective import Term
from tfcap.objectives.pathwise import Pathwise
from tfcap.objectives.preference_loss import PreferenceLoss
from tfcap.objectives.rank_with_fakes import rank_with_fakes
from tfcap.objectives.score_function import ScoreFunction
from tfcap.objectives.structure_loss import StructureLoss
from tfcap.objectives.supervised_loss import SupervisedLoss
from tfcap.objectives.teacher_forcing import TeacherForcing
