import itertools

import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tests import tiny
from tests.enumerated import Worth
from tests.enumerated import exact_gradient
from tests.enumerated import gradient
from tests.enumerated import worth
from tests.objectives.test_monte_carlo import Told
from tests.objectives.test_monte_carlo import expected_gradient
from tests.objectives.test_score_function import decoder
from tfcap.decoding import Greedy
from tfcap.decoding import Rollout
from tfcap.objectives import DecoderBaseline
from tfcap.objectives import Episode
from tfcap.objectives import LeaveOneOutBaseline
from tfcap.objectives import SampleMeanBaseline
from tfcap.objectives import ScoreFunction
from tfcap.rewards import PairwiseDiversity

SAMPLES = 3
DIVERSITY = PairwiseDiversity(jit_compile=False)


def test_the_mean_by_a_loop():
    rewards = np.random.default_rng(0).normal(size=(3, 4))
    found = np.asarray(SampleMeanBaseline()(rewards, None))
    assert found.shape == (3, 1)
    for row in range(3):
        np.testing.assert_allclose(
            found[row, 0], rewards[row].mean(), rtol=1e-6, atol=1e-6
        )


@pytest.mark.parametrize("kind", [SampleMeanBaseline, LeaveOneOutBaseline])
def test_the_mean_of_equal_numbers_is_that_number(kind):
    worth = np.random.default_rng(0).uniform(size=(1000, 1)).astype("float32")
    rewards = np.repeat(worth, 5, axis=1)
    found = np.broadcast_to(kind()(rewards, None), rewards.shape)
    np.testing.assert_array_equal(found, rewards)


def test_one_sample_has_no_others():
    with pytest.raises(ValueError, match="SampleMeanBaseline needs at least 2"):
        SampleMeanBaseline()(np.zeros((4, 1)), None)


def everything(speaker):
    """All that several samples can be, and the probabilities of it."""
    captions, p = tiny.captions(), np.array(tiny.chances(speaker))
    rows = itertools.product(range(len(captions)), repeat=SAMPLES)
    rows = np.array(list(rows))
    chances = p[rows].prod(axis=1)
    np.testing.assert_allclose(chances.sum(), 1.0, rtol=1e-5, atol=1e-6)
    return captions[rows], chances


def gradient_of_diversity(speaker):
    """Of the expected distance of two captions, by enumeration of both."""
    captions = tiny.captions()
    count = len(captions)
    pairs = np.array(list(itertools.product(captions, repeat=2)))
    mask = (pairs > 0).astype("float32")
    episode = Episode(speaker, tiny.batch(1))
    distance = DIVERSITY(Rollout(pairs, mask), episode)[:, 0]
    distance = ops.reshape(distance, (count, count))
    assert np.abs(np.diag(distance)).max() < 1e-5
    with tf.GradientTape() as tape:
        p = tiny.chances(speaker)
        expected = ops.sum(p[:, None] * distance * p)
    return tape.gradient(expected, speaker.table.value).numpy()


#: What is left of the gradient of what compares samples, and of others.
SHARES = {
    None: (1.0, 1.0),
    SampleMeanBaseline: (1 / 3, 2 / 3),
    LeaveOneOutBaseline: (1 / 2, 1.0),
}


@pytest.mark.parametrize("kind", SHARES)
def test_the_expected_gradient_is_a_share_of_the_exact_one(kind):
    of_pairs, of_captions = SHARES[kind]
    speaker = tiny.TableSpeaker(2)
    tokens, chances = everything(speaker)

    def found(reward):
        options = {"reward": reward, "baseline": kind and kind()}
        return -expected_gradient(speaker, Told(tokens), chances, **options)

    exact = gradient_of_diversity(speaker)
    assert np.abs(exact).max() > 0.02
    # Either caption of a pair counts: twice the term is the gradient.
    wanted = of_pairs * exact / 2
    np.testing.assert_allclose(found(DIVERSITY), wanted, atol=5e-6)
    wanted = of_captions * exact_gradient(speaker, worth)
    np.testing.assert_allclose(found(Worth()), wanted, atol=1e-5)


@pytest.mark.parametrize("distance", ["bleu", "self_bleu"])
def test_samples_that_are_all_alike_explore_nothing_however_short(distance):
    captions = [[2, 0, 0, 0], [3, 2, 0, 0], [3, 4, 2, 0], [4, 4, 4, 3]]
    told = Told(np.repeat(np.array(captions)[:, None], 5, axis=1))
    reward = PairwiseDiversity(distance)
    term = ScoreFunction(reward, told, SampleMeanBaseline())
    slope, *_ = gradient(tiny.TableSpeaker(2), term, tiny.batch(4))
    np.testing.assert_array_equal(slope, 0.0)


def test_without_exploration_it_is_sequence_level_learning():
    def explored(make):
        samples = decoder(5)
        greedy = DecoderBaseline(Worth(), Greedy(max_length=2))
        quality = ScoreFunction(Worth(), samples, greedy)
        diversity = ScoreFunction(DIVERSITY, samples, SampleMeanBaseline())
        objective = make(quality, diversity)
        return gradient(tiny.TableSpeaker(2), objective, tiny.batch(20))[0]

    plain = explored(lambda quality, diversity: quality)
    none = explored(lambda quality, diversity: quality + 0 * diversity)
    some = explored(lambda quality, diversity: 0.75 * quality + 0.5 * diversity)
    np.testing.assert_array_equal(none, plain)
    assert np.abs(some - plain).max() > 0.01
