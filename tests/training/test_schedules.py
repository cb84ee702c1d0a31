"""Schedules that parts of an objective hold: one step is one training step."""

import math

import keras
import numpy as np
import pytest

from tests import tiny
from tests.testing import tf
from tests.training.test_joint_training import judged_by
from tfcap.decoding import Sample
from tfcap.decoding import ScheduledSampling
from tfcap.layers import Categorical
from tfcap.objectives import DecoderBaseline
from tfcap.objectives import ScoreFunction
from tfcap.objectives import TeacherForcing
from tfcap.rewards import ConstantReward
from tfcap.training import ExponentialTemperature
from tfcap.training import JointTraining
from tfcap.training import Learner

DATA = tiny.batch(4, [[[3, 4, 2]]] * 4)


def rising(step):
    return keras.ops.minimum(0.5, step / 10)


def cooling():
    return Categorical(lambda step: 1.0 / (1 + step), seed=0)


def game(every):
    speaker, other = tiny.TableSpeaker(), tiny.TableSpeaker(1)
    sample = Sample(cooling(), 2, 3)
    decoder = ScheduledSampling(rising)
    objective = TeacherForcing(decoder=decoder)
    objective += ScoreFunction(ConstantReward(), sample)
    learners = {
        "one": Learner(speaker, objective, None, every),
        "two": Learner(other, judged_by(other), None, every, every - 1),
    }
    model = JointTraining(speaker, learners)
    return model, {"one": "sgd", "two": "sgd"}


def alone():
    # The same channel in two decoders, and one that is a baseline's alone.
    channel, speaker = cooling(), tiny.TableSpeaker()
    baseline = DecoderBaseline(ConstantReward(), Sample(cooling(), 1, 2))
    objective = ScoreFunction(ConstantReward(), Sample(channel, 2, 3), baseline)
    objective += ScoreFunction(
        ConstantReward(), Sample(channel, 1, 3), name="more"
    )
    model = JointTraining(speaker, objective)
    model.baseline = baseline.decoder.channel
    return model, "sgd"


@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.parametrize("every", [1, 2])
def test_every_step_of_a_game_moves_all_schedules(every, eager):
    model, optimizers = game(every)
    model.compile(optimizers, run_eagerly=eager)
    data = tf.data.Dataset.from_tensors(DATA).repeat(4)
    history = model.fit(data, epochs=2, shuffle=False, verbose=0).history
    # The values of the last step of every epoch.
    np.testing.assert_allclose(history["scheduled_sampling"], [0.3, 0.5])
    np.testing.assert_allclose(history["temperature"], [1 / 4, 1 / 8])
    assert [int(part.step) for part in model.scheduled()] == [8, 8]
    model.evaluate(DATA, verbose=0)
    assert [int(part.step) for part in model.scheduled()] == [8, 8]


def test_a_part_that_is_used_twice_moves_once():
    model, optimizer = alone()
    model.compile(optimizer, run_eagerly=True)
    for _ in range(3):
        logs = model.train_on_batch(DATA, return_dict=True)
    assert logs["temperature"] == pytest.approx(1 / 3)
    assert int(model.scheduled()[0].step) == int(model.baseline.step) == 3


def test_a_decoder_that_is_also_the_baselines_is_logged_once():
    def term():
        decoder = ScheduledSampling(rising)
        baseline = DecoderBaseline(ConstantReward(), decoder)
        return ScoreFunction(ConstantReward(), decoder, baseline)

    # A sum of terms, and one term.
    for objective in (term(), 0.5 * term()):
        assert len(objective.layers()) == 1
        model = JointTraining(tiny.TableSpeaker(), objective)
        assert list(model.scheduled_values()) == ["scheduled_sampling"]


def test_temperature_cools_to_its_floor():
    schedule = ExponentialTemperature(2.0, rate=0.1, minimum=0.5)
    for step in range(30):
        expected = max(0.5, 2.0 * math.exp(-0.1 * step))
        assert float(schedule(step)) == pytest.approx(expected)
    assert float(schedule(29)) == 0.5


@pytest.mark.parametrize("minimum", [0.0, 1.5])
def test_a_floor_above_the_start_or_at_zero_is_refused(minimum):
    with pytest.raises(ValueError, match="`minimum` must be positive and at"):
        ExponentialTemperature(1.0, minimum=minimum)
