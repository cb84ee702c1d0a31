"""Words that a decoder never says."""

import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tests import tiny
from tfcap.decoding import BeamSearch
from tfcap.decoding import Greedy
from tfcap.decoding import Sample
from tfcap.decoding.rollout import suppress_tokens
from tfcap.layers import Categorical
from tfcap.layers import GumbelSoftmaxST
from tfcap.layers import PartialSamplingST

UNSAID = 4


@pytest.fixture
def speaker():
    """It would say one word again and again."""
    speaker = tiny.TableSpeaker(1)
    speaker.table.assign(speaker.table + 3 * np.eye(5)[[UNSAID] * 5])
    return speaker


def without(speaker, last):
    """Log probabilities of the words that are left, after `last`."""
    left = [word for word in tiny.WORDS if word != UNSAID]
    return tiny.scores(np.array(speaker.table)[last], left)


DECODERS = [
    Greedy(3, suppress=(UNSAID,)),
    Sample(Categorical(seed=0), 2, 3, suppress=(UNSAID,)),
    Sample(GumbelSoftmaxST(seed=0), 2, 3, suppress=[UNSAID]),
    Sample(PartialSamplingST(0.5, seed=0), 2, 3, "relaxed", (UNSAID,)),
    BeamSearch(3, 3, suppress=(UNSAID,)),
]


@pytest.mark.parametrize("decoder", DECODERS)
def test_a_suppressed_word_is_never_said(speaker, decoder):
    said = tiny.decode(type(decoder)(max_length=3), speaker, 300)
    assert (np.array(said.tokens)[:, 0] == UNSAID).any()
    said = tiny.decode(decoder, speaker, 300)
    tokens = np.array(said.tokens)
    if said.words is not None:
        assert (tokens != UNSAID).all()
        assert (np.array(said.words)[..., UNSAID] == 0).all()
        sums = np.array(said.words).sum(-1)
        np.testing.assert_allclose(sums, said.mask, rtol=1e-5, atol=1e-6)
    else:
        alive = np.array(said.scores) > -1e6
        assert alive[:, :2].all()
        assert (tokens[alive] != UNSAID).all()


@pytest.mark.parametrize("decoder", DECODERS[:3])
def test_log_probs_are_of_the_words_that_are_left(speaker, decoder):
    said = tiny.decode(decoder, speaker, 4)
    for tokens, scores in zip(
        np.array(said.tokens).reshape(-1, 3),
        np.array(said.log_probs).reshape(-1, 3),
    ):
        last = tiny.BOS
        for word, score in zip(tokens, scores):
            expected = without(speaker, last)[word] if word else 0.0
            np.testing.assert_allclose(score, expected, atol=1e-5)
            last = word or last


def test_words_come_as_often_as_what_is_left_says(speaker):
    decoder = Sample(Categorical(seed=0), max_length=1, suppress=(UNSAID,))
    said = np.array(tiny.decode(decoder, speaker, 8000).tokens)
    for word, score in without(speaker, tiny.BOS).items():
        tiny.assert_as_often(said == word, np.exp(score))


def test_beams_are_scored_by_what_is_left(speaker):
    decoder = BeamSearch(3, 2, suppress=(UNSAID,))
    said = tiny.decode(decoder, speaker, 1)
    for tokens, score in zip(said.tokens.numpy()[0], said.scores.numpy()[0]):
        expected = without(speaker, tiny.BOS)[tokens[0]]
        if tokens[1]:
            expected += without(speaker, tokens[0])[tokens[1]]
        np.testing.assert_allclose(score, expected, atol=1e-5)


def test_no_gradient_reaches_a_suppressed_word(speaker):
    decoder = Sample(
        PartialSamplingST(1.0, seed=0), max_length=2, suppress=(UNSAID,)
    )
    with tf.GradientTape() as tape:
        loss = ops.sum(tiny.decode(decoder, speaker, 4).words[..., 3])
    gradient = np.array(tape.gradient(loss, speaker.table.value))
    assert np.isfinite(gradient).all() and np.abs(gradient).max() > 0
    assert (gradient[:, UNSAID] == 0).all()


def test_suppressed_logits_are_in_single_precision():
    logits = ops.convert_to_tensor(np.zeros((2, 5)), "float16")
    assert suppress_tokens(logits, ()) is logits
    found = suppress_tokens(logits, (1, 3))
    assert found.dtype == "float32"
    np.testing.assert_array_equal(found, [[0, -1e9, 0, -1e9, 0]] * 2)


def test_ids_outside_the_vocabulary_are_refused():
    with pytest.raises(ValueError, match=r"`suppress`.*\(3, 9\) with 5 words"):
        tiny.decode(Greedy(2, suppress=(3, 9)), tiny.TableSpeaker())
