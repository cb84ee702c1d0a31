import math

import numpy as np
import pytest
from hypothesis import given

import tfcap
from tests.text.scores import naive
from tfcap.text.scores.cider import cider


def test_cider_gives_the_golden_values_of_the_reference_code():
    golden = naive.GOLDEN["scores"]["cider"]
    scores = cider(naive.CANDIDATES, naive.REFERENCES)
    assert scores.corpus == pytest.approx(golden["corpus"])
    np.testing.assert_allclose(scores.each, golden["each"], atol=1e-11)


@given(naive.corpora(least=2))
def test_cider_is_that_of_a_loop_over_dictionaries(corpus):
    frequencies = naive.document_frequencies(corpus[1])
    documents = len(corpus[0])
    wanted = [
        naive.cider(c, r, frequencies, documents, False, lambda a, b: 1.0)
        for c, r in zip(*corpus)
    ]
    scores = cider(*corpus)
    np.testing.assert_allclose(scores.each, wanted, atol=1e-12)


def test_repeating_a_telling_word_pays_in_cider_but_not_in_cider_d():
    references = [[list("abcde")], [list("abfgh")]]
    said = [["a", "c"], ["a", "c", "c", "c"]]
    plain, defended = (
        [score([words, []], references).each[0] for words in said]
        for score in (cider, tfcap.text.cider_d)
    )
    assert plain[1] > defended[1]
    assert defended[1] < defended[0]


def gaussian(candidate, reference, sigma=6.0):
    bigrams = [max(len(words) - 1, 0) for words in (candidate, reference)]
    return math.exp(-((bigrams[0] - bigrams[1]) ** 2) / (2 * sigma**2))


def test_cider_d_gives_the_golden_values_of_pycocoevalcap():
    golden = naive.GOLDEN["scores"]["cider_d"]
    scores = tfcap.text.cider_d(naive.CANDIDATES, naive.REFERENCES)
    assert scores.corpus == pytest.approx(golden["corpus"])
    np.testing.assert_allclose(scores.each, golden["each"], atol=1e-11)


@given(naive.corpora(least=2))
def test_cider_d_is_that_of_a_loop_over_dictionaries(corpus):
    frequencies = naive.document_frequencies(corpus[1])
    wanted = [
        naive.cider(c, r, frequencies, len(corpus[0]), True, gaussian)
        for c, r in zip(*corpus)
    ]
    scores = tfcap.text.cider_d(*corpus)
    np.testing.assert_allclose(scores.each, wanted, atol=1e-12)


def test_a_shared_list_of_references_is_as_good_as_copies_of_it():
    candidates = naive.CANDIDATES[:2] * 3
    shared = naive.REFERENCES[:2] * 3
    copied = [[list(words) for words in r] for r in shared]
    found, wanted = (
        tfcap.text.cider_d(candidates, references).each
        for references in (shared, copied)
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_a_wider_sigma_forgives_another_length():
    words = naive.CANDIDATES, naive.REFERENCES
    sigmas = (1.0, 6.0, 1e6)
    scores = [tfcap.text.cider_d(*words, sigma=s).corpus for s in sigmas]
    assert scores == sorted(scores) and scores[0] < scores[2]


def test_what_makes_no_cider_is_refused():
    with pytest.raises(ValueError, match="at least 2 images"):
        tfcap.text.cider_d([["a", "dog"]], [[["a", "dog"], ["dog"]]])
    with pytest.raises(ValueError, match="`sigma` must be positive"):
        tfcap.text.cider_d([["a"]] * 2, [[["a"]]] * 2, sigma=0)


@pytest.fixture
def vocabulary():
    said = [*naive.CANDIDATES, *(c for r in naive.REFERENCES for c in r)]
    words = {word for caption in said for word in caption}
    return tfcap.text.Vocabulary(sorted(words))


def table(vocabulary, **kwargs):
    return tfcap.text.DocumentFrequencies.from_references(
        naive.REFERENCES, vocabulary, **kwargs
    )


def encoded(vocabulary, eos=True):
    candidates = [vocabulary.encode(c, eos=eos) for c in naive.CANDIDATES]
    references = [
        [vocabulary.encode(c, eos=eos) for c in r] for r in naive.REFERENCES
    ]
    return candidates, references


def test_document_frequencies_of_the_references_change_nothing(vocabulary):
    frequencies = table(vocabulary, count_eos=False)
    scores = tfcap.text.cider_d(*encoded(vocabulary, eos=False), frequencies)
    golden = naive.GOLDEN["scores"]["cider_d"]["each"]
    np.testing.assert_allclose(scores.each, golden, atol=1e-11)


def test_words_end_like_ids_with_eos_where_the_table_counts_it(vocabulary):
    words = naive.CANDIDATES, naive.REFERENCES
    wanted = tfcap.text.cider_d(*words, table(None)).each
    candidates, references = encoded(vocabulary)
    given = table(vocabulary)
    found = tfcap.text.cider_d(candidates, references, given).each
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    # With given frequencies, one image has a score, too.
    found = tfcap.text.cider_d(candidates[:1], references[:1], given).each
    np.testing.assert_allclose(found, wanted[:1], rtol=1e-12)


def test_a_word_that_is_written_like_the_end_is_none():
    first = naive.REFERENCES[0][0]
    said = [[*first, "<eos>", *first], [*first, "unheard", *first]]
    scores = tfcap.text.cider_d(said, [naive.REFERENCES[0]] * 2, table(None))
    assert scores.each[0] == scores.each[1] > 0


def test_words_or_ids_of_another_vocabulary_are_refused(vocabulary):
    words = naive.CANDIDATES, naive.REFERENCES
    with pytest.raises(TypeError, match="Captions must hold ids"):
        tfcap.text.cider_d(*words, table(vocabulary))
    ids = [[vocabulary.size - 1], [vocabulary.size]]
    with pytest.raises(ValueError, match=f"from 0 to {vocabulary.size - 1}"):
        tfcap.text.cider_d(ids, [[i] for i in ids], table(vocabulary))
