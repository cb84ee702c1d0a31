import collections
import math

import numpy as np
import pytest
from hypothesis import given

from tests.text.scores import naive
from tfcap.text.scores.cider import cider_r


def penalty(candidate, reference):
    ours = collections.Counter(candidate)
    theirs = collections.Counter(reference)
    logs = [
        math.log(1 + (abs(theirs[w] - n) if w in theirs else n - 1))
        for w, n in ours.items()
    ]
    repetition = math.exp(-sum(logs) / max(len(logs), 1))
    lengths = [max(len(words), 1) for words in (candidate, reference)]
    length = math.exp(-(((lengths[0] - lengths[1]) / lengths[1]) ** 2))
    return repetition**0.8 * length**0.2


def test_cider_r_gives_the_golden_values_of_the_reference_code():
    # The reference code gives nan to the empty caption.
    golden = naive.GOLDEN["scores"]["cider_r"]["each"]
    wanted = [0 if value is None else value for value in golden]
    scores = cider_r(naive.CANDIDATES, naive.REFERENCES)
    np.testing.assert_allclose(scores.each, wanted, atol=1e-11)
    assert scores.corpus == pytest.approx(np.mean(wanted))


@given(naive.corpora(least=2))
def test_cider_r_is_that_of_a_loop_over_dictionaries(corpus):
    frequencies = naive.document_frequencies(corpus[1])
    wanted = [
        naive.cider(c, r, frequencies, len(corpus[0]), True, penalty)
        for c, r in zip(*corpus)
    ]
    scores = cider_r(*corpus)
    np.testing.assert_allclose(scores.each, wanted, atol=1e-12)


def test_punctuation_may_repeat():
    references = [[list("abcd")], [list("efgh")]]
    commas = [["a", ",", "b", ",", "c", ","], ["e"]]
    words = [["a", "x", "b", "x", "c", "x"], ["e"]]
    assert (
        cider_r(commas, references).each[0] > cider_r(words, references).each[0]
    )


def test_ids_are_words():
    ids = [[1, 2, 2], [3]], [[[1, 2, 4]], [[3, 5]]]
    words = [list("abb"), ["c"]], [[list("abd")], [list("ce")]]
    np.testing.assert_allclose(cider_r(*ids).each, cider_r(*words).each)
