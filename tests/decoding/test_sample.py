import numpy as np
import pytest
from keras import ops

from tests import tiny
from tfcap.decoding import Sample
from tfcap.decoding import stepwise_log_probs
from tfcap.layers import Categorical
from tfcap.layers import GumbelSoftmaxST
from tfcap.layers import PartialSamplingST

ROWS = 4000


def rollout(channel, rows=ROWS, speaker=None, max_length=2, **options):
    speaker = speaker or tiny.TableSpeaker()
    decoder = Sample(channel, max_length=max_length, **options)
    return speaker, tiny.decode(decoder, speaker, rows)


@pytest.mark.parametrize(
    "channel",
    [
        Categorical(seed=0),
        PartialSamplingST(0.0, seed=0),
        GumbelSoftmaxST(seed=0),
    ],
)
def test_every_caption_comes_as_often_as_the_speaker_means_it(channel):
    speaker, said = rollout(channel, rows=20_000)
    table = ops.convert_to_numpy(speaker.table)
    tokens = ops.convert_to_numpy(said.tokens)[:, 0]
    for caption in tiny.captions():
        p = tiny.probability(table, caption)
        tiny.assert_as_often((tokens == caption).all(-1), p)


def test_log_probs_are_those_of_the_words_that_were_said():
    speaker, said = rollout(Categorical(seed=1), num_samples=3, rows=16)
    assert said.tokens.shape == (16, 3, 2)
    state = speaker.begin(tiny.batch(16))
    again = stepwise_log_probs(speaker, state, said.tokens)
    np.testing.assert_allclose(said.log_probs, again, atol=1e-6)


def test_nothing_is_said_after_the_end():
    _, said = rollout(PartialSamplingST(0.3, seed=2), max_length=6, rows=500)
    tokens, mask = np.array(said.tokens), np.array(said.mask)
    ended = np.cumsum(tokens == tiny.EOS, -1) - (tokens == tiny.EOS) > 0
    assert ended.any()
    assert (tokens[ended] == 0).all() and (mask[ended] == 0).all()
    assert (np.array(said.words)[ended] == 0).all()
    assert (np.array(said.log_probs)[ended] == 0).all()


def test_whole_distributions_end_where_the_drawn_word_ends():
    _, said = rollout(PartialSamplingST(1.0, seed=2), rows=ROWS, max_length=1)
    table = ops.convert_to_numpy(tiny.TableSpeaker().table)
    p = tiny.probability(table, (tiny.EOS,))
    tiny.assert_as_often(np.array(said.tokens) == tiny.EOS, p)
    assert not said.discrete


def test_relaxed_feedback_hands_the_words_themselves_back():
    heard = []

    class Listening(tiny.TableSpeaker):
        def step(self, words, state, training=False):
            heard.append(words)
            return super().step(words, state, training)

    speaker = Listening()
    state = speaker.begin(tiny.batch(8))
    decoder = Sample(GumbelSoftmaxST(seed=0), max_length=2, feedback="relaxed")
    said = decoder.decode(speaker, state)
    np.testing.assert_array_equal(heard[1], said.words[:, 0, 0])
    heard.clear()
    Sample(GumbelSoftmaxST(seed=0), max_length=2).decode(speaker, state)
    assert heard[1].shape == (8,)
