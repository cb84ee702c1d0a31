import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tests import tiny
from tfcap.decoding import Greedy
from tfcap.decoding import GroundTruth
from tfcap.decoding import Sample
from tfcap.layers import Categorical
from tfcap.objectives import DecoderBaseline
from tfcap.objectives import Episode
from tfcap.objectives import PrefixBaseline
from tfcap.objectives import ScoreFunction
from tfcap.rewards import BidirectionalContrastive
from tfcap.rewards import ConstantReward
from tfcap.training import JointTraining

REFERENCES = [[[3, 2], [4, 4]], [[2, 0], [3, 3]]]


def length(rollout, episode):
    return ops.sum(rollout.mask, axis=-1)


def likelihood(rollout, episode):
    return ops.sum(episode.log_probs(rollout), axis=-1)


class Embeds:
    embed_images = embed_texts = None


def episode(speaker=None):
    return Episode(speaker or tiny.TableSpeaker(), tiny.batch(2, REFERENCES))


def test_what_people_said_is_a_baseline():
    found = DecoderBaseline(length, GroundTruth())(np.zeros((2, 3)), episode())
    np.testing.assert_array_equal(found, [[2.0], [1.5]])


def test_the_greedy_words_are_decoded_once():
    made, greedy = episode(), Greedy(max_length=2)
    found = DecoderBaseline(length, greedy)(np.zeros((2, 3)), made)
    expected = np.sum(made.rollout(greedy).mask, axis=-1)
    np.testing.assert_array_equal(found, expected)


def test_no_gradient_passes_through_a_baseline():
    speaker = tiny.TableSpeaker()
    with tf.GradientTape() as tape:
        baseline = DecoderBaseline(likelihood, GroundTruth())
        value = ops.sum(baseline(np.zeros((2, 1)), episode(speaker)))
    assert tape.gradient(value, speaker.table.value) is None


def test_what_it_draws_goes_on_after_an_interruption():
    """Seeds of its words, and of a reward's, are saved with the model."""
    samples = [
        Sample(Categorical(seed=seed), max_length=2) for seed in range(3)
    ]
    baseline = DecoderBaseline(length, samples[1])
    contrast = BidirectionalContrastive(Embeds(), texts=[samples[2]])
    reward = ConstantReward() + 0.5 * contrast
    for made in (baseline, PrefixBaseline(baseline)):
        term = ScoreFunction(reward, samples[0], made)
        assert {*term.layers()} == {x.channel for x in samples}
        model = JointTraining(tiny.TableSpeaker(), term)
        saved = {id(variable) for variable in model.variables}
        assert all(id(x.channel.seed_generator.state) in saved for x in samples)


def test_what_decodes_nothing_is_refused():
    with pytest.raises(TypeError, match="`decoder` must be.*decoder='greedy'"):
        DecoderBaseline(length, "greedy")
