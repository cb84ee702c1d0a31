from types import SimpleNamespace as Namespace

import numpy as np
import pytest

from tests import tiny
from tfcap.decoding import GroundTruth
from tfcap.decoding import Sample
from tfcap.objectives import DecoderBaseline
from tfcap.objectives import Episode
from tfcap.objectives import MonteCarlo
from tfcap.objectives import PrefixBaseline
from tfcap.objectives import RunningMeanBaseline
from tfcap.objectives import ScoreFunction
from tfcap.rewards import ConstantReward


def test_a_word_is_held_against_what_was_expected_before_it():
    credit = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")
    found = np.array(PrefixBaseline()(credit, None))
    for row, s, t in np.ndindex(credit.shape):
        wanted = credit[row, s, t - 1] if t else 0.0
        assert found[row, s, t] == np.float32(wanted)


def test_the_first_word_is_held_against_what_is_given():
    episode = Episode(tiny.TableSpeaker(), tiny.batch(2, [[[3]], [[4]]]))
    first = DecoderBaseline(ConstantReward(7.0), GroundTruth())
    found = PrefixBaseline(first)(np.zeros((2, 3, 2), "float32"), episode)
    np.testing.assert_array_equal(found, [[[7, 0]] * 3] * 2)


def test_rewards_of_sentences_have_no_prefix():
    with pytest.raises(ValueError, match=r"for every word.*shape \(2, 3\)"):
        PrefixBaseline()(np.zeros((2, 3)), None)


def test_where_beginnings_are_skipped_it_is_what_the_last_one_was_worth():
    credit = np.arange(1.0, 8.0, dtype="float32")[None, None]

    def found(every):
        episode = Namespace(credit=MonteCarlo(1, rollout_every=every))
        return PrefixBaseline()(credit, episode)[0, 0]

    np.testing.assert_array_equal(found(3), [0, 0, 0, 3, 3, 3, 6])
    np.testing.assert_array_equal(found(9), np.zeros(7))


def test_the_baseline_of_the_first_word_may_hold_layers():
    first = RunningMeanBaseline(momentum=0.5)
    baseline = PrefixBaseline(first)
    assert baseline.layers == first.layers
    objective = ScoreFunction(
        ConstantReward(7.0),
        Sample(max_length=3),
        baseline,
        credit=MonteCarlo(1),
    )
    assert first.layers[0] in objective.layers()
    episode = Episode(tiny.TableSpeaker(), tiny.batch(2), training=True)
    objective.loss(episode)
    found = baseline(np.zeros((2, 3, 2), "float32"), episode)
    np.testing.assert_array_equal(found, [[[7, 0]] * 3] * 2)
