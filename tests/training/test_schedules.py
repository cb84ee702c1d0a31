"""Schedules that parts of an objective hold: one step is one training step."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests import tiny
from tests.training.resumed import restore
from tests.training.resumed import save
from tests.training.test_joint_training import judged_by
from tfcap.decoding import Sample
from tfcap.decoding import ScheduledSampling
from tfcap.layers import Categorical
from tfcap.objectives import DecoderBaseline
from tfcap.objectives import ScoreFunction
from tfcap.objectives import TeacherForcing
from tfcap.rewards import ConstantReward
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
    learners = {
        "one": Learner(speaker, TeacherForcing(decoder=decoder), None, every),
        "two": Learner(other, judged_by(other), None, every, every - 1),
    }
    learners["one"] = learners["one"]._replace(
        objective=TeacherForcing(decoder=decoder)
        + ScoreFunction(ConstantReward(), sample)
    )
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


def test_a_run_that_goes_on_finds_its_step(tmp_path):
    model, optimizers = game(1)
    model.compile(optimizers, run_eagerly=True)
    for _ in range(3):
        model.train_on_batch(DATA)
    save(model, 1, tmp_path)
    again, optimizers = game(1)
    again.compile(optimizers, run_eagerly=True)
    restore(again, tmp_path)
    logs = again.train_on_batch(DATA, return_dict=True)
    assert logs["scheduled_sampling"] == pytest.approx(0.3)
    assert logs["temperature"] == pytest.approx(1 / 4)
