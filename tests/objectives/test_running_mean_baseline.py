"""The mean reward of the past as a baseline."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests import tiny
from tests.objectives.test_score_function import Worth
from tests.objectives.test_score_function import decoder
from tests.objectives.test_score_function import estimates
from tests.objectives.test_score_function import exact_gradient
from tfcap.objectives import Episode
from tfcap.objectives import RunningMeanBaseline
from tfcap.objectives import ScoreFunction
from tfcap.training import JointTraining


def step(baseline, rewards, training=True, rows=None):
    speaker = tiny.TableSpeaker()
    episode = Episode(
        speaker, tiny.batch(len(rewards), rows), training=training
    )
    return float(np.squeeze(baseline(np.asarray(rewards, "float32"), episode)))


def test_it_is_the_weighted_mean_of_earlier_steps():
    baseline, past = RunningMeanBaseline(0.8), []
    for mean in (3.0, -1.0, 2.0, 5.0):
        weights = 0.8 ** np.arange(len(past))[::-1]
        expected = np.average(past, weights=weights) if past else 0.0
        found = step(baseline, [[mean - 1, mean], [mean, mean + 1]])
        np.testing.assert_allclose(found, expected, atol=1e-5)
        past.append(mean)


def test_evaluation_does_not_move_it():
    baseline = RunningMeanBaseline(0.5)
    step(baseline, [[4.0]])
    assert step(baseline, [[9.0]], training=False) == 4.0
    assert step(baseline, [[9.0]], training=False) == 4.0


def test_rows_without_a_human_word_do_not_count():
    baseline = RunningMeanBaseline(0.5)
    step(baseline, [[4.0], [100.0]], rows=[[[3, 2]], [[0, 0]]])
    assert step(baseline, [[0.0]]) == 4.0


def test_the_mean_gradient_stays_the_exact_one():
    speaker = tiny.TableSpeaker(2)
    baseline = RunningMeanBaseline(0.9)
    step(baseline, [[7.0]])
    found = estimates(speaker, ScoreFunction(Worth(), decoder(3), baseline))
    error = found.std(0, ddof=1) / np.sqrt(len(found))
    gap = np.abs(found.mean(0) - exact_gradient(speaker))
    assert (gap <= 4.5 * error + 1e-6).all()


def test_it_is_part_of_a_checkpoint(tmp_path):
    def model():
        objective = ScoreFunction(Worth(), decoder(2), RunningMeanBaseline())
        made = JointTraining(tiny.TableSpeaker(), objective)
        made.compile(keras.optimizers.SGD(0.0))
        return made, objective.baseline

    trained, baseline = model()
    data = tf.data.Dataset.from_tensors(tiny.batch(6)).repeat(3)
    trained.fit(data, verbose=0, shuffle=False)
    value = float(baseline.value())
    assert value != 0.0
    trained.save_weights(tmp_path / "checkpoint.weights.h5")
    other, again = model()
    other.load_weights(tmp_path / "checkpoint.weights.h5")
    assert float(again.value()) == value


@pytest.mark.parametrize("momentum", [0, 1, 1.5])
def test_a_momentum_beyond_its_bounds_is_refused(momentum):
    with pytest.raises(ValueError, match="`momentum` must be in"):
        RunningMeanBaseline(momentum)


@pytest.mark.parametrize("worth", [np.nan, np.inf])
def test_a_reward_that_is_not_finite_leaves_it_as_it_was(worth):
    baseline = RunningMeanBaseline(0.5)
    step(baseline, [[4.0]])
    step(baseline, [[worth], [1.0]])
    assert step(baseline, [[0.0]]) == 4.0
