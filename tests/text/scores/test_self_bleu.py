import fractions
import math

import numpy as np
import pytest
from hypothesis import given

from tests.text.scores import naive
from tfcap.text.scores.bleu import mutual_bleu
from tfcap.text.scores.bleu import self_bleu


def of_the_others(score, members):
    """Mean score of each member against the others."""
    others = [members[:i] + members[i + 1 :] for i in range(len(members))]
    return np.mean([score(c, rest) for c, rest in zip(members, others)])


@given(naive.sets)
def test_self_bleu_is_the_mean_bleu_against_the_others(sets):
    scores = self_bleu(sets)
    for k, score in enumerate(scores, start=1):
        wanted = [
            of_the_others(lambda *pair, k=k: naive.bleu([pair], k), members)
            for members in sets
        ]
        np.testing.assert_allclose(score.each, wanted, atol=1e-12)
        assert score.corpus == pytest.approx(np.mean(wanted), abs=1e-12)


def test_sets_of_equal_size_have_the_single_scores_of_mbleu():
    ours = self_bleu(naive.SAMPLES)
    theirs = mutual_bleu(naive.SAMPLES)
    for a, b in zip(ours, theirs):
        np.testing.assert_allclose(a.each, b.each)


def test_smoothing_is_passed_on():
    said = [list("abc"), list("abd"), list("xyz")]
    scores = self_bleu([said], 3, smoothing="add_one")
    assert scores[2].corpus > self_bleu([said], 3)[2].corpus


def nltk_bleu(words, others, order):
    """`sentence_bleu()` of nltk 3.10 with uniform weights and its method 1."""
    logs = []
    for k in range(1, order + 1):
        correct, guess = naive.bleu_counts(words, others, k)
        if k == 1 and correct == 0:
            return 0.0
        logs.append(math.log((correct or 0.1) / max(guess, 1)))
    _, closest = min((abs(len(x) - len(words)), len(x)) for x in others)
    penalty = min(0, 1 - fractions.Fraction(closest, len(words)))
    return math.exp(sum(logs) / order + penalty)


@given(naive.sets)
def test_the_published_protocol_is_that_of_nltk(sets):
    score = self_bleu(sets, 5, smoothing="nltk")[-1]
    wanted = [
        of_the_others(lambda *pair: nltk_bleu(*pair, 5), members)
        for members in sets
    ]
    np.testing.assert_allclose(score.each, wanted, atol=1e-7)


def test_it_gives_what_nltk_gave():
    # By nltk 3.10.4 itself; the last is too short for 5-grams.
    said = [
        "a man is riding a horse on the beach",
        "a man is riding a horse",
        "a dog on the beach",
        "a dog is riding",
    ]
    said = [text.split() for text in said]
    found = self_bleu([said], 5, smoothing="nltk")[-1].corpus
    assert found == pytest.approx(0.51986095, abs=1e-8)
