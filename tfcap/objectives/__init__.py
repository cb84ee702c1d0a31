"""Objectives: estimators that turn rewards into losses, and their sums."""

from tfcap.objectives.baselines import DecoderBaseline
from tfcap.objectives.baselines import LeaveOneOutBaseline
from tfcap.objectives.episode import Episode
from tfcap.objectives.objective import Estimator
from tfcap.objectives.objective import Objective
from tfcap.objectives.objective import Term
from tfcap.objectives.objective import WeightedSum
from tfcap.objectives.pathwise import Pathwise
from tfcap.objectives.score_function import ScoreFunction
from tfcap.objectives.score_function import TeacherForcing
from tfcap.objectives.supervised import Supervised
