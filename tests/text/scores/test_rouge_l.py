import numpy as np
import pytest
from hypothesis import given

import tfcap
from tests.text.scores import naive


def test_rouge_l_gives_the_golden_values_of_pycocoevalcap():
    golden = naive.GOLDEN["scores"]["rouge_l"]
    scores = tfcap.text.rouge_l(naive.CANDIDATES, naive.REFERENCES)
    assert scores.corpus == pytest.approx(golden["corpus"])
    np.testing.assert_allclose(scores.each, golden["each"], atol=1e-11)


@given(naive.corpora())
def test_rouge_l_is_that_of_a_loop(corpus):
    scores = tfcap.text.rouge_l(*corpus, beta=1.2)
    for score, candidate, references in zip(scores.each, *corpus):
        lengths = [naive.common(candidate, r) for r in references]
        precision = max(lengths) / max(len(candidate), 1)
        recall = max(n / max(len(r), 1) for n, r in zip(lengths, references))
        wanted = 0.0
        if precision:
            wanted = (1 + 1.2**2) * precision * recall
            wanted /= recall + 1.2**2 * precision
        assert score == pytest.approx(wanted, abs=1e-12)


def test_precision_and_recall_may_come_from_different_references():
    candidate = list("abcd")
    references = [list("abcxyzuvw"), list("d")]
    precision, recall = 3 / 4, 1.0
    wanted = (1 + 1.2**2) * precision * recall / (recall + 1.2**2 * precision)
    scores = tfcap.text.rouge_l([candidate], [references])
    assert scores.corpus == pytest.approx(wanted)


def test_long_captions_are_compared_in_full():
    words = [str(i) for i in range(400)]
    scores = tfcap.text.rouge_l([words], [[words[::2]]], beta=1.0)
    assert scores.corpus == pytest.approx(2 * 0.5 / 1.5)
