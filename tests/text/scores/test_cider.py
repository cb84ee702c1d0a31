import numpy as np
import pytest
from hypothesis import given

import tfcap
from tests.text.scores import naive


def test_cider_gives_the_golden_values_of_the_reference_code():
    golden = naive.GOLDEN["scores"]["cider"]
    scores = tfcap.text.cider(naive.CANDIDATES, naive.REFERENCES)
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
    scores = tfcap.text.cider(*corpus)
    np.testing.assert_allclose(scores.each, wanted, atol=1e-12)


@given(naive.corpora(least=2))
def test_cider_is_at_least_cider_d_and_at_most_10(corpus):
    plain, defended = tfcap.text.cider(*corpus), tfcap.text.cider_d(*corpus)
    assert (plain.each >= defended.each - 1e-12).all()
    assert (plain.each <= 10 + 1e-9).all()


def test_repeating_a_telling_word_pays_in_cider_but_not_in_cider_d():
    references = [[list("abcde")], [list("abfgh")]]
    said = [["a", "c"], ["a", "c", "c", "c"]]
    plain, defended = (
        [score([words, []], references).each[0] for words in said]
        for score in (tfcap.text.cider, tfcap.text.cider_d)
    )
    assert plain[1] > defended[1]
    assert defended[1] < defended[0]
