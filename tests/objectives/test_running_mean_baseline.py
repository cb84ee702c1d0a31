"""The mean reward of the past as a baseline."""

import numpy as np
import pytest

from tests import tiny
from tests.enumerated import Worth
from tests.enumerated import assert_unbiased
from tests.enumerated import estimates
from tests.enumerated import exact_gradient
from tests.enumerated import worth
from tests.objectives.test_score_function import decoder
from tfcap.objectives import Episode
from tfcap.objectives import RunningMeanBaseline
from tfcap.objectives import ScoreFunction
from tfcap.training import JointTraining


def step(baseline, rewards, training=True, rows=None):
    inputs = tiny.batch(len(rewards), rows)
    episode = Episode(tiny.TableSpeaker(), inputs, training=training)
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
    for _ in range(2):
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
    assert_unbiased(found, exact_gradient(speaker, worth), 0.1)


def test_it_is_saved_with_the_model():
    baseline = RunningMeanBaseline(0.5)
    objective = ScoreFunction(Worth(), decoder(2), baseline)
    model = JointTraining(tiny.TableSpeaker(), objective)
    (layer,) = baseline.layers
    assert {*map(id, layer.variables)} <= {*map(id, model.variables)}
    step(baseline, [[4.0]])
    assert float(baseline.value()) == 4.0
    # All that it knows is in these variables.
    for variable in layer.variables:
        variable.assign(0 * variable)
    assert float(baseline.value()) == 0.0


@pytest.mark.parametrize("momentum", [0, 1])
def test_a_momentum_beyond_its_bounds_is_refused(momentum):
    with pytest.raises(ValueError, match="`momentum` must be in"):
        RunningMeanBaseline(momentum)


@pytest.mark.parametrize("worth", [np.nan, np.inf])
def test_a_reward_that_is_not_finite_leaves_it_as_it_was(worth):
    baseline = RunningMeanBaseline(0.5)
    step(baseline, [[4.0]])
    step(baseline, [[worth], [1.0]])
    assert step(baseline, [[0.0]]) == 4.0
