"""Captions that say nothing twice."""

import numpy as np
import pytest

from tests import tiny
from tfcap.decoding import BeamSearch
from tfcap.decoding import Greedy
from tfcap.decoding import Sample
from tfcap.decoding.rollout import NONE
from tfcap.decoding.rollout import LogitsProcessors
from tfcap.layers import Categorical


def ngrams(tokens, size):
    words = [word for word in tokens if word]
    return [tuple(words[i : i + size]) for i in range(len(words) - size + 1)]


def never_ends():
    speaker = tiny.TableSpeaker(0)
    speaker.table.assign(speaker.table - 1e4 * np.eye(5)[[tiny.EOS] * 5])
    return speaker


@pytest.mark.parametrize("size", [1, 2, 3])
def test_words_that_would_repeat_are_banned_as_a_loop_finds_them(size):
    told = np.random.default_rng(size).integers(3, 6, (200, 7))
    logits = np.zeros((200, 6), "float32")
    processors = LogitsProcessors(no_repeat_ngram=size)
    found = np.array(processors.apply(logits, told, 7)) < -1e6
    for row, banned in zip(told, found):
        seen = set(ngrams(row, size))
        tail = tuple(row[len(row) - size + 1 :])
        expected = [(*tail, word) in seen for word in range(6)]
        np.testing.assert_array_equal(banned, expected)


def test_too_few_words_leave_logits_alone_and_so_does_none():
    logits = np.zeros((2, 5), "float32")
    processors = LogitsProcessors(no_repeat_ngram=2)
    found = processors.apply(logits, np.full((2, 1), 3), 1)
    np.testing.assert_array_equal(found, logits)
    assert NONE.apply(logits, np.full((2, 4), 3), 4) is logits


@pytest.mark.parametrize(
    "decoder",
    [
        Greedy(5, no_repeat_ngram=2),
        Sample(Categorical(seed=0), 4, 5, no_repeat_ngram=2),
        BeamSearch(3, 5, no_repeat_ngram=2),
    ],
)
def test_no_decoder_says_an_ngram_twice(decoder):
    # Two words that are left make four bigrams: five words in a row.
    speaker = never_ends()
    said = tiny.decode(decoder, speaker, 6)
    for tokens in np.array(said.tokens).reshape(-1, 5):
        found = ngrams(tokens, 2)
        assert len(found) == 4 and len(set(found)) == len(found)
    plain = tiny.decode(type(decoder)(max_length=5), speaker, 6)
    assert any(
        len(set(ngrams(tokens, 2))) < 4
        for tokens in np.array(plain.tokens).reshape(-1, 5)
    )


def test_continuations_do_not_look_back():
    speaker, decoder = tiny.TableSpeaker(), Sample(no_repeat_ngram=3)
    state = speaker.begin(tiny.batch(2))
    said = decoder.decode(speaker, state)
    with pytest.raises(ValueError, match="must be 0 for continuations"):
        decoder.continuations(speaker, state, said)
