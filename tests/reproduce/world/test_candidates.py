from collections import Counter

import numpy as np
import pytest

from reproduce.world.candidates import build_options
from reproduce.world.judging import judge


@pytest.fixture(scope="module")
def corpus(dialogs):
    return dialogs[:400]


@pytest.fixture(scope="module")
def held_out(dialogs):
    return dialogs[400:450]


@pytest.fixture(scope="module")
def options(corpus, held_out):
    return build_options(held_out, np.random.default_rng(2), corpus=corpus)


def strings(options, i, r):
    return [options.answers[k] for k in options.indices[i, r]]


def test_a_hundred_distinct_strings_and_the_truth_anywhere_among_them(
    options, held_out
):
    assert options.indices.shape == (50, 10, 100)
    assert len(set(options.answers)) == len(options.answers)
    for i, dialog in enumerate(held_out):
        for r, turn in enumerate(dialog.rounds):
            candidates = strings(options, i, r)
            assert len(set(candidates)) == 100
            assert candidates[options.gt_index[i, r]] == turn.answer
            assert options.relevance[i, r, options.gt_index[i, r]] == 1.0
    assert options.gt_index.min() < 10 and options.gt_index.max() > 89
    assert abs(options.gt_index.mean() - 49.5) < 5


def test_popular_answers_of_the_corpus_are_in_every_list(options, corpus):
    counts = Counter(r.answer for d in corpus for r in d.rounds)
    popular = {answer for answer, _ in counts.most_common(20)}
    for i in range(len(options.indices)):
        assert all(popular <= set(strings(options, i, r)) for r in range(10))


def test_relevance_is_the_judges_and_several_are_right(options, held_out):
    for i, dialog in enumerate(held_out[:2]):
        for r, turn in enumerate(dialog.rounds):
            wanted = [judge(turn, answer) for answer in strings(options, i, r)]
            np.testing.assert_allclose(options.relevance[i, r], wanted)
    right = (options.relevance == 1.0).sum(-1)
    assert (right > 1).mean() > 0.8 and 3 < right.mean() < 10


def test_answers_to_similar_questions_are_among_them(options, held_out):
    colors = {"red", "blue", "green", "yellow", "white", "black", "purple"}
    shares = {True: [], False: []}
    for i, dialog in enumerate(held_out):
        for r, turn in enumerate(dialog.rounds):
            shares[turn.kind == "color"] += [
                not colors.isdisjoint(answer.split())
                for answer in strings(options, i, r)
            ]
    assert np.mean(shares[True]) > np.mean(shares[False]) + 0.02


def test_the_corpus_is_the_split_itself_by_default(corpus):
    few = corpus[:12]
    options = build_options(few, np.random.default_rng(0))
    assert options.indices.shape == (12, 10, 100)
    assert {r.answer for d in few for r in d.rounds} <= set(options.answers)
