"""Scores of n-grams for speakers whose ids are no words, or very many."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

from tests import captions
from tfcap import text
from tfcap.rewards import BLEU
from tfcap.rewards import ROUGEL
from tfcap.rewards import CIDErD
from tfcap.rewards import TextReward
from tfcap.rewards.host_words import HostWords
from tfcap.text import DocumentFrequencies

BATCH = captions.Batch()
SENTENCES = [[" ".join(c) for c in d] for d in captions.corpus()]


class Pieces:
    """Each word of `captions.WORDS` is said in two ids; the end is 3."""

    pad, bos, eos, unk, is_words = 0, 1, 3, 2, False
    size = 4 + 2 * len(captions.WORDS)

    def decode(self, ids):
        assert len(ids) % 2 == 0 and not {self.pad, self.eos} & {*ids}
        return " ".join(captions.WORDS[i // 2 - 2] for i in ids[::2])

    @staticmethod
    def of(tokens):
        """Pieces of ids of words."""
        pairs = np.stack([2 * tokens - 4, 2 * tokens - 3], axis=-1)
        pairs[tokens == captions.EOS] = Pieces.eos, Pieces.pad
        pairs[tokens == 0] = Pieces.pad
        return pairs.reshape(*tokens.shape[:-1], -1)


def scored(reward):
    """Scores of the words, each as one id."""
    return captions.score(reward, BATCH)


def scored_pieces(reward, batch=BATCH, **speaker):
    """Scores of the same words in pieces."""
    speaker = SimpleNamespace(eos=Pieces.eos, vocabulary_size=99, **speaker)
    tokens, human = Pieces.of(batch.tokens), Pieces.of(batch.human)
    ends = tokens == Pieces.eos
    mask = (np.cumsum(ends, -1) - ends == 0) & (tokens > 0)
    rollout = SimpleNamespace(tokens=tokens, mask=mask)
    episode = SimpleNamespace(speaker=speaker, inputs={"references": human})
    return reward(rollout, episode)


@pytest.mark.parametrize(
    "kind, count_eos",
    [(CIDErD, True), (CIDErD, False), (BLEU, 1), (ROUGEL, 0)],
)
def test_pieces_of_words_give_the_values_of_words(kind, count_eos):
    eos = {"count_eos": count_eos}
    over_ids, over_pieces = (), ()
    if kind is CIDErD:
        over_ids = (captions.frequencies(**eos),)
        over_pieces = (DocumentFrequencies.from_references(SENTENCES, **eos),)
        eos = {}
    if kind is not ROUGEL:
        eos["jit_compile"] = False
    wanted = scored(kind(*over_ids, **eos))
    assert wanted.std() > 0.1
    found = scored_pieces(kind(*over_pieces, vocabulary=Pieces(), **eos))
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_the_vocabulary_is_that_of_the_speaker_also_in_a_graph():
    reward = BLEU(2, jit_compile=False)
    graph = tf.function(scored_pieces, autograph=False)
    found = graph(reward, vocabulary=Pieces())
    assert found.shape == BATCH.tokens.shape[:2]
    np.testing.assert_allclose(found, scored(reward), rtol=1e-5, atol=1e-6)


def test_unknown_words_are_told_apart_and_absent_captions_are_none():
    class Letters:
        is_words = False

        def decode(self, ids):
            return "".join(map(chr, ids))

    reader = HostWords(Letters(), ["red", "bus"])
    rows = [np.full((1, n, 7), -1, "int32") for n in (1, 2)]
    rows[0][0, 0, :6] = [*map(ord, "x y z"), 2]
    rows[1][0, 0, :7] = [*map(ord, "y bus x")]
    found = reader.read(*rows, eos=[2])
    assert found.shape == (1, 3, 11)
    assert found[0, :, :5].tolist() == [
        [6, 7, 8, 2, -1],
        [7, 5, 6, -1, -1],
        [-1, -1, -1, -1, -1],
    ]


def test_frequencies_of_strings_count_words_of_several_documents(tmp_path):
    table = DocumentFrequencies.from_references(SENTENCES)
    words = captions.frequencies()
    assert len(table) == len(words) and (table.counts >= 2).all()
    rare = [*SENTENCES, ["one odd word"], ["A DOG."]]
    more = DocumentFrequencies.from_references(rare)
    assert {*more.words} == {*table.words}
    every = DocumentFrequencies.from_references(rare, min_count=1)
    assert {"odd", "one", "word"} < {*every.words}
    said = [c.split() for d in SENTENCES[:9] for c in d] + [["one", "dog"]]
    human = [[c.split() for c in SENTENCES[i % 9]] for i in range(len(said))]
    each = [text.cider_d(said, human, x).each for x in (more, every)]
    np.testing.assert_allclose(each[0], each[1], rtol=1e-12)
    encoded = captions.VOCABULARY.encode
    wanted = text.cider_d(
        [encoded(c, eos=True) for c in said],
        [[encoded(c, eos=True) for c in several] for several in human],
        words,
    ).each[:-1]
    found = text.cider_d(said, human, table).each[:-1]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    more.save(tmp_path / "table")
    again = DocumentFrequencies.load(tmp_path / "table")
    assert again.words == more.words and (again.keys == more.keys).all()


def test_too_many_ids_are_refused():
    vocabulary = text.Vocabulary(map(str, range(65_535)))
    with pytest.raises(
        ValueError, match="`vocabulary` must have at most 65534"
    ):
        DocumentFrequencies.from_references([[["1"]], [["2"]]], vocabulary)


def test_counts_of_ids_are_refused_for_pieces_and_strings_without_words():
    counted = CIDErD(captions.frequencies(), vocabulary=Pieces())
    with pytest.raises(ValueError, match="counts of ids. Count"):
        scored_pieces(counted)
    strings = CIDErD(DocumentFrequencies.from_references(SENTENCES))
    wanted = "a `vocabulary` of the reward 'cider_d'"
    with pytest.raises(ValueError, match=re.escape(wanted)):
        scored_pieces(strings)
    ids = [[[5, 6]]] * 2
    with pytest.raises(TypeError, match="must be given where captions are ids"):
        DocumentFrequencies.from_references(ids)
    with pytest.raises(TypeError, match="list of captions for every document"):
        DocumentFrequencies.from_references(["a dog", "a cat"])


def test_a_reward_of_strings_takes_a_tokenizer():
    keras = pytest.importorskip("keras")
    layer = keras.layers.TextVectorization(
        standardize=None, vocabulary=["<s>", "</s>", "red", "bus"]
    )
    reward = TextReward(lambda captions: [len(x) for x in captions], layer)
    tokens = np.array([[[4, 5, 3], [5, 3, 0]]])
    speaker = SimpleNamespace(eos=3)
    rollout = SimpleNamespace(tokens=tokens, mask=tokens > 0)
    found = reward(rollout, SimpleNamespace(speaker=speaker, inputs={}))
    np.testing.assert_array_equal(found, [[7, 3]])
