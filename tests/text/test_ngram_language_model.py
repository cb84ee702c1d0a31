import collections
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from tests.text.scores import naive
from tfcap.text.ngrams import word_positions
from tfcap.text.training_captions import NgramLanguageModel

CORPUS = naive.split(
    ["a dog runs on the grass", "a dog runs on the beach", "the cat runs"]
    + ["a brown dog sits on the grass", "a cat sits on a mat", ""]
    + ["two dogs run on the beach"]
)


class Loops:
    """Modified Kneser-Ney from its definition: dictionaries and recursion."""

    def __init__(self, corpus, order, min_count):
        said = collections.Counter(w for words in corpus for w in words)
        self.known = {w for w, c in said.items() if c >= min_count}
        self.order, self.size = order, len(self.known) + 2
        rows = [["^", *map(self.word, words), "$"] for words in corpus]
        raw = [
            sum((naive.ngrams(row, k) for row in rows), collections.Counter())
            for k in range(1, order + 2)
        ]
        self.counts, self.cuts = [], []
        for k in range(1, order + 1):
            counts = dict(raw[k - 1])
            for gram in counts:
                if k < order and (gram[0] != "^" or k == 1):
                    counts[gram] = sum(g[1:] == gram for g in raw[k])
            counts.pop(("^",), None)
            self.counts.append(counts)
            self.cuts.append(cuts(counts.values()))

    def word(self, word):
        return word if word in self.known else "?"

    def prob(self, context, word):
        context = tuple(context)[max(len(context) - self.order + 1, 0) :]
        k = len(context)
        shorter = self.prob(context[1:], word) if k else 1 / self.size
        follow = {
            g[-1]: c for g, c in self.counts[k].items() if g[:-1] == context
        }
        total = sum(follow.values())
        if not total:
            return shorter
        cut = [0, *self.cuts[k]]
        left = sum(cut[min(c, 3)] for c in follow.values())
        count = follow.get(word, 0)
        return (count - cut[min(count, 3)] + left * shorter) / total

    def logs(self, words):
        row = ["^", *map(self.word, words), "$"]
        return [
            math.log(self.prob(row[:i], row[i])) for i in range(1, len(row))
        ]


def cuts(counts):
    n = [sum(c == k for c in counts) for k in range(5)]
    if all(n[1:]):
        y = n[1] / (n[1] + 2 * n[2])
        found = [k - (k + 1) * y * n[k + 1] / n[k] for k in (1, 2, 3)]
        if min(found) > 0:
            return found
    return [0.5, 1.0, 1.5]


@settings(max_examples=25, deadline=None)
@given(
    st.lists(naive.captions, min_size=1, max_size=12),
    st.lists(naive.captions, min_size=1, max_size=3),
    st.integers(1, 4),
    st.integers(1, 3),
)
def test_probabilities_are_those_of_the_definition(corpus, said, order, least):
    model = NgramLanguageModel(corpus, order, least)
    loops = Loops(corpus, order, least)
    found = model.log_prob(said)
    logs = [loops.logs(words) for words in said]
    np.testing.assert_allclose(found.each, [np.mean(x) for x in logs])
    np.testing.assert_allclose(found.corpus, np.mean(sum(logs, [])))


def test_discounts_of_a_larger_corpus_are_estimated():
    rng = np.random.default_rng(0)
    words = [f"w{min(i, 30)}" for i in rng.geometric(0.15, 4000)]
    corpus = [words[i : i + 8] for i in range(0, len(words), 8)]
    model = NgramLanguageModel(corpus, order=3)
    loops = Loops(corpus, 3, 2)
    np.testing.assert_allclose(model.discounts, loops.cuts)
    assert not np.allclose(model.discounts[1:], [0.5, 1.0, 1.5])
    said = [["w1", "w2", "w1"], ["w30", "never", "w2"]]
    logs = [np.mean(loops.logs(row)) for row in said]
    np.testing.assert_allclose(model.log_prob(said).each, logs)


@pytest.mark.parametrize("order", [1, 2, 4])
@pytest.mark.parametrize("least", [1, 2])
@pytest.mark.parametrize("context", ["", "a dog runs on", "mat dog zebra"])
def test_after_any_words_probabilities_sum_to_one(order, least, context):
    model = NgramLanguageModel(CORPUS, order, least)
    prefix = model._encode(context.split())[:-1]
    rows = [[*prefix, i] for i in range(1, len(model.words) + 1)]
    probs = model._probs(*word_positions(rows))[len(prefix) :: len(prefix) + 1]
    assert probs.shape == (len(model.words),)
    assert probs.min() > 0
    assert probs.sum() == pytest.approx(1)


def test_words_beyond_the_vocabulary_are_one_word():
    model = NgramLanguageModel(CORPUS, 3, min_count=2)
    assert model.words[:2] == ("<eos>", "<unk>") and "two" not in model.words
    scores = model.log_prob([["a", "zebra"], ["a", "brown"], ["a", "dog"]])
    assert scores.each[0] == scores.each[1] != scores.each[2]


def test_an_order_of_words_that_nobody_says_is_less_likely():
    model = NgramLanguageModel(CORPUS)
    natural = "a dog runs on the grass".split()
    scores = model.log_prob([natural, natural[::-1], natural[:-1]])
    assert scores.each[0] > scores.each[2] > scores.each[1]
    assert scores.corpus < 0
    with pytest.raises(ValueError, match="Received: order=0"):
        NgramLanguageModel(CORPUS, order=0)
