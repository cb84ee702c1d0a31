import numpy as np
from keras import ops

from tests import tiny
from tfcap.decoding import GroundTruth
from tfcap.objectives import Episode
from tfcap.objectives import ScoreFunction
from tfcap.objectives import TeacherForcing
from tfcap.rewards import ConstantReward


def test_a_constant_reward_on_ground_truth_is_cross_entropy():
    speaker = tiny.TableSpeaker()
    references = [[[3, 2]], [[2, 0]], [[0, 0]]]
    inputs = tiny.batch(3, references)
    table = ops.convert_to_numpy(speaker.table)
    expected = -np.mean(
        [np.log(tiny.probability(table, c)) for c in ([3, 2], [2])]
    )
    for objective in (
        TeacherForcing(),
        ScoreFunction(ConstantReward(1.0), GroundTruth()),
    ):
        loss, _ = objective.loss(Episode(speaker, inputs))
        np.testing.assert_allclose(loss, expected, rtol=1e-5, atol=1e-6)
    per_token, _ = TeacherForcing("token").loss(Episode(speaker, inputs))
    np.testing.assert_allclose(
        per_token, expected * 2 / 3, rtol=1e-5, atol=1e-6
    )
