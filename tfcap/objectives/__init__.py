"""Objectives: estimators that turn rewards into losses, and their sums."""

from tfcap.objectives.decoder_baseline import DecoderBaseline
from tfcap.objectives.discriminator_loss import DiscriminatorLoss
from tfcap.objectives.episode import Episode
from tfcap.objectives.estimator import Estimator
from tfcap.objectives.learned_baseline import LearnedBaseline
from tfcap.objectives.leave_one_out_baseline import LeaveOneOutBaseline
from tfcap.objectives.listener_loss import ListenerLoss
from tfcap.objectives.monte_carlo import MonteCarlo
from tfcap.objectives.objective import Objective
from tfcap.objectives.objective import Term
from tfcap.objectives.objective import WeightedSum
from tfcap.objectives.pathwise import Pathwise
from tfcap.objectives.prefix_baseline import PrefixBaseline
from tfcap.objectives.rank_with_fakes import rank_with_fakes
from tfcap.objectives.running_mean_baseline import RunningMeanBaseline
from tfcap.objectives.sample_mean_baseline import SampleMeanBaseline
from tfcap.objectives.score_function import ScoreFunction
from tfcap.objectives.supervised_loss import SupervisedLoss
from tfcap.objectives.teacher_forcing import TeacherForcing
