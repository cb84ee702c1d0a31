import numpy as np
import pytest

from tests import tiny
from tfcap.decoding import GroundTruth
from tfcap.objectives import DecoderBaseline
from tfcap.objectives import Episode
from tfcap.objectives import PrefixBaseline
from tfcap.rewards import Constant


def test_a_word_is_held_against_what_was_expected_before_it():
    credit = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")
    found = np.array(PrefixBaseline()(credit, None))
    for row, s, t in np.ndindex(credit.shape):
        wanted = credit[row, s, t - 1] if t else 0.0
        assert found[row, s, t] == np.float32(wanted)


def test_the_first_word_is_held_against_what_is_given():
    episode = Episode(tiny.TableSpeaker(), tiny.batch(2, [[[3]], [[4]]]))
    first = DecoderBaseline(Constant(7.0), GroundTruth())
    found = PrefixBaseline(first)(np.zeros((2, 3, 2), "float32"), episode)
    np.testing.assert_array_equal(found, [[[7, 0]] * 3] * 2)


def test_rewards_of_sentences_have_no_prefix():
    with pytest.raises(ValueError, match=r"for every word.*shape \(2, 3\)"):
        PrefixBaseline()(np.zeros((2, 3)), None)
