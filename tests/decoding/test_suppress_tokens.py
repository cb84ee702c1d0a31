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


def likes(word, scale=3.0):
    """A speaker that would say one word again and again."""
    speaker = tiny.TableSpeaker(1)
    speaker.table.assign(speaker.table + scale * np.eye(5)[[word] * 5])
    return speaker


def without(speaker, last):
    """Log probabilities of the words that are left, after `last`."""
    logits = ops.convert_to_numpy(speaker.table)[last]
    left = [word for word in tiny.WORDS if word != UNSAID]
    scores = logits[left] - np.log(np.exp(logits[left]).sum())
    return dict(zip(left, scores))


def decode(decoder, speaker, rows=300):
    return decoder.decode(speaker, speaker.begin(tiny.batch(rows)))


DECODERS = [
    Greedy(3, suppress=(UNSAID,)),
    Sample(Categorical(seed=0), 2, 3, suppress=(UNSAID,)),
    Sample(GumbelSoftmaxST(seed=0), 2, 3, suppress=[UNSAID]),
    Sample(PartialSamplingST(0.5, seed=0), 2, 3, "relaxed", (UNSAID,)),
    BeamSearch(3, 3, suppress=(UNSAID,)),
]


@pytest.mark.parametrize("decoder", DECODERS)
def test_a_suppressed_word_is_never_said(decoder):
    speaker = likes(UNSAID)
    said = decode(type(decoder)(max_length=3), speaker)
    assert (np.array(said.tokens)[:, 0] == UNSAID).any()
    said = decode(decoder, speaker)
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
def test_log_probs_are_of_the_words_that_are_left(decoder):
    speaker = likes(UNSAID)
    said = decode(decoder, speaker, rows=4)
    for tokens, scores in zip(
        np.array(said.tokens).reshape(-1, 3),
        np.array(said.log_probs).reshape(-1, 3),
    ):
        last = tiny.BOS
        for word, score in zip(tokens, scores):
            expected = without(speaker, last)[word] if word else 0.0
            np.testing.assert_allclose(score, expected, atol=1e-5)
            last = word or last


def test_words_come_as_often_as_what_is_left_says():
    speaker = likes(UNSAID)
    decoder = Sample(Categorical(seed=0), max_length=1, suppress=(UNSAID,))
    said = np.array(decode(decoder, speaker, rows=8000).tokens)
    for word, score in without(speaker, tiny.BOS).items():
        p = np.exp(score)
        spread = np.sqrt(p * (1 - p) / 8000)
        assert abs((said == word).mean() - p) < 4.5 * spread


def test_beams_are_scored_by_what_is_left():
    speaker = likes(UNSAID)
    decoder = BeamSearch(3, 2, suppress=(UNSAID,))
    said = decode(decoder, speaker, rows=1)
    for tokens, score in zip(said.tokens.numpy()[0], said.scores.numpy()[0]):
        expected = without(speaker, tiny.BOS)[tokens[0]]
        if tokens[1]:
            expected += without(speaker, tokens[0])[tokens[1]]
        np.testing.assert_allclose(score, expected, atol=1e-5)


def test_no_gradient_reaches_a_suppressed_word():
    speaker = likes(UNSAID)
    decoder = Sample(
        PartialSamplingST(1.0, seed=0), max_length=2, suppress=(UNSAID,)
    )
    with tf.GradientTape() as tape:
        loss = ops.sum(decode(decoder, speaker, 4).words[..., 3])
    gradient = np.array(tape.gradient(loss, speaker.table.value))
    assert np.isfinite(gradient).all() and np.abs(gradient).max() > 0
    assert (gradient[:, UNSAID] == 0).all()


def test_nothing_to_suppress_leaves_logits_alone():
    logits = ops.convert_to_tensor(np.zeros((2, 5)), "float16")
    assert suppress_tokens(logits, ()) is logits
    found = suppress_tokens(logits, (1, 3))
    assert found.dtype == "float32"
    np.testing.assert_array_equal(found, [[0, -1e9, 0, -1e9, 0]] * 2)


@pytest.mark.parametrize("suppress", [3, (-1,), ("UNK",), (1.5,), None])
@pytest.mark.parametrize("decoder", [Greedy, Sample, BeamSearch])
def test_what_is_no_word_id_is_refused(decoder, suppress):
    with pytest.raises(ValueError, match="`suppress` must be a tuple"):
        decoder(suppress=suppress)


def test_ids_outside_the_vocabulary_are_refused():
    with pytest.raises(ValueError, match=r"`suppress`.*\(3, 9\) with 5 words"):
        decode(Greedy(2, suppress=(3, 9)), tiny.TableSpeaker())
