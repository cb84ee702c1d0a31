import numpy as np
import pytest
from hypothesis import given

import tfcap
from tests.text.scores import naive


@given(naive.sets)
def test_self_bleu_is_the_mean_bleu_against_the_others(sets):
    scores = tfcap.text.self_bleu(sets)
    for k, score in enumerate(scores, start=1):
        wanted = [
            np.mean(
                [
                    naive.bleu([(c, members[:i] + members[i + 1 :])], k)
                    for i, c in enumerate(members)
                ]
            )
            for members in sets
        ]
        np.testing.assert_allclose(score.each, wanted, atol=1e-12)
        assert score.corpus == pytest.approx(np.mean(wanted), abs=1e-12)


def test_sets_of_equal_size_have_the_single_scores_of_mbleu():
    ours = tfcap.text.self_bleu(naive.SAMPLES)
    theirs = tfcap.text.mutual_bleu(naive.SAMPLES)
    for a, b in zip(ours, theirs):
        np.testing.assert_allclose(a.each, b.each)


def test_a_model_that_always_says_the_same_has_self_bleu_1():
    said = ["two dogs play with a ball".split()] * 40
    for scores in tfcap.text.self_bleu([said]):
        assert scores.corpus == pytest.approx(1)


def test_smoothing_is_passed_on():
    said = [list("abc"), list("abd"), list("xyz")]
    scores = tfcap.text.self_bleu([said], 3, smoothing="add_one")
    assert scores[2].corpus > tfcap.text.self_bleu([said], 3)[2].corpus
