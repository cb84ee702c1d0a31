import keras
import numpy as np
import pytest

from tests import tiny
from tfcap.decoding import Sample
from tfcap.layers import Categorical
from tfcap.objectives import Episode
from tfcap.objectives import ScoreFunction
from tfcap.objectives import TeacherForcing
from tfcap.objectives.score_function import SupervisedLoss
from tfcap.rewards import ConstantReward

REFERENCES = [[[3, 2]], [[2, 0]]]


def loss(objective):
    inputs = tiny.batch(2, REFERENCES)
    return objective.loss(Episode(tiny.TableSpeaker(), inputs))


def test_sums_and_weights_are_those_of_arithmetic():
    one, _ = loss(TeacherForcing())
    mixed, logs = loss(2.0 * (0.5 * TeacherForcing() + TeacherForcing()))
    np.testing.assert_allclose(mixed, 3.0 * one, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(
        logs["teacher_forcing_2"], one, rtol=1e-6, atol=1e-6
    )
    zero, _ = loss(TeacherForcing() - TeacherForcing())
    np.testing.assert_allclose(zero, 0.0, atol=1e-6)


def test_a_variable_weight_is_read_at_every_step():
    weight = keras.Variable(0.5)
    objective = TeacherForcing() * weight
    before, _ = loss(objective)
    weight.assign(2.0)
    after, _ = loss(objective)
    np.testing.assert_allclose(after, 4 * before, rtol=1e-6, atol=1e-6)
    with pytest.raises(ValueError, match="`weight` must scale an unwei"):
        (0.5 * TeacherForcing()) * weight


def test_terms_with_one_decoder_share_one_rollout():
    calls = []

    class Counting(Sample):
        def decode(self, *args, **kwargs):
            calls.append(1)
            return super().decode(*args, **kwargs)

    shared = Counting(Categorical(seed=0), max_length=2)
    loss(
        ScoreFunction(ConstantReward(), shared)
        + SupervisedLoss(
            lambda e: e.rollout(shared).mask[..., 0], "mask", (shared,)
        )
    )
    assert len(calls) == 1


def test_layers_are_listed_once():
    shared = Sample(Categorical(seed=0), max_length=2)
    objective = ScoreFunction(ConstantReward(), shared) + ScoreFunction(
        ConstantReward(), shared
    )
    assert objective.layers() == [shared.channel]


def test_only_objectives_are_added():
    with pytest.raises(TypeError):
        TeacherForcing() + 3
