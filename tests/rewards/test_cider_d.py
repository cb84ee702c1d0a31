import re
import types

import keras
import numpy as np
import pytest

from tests import captions
from tfcap import text
from tfcap.rewards import CIDErD

BATCH = captions.Batch()


def cider_d(*arguments, **options):
    """The reward, operation by operation: quicker for a single batch."""
    return CIDErD(*arguments, jit_compile=False, **options)


def score(reward, batch=BATCH):
    return captions.score(reward, batch)


def of_host(batch, table, count_eos=True, **options):
    aligned = batch.aligned(count_eos)
    return text.cider_d(*aligned, document_frequencies=table, **options).each


@pytest.mark.parametrize("jit_compile", [True, False])
@pytest.mark.parametrize("count_eos", [True, False])
def test_values_are_those_of_the_host(count_eos, jit_compile):
    table = captions.frequencies(count_eos=count_eos)
    found = score(CIDErD(table, jit_compile=jit_compile))
    wanted = of_host(BATCH, table, count_eos)
    assert wanted.max() > 5 * wanted.mean() > 0
    np.testing.assert_allclose(found.ravel(), wanted, rtol=1e-5, atol=1e-6)


def test_rare_ngrams_keep_their_digits_where_most_are_everywhere():
    # log(1000) - log(999) in float32 would be off in the fourth digit.
    documents = [[["a", "dog"]]] * 999 + [[["a", "cat"]]]
    table = text.DocumentFrequencies.from_references(
        documents, captions.VOCABULARY, count_eos=False
    )
    tokens = captions.encode([["dog", "a", "dog", "on"]], 5)[:, None]
    human = captions.encode([["a", "dog", "on"], ["dog"]], 5)[None]
    found = cider_d(table)(captions.rollout(tokens), captions.episode(human))
    wanted = text.cider_d(
        [captions.ids(tokens[0, 0], False)],
        [[captions.ids(row, False) for row in human[0]]],
        document_frequencies=table,
    )
    np.testing.assert_allclose(
        found[0, 0], wanted.each[0], rtol=1e-5, atol=1e-6
    )


def test_golden_values_of_pycocoevalcap():
    references = [
        ["a man rides a horse", "a man on a horse"],
        ["two dogs play", "dogs playing on grass"],
        ["a red bus on the street", "the bus is red"],
    ]
    said = ["a man rides a horse", "dogs on the grass", "a bus"]
    references = [[c.split() for c in r] for r in references]
    words = {w for r in references for c in r for w in c}
    vocabulary = text.Vocabulary(sorted(words))
    table = text.DocumentFrequencies.from_references(
        references, vocabulary, count_eos=False
    )
    encode = vocabulary.encode_batch
    tokens = encode([c.split() for c in said], 6, eos=True)[:, None]
    human = np.stack([encode(r, 6, eos=True) for r in references])
    episode = captions.episode(human)
    episode.speaker.vocabulary_size = vocabulary.size
    found = cider_d(table)(captions.rollout(tokens), episode)
    wanted = [6.68411278, 1.24425297, 1.07925500]
    np.testing.assert_allclose(found[:, 0], wanted, rtol=1e-6, atol=1e-6)


def test_a_reference_itself_is_worth_ten_and_strange_words_nothing():
    captions_ = [["red", "bus", "on", "grass"]]
    human = captions.encode(captions_, 5)[None]
    tokens = np.array([[human[0, 0], [3, 3, 3, 3, 2], [2, 0, 0, 0, 0]]])
    reward = cider_d(captions.frequencies(count_eos=False))
    found = reward(captions.rollout(tokens), captions.episode(human))
    np.testing.assert_allclose(found, [[10.0, 0.0, 0.0]], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("longest, sigma", [(8, 2.0), (31, 6.0), (40, 6.0)])
def test_long_captions_and_any_sigma_are_scored_as_exactly(longest, sigma):
    batch, table = captions.Batch(longest=longest), captions.frequencies()
    wanted = of_host(batch, table, sigma=sigma)
    found = score(cider_d(table, sigma=sigma), batch)
    np.testing.assert_allclose(found.ravel(), wanted, rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="`sigma` must be positive"):
        CIDErD(table, sigma=0)


def test_document_frequencies_of_other_words_are_refused():
    table = captions.frequencies()
    others = text.Vocabulary(captions.WORDS[::-1])
    rollout = captions.rollout(BATCH.tokens)
    episode = captions.episode(BATCH.human)
    reward = cider_d(table, vocabulary=others)
    with pytest.raises(ValueError, match="must be the one that the document"):
        reward(rollout, episode)
    reward = cider_d(table)
    wanted = reward(rollout, episode)
    layer = keras.layers.StringLookup(
        vocabulary=["<bos>", "<eos>", "more", *captions.WORDS]
    )
    for strange in others, text.as_vocabulary(layer):
        episode.speaker.vocabulary = strange
        with pytest.raises(ValueError, match=re.escape(repr(strange))):
            reward(rollout, episode)
    same = text.Vocabulary(captions.WORDS)
    decoder = types.SimpleNamespace(decode=same.decode)
    fewer = text.Vocabulary(captions.WORDS[:-1])
    for episode.speaker.vocabulary in same, decoder, fewer:
        np.testing.assert_array_equal(reward(rollout, episode), wanted)
    episode.speaker.vocabulary_size += 1
    with pytest.raises(ValueError, match="`document_frequencies` must be tho"):
        reward(rollout, episode)
