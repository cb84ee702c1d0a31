import dataclasses
from collections import Counter

import numpy as np
import pytest

from reproduce.world.candidates import build_options
from reproduce.world.dialogs import make_dialog
from reproduce.world.judging import judge
from reproduce.world.sampler import sample_scene


def dialogs_of(count, seed):
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        scene = sample_scene(rng)
        caption = f"a {scene.things[0].shape} and some other shapes"
        made.append(make_dialog(scene, caption, rng))
    return made


@pytest.fixture(scope="module")
def corpus():
    return dialogs_of(400, 0)


@pytest.fixture(scope="module")
def held_out():
    return dialogs_of(50, 1)


@pytest.fixture(scope="module")
def options(corpus, held_out):
    return build_options(held_out, np.random.default_rng(2), corpus=corpus)


def strings(options, i, r):
    return [options.answers[k] for k in options.indices[i, r]]


def test_a_hundred_distinct_strings_per_question(options):
    assert options.indices.shape == (50, 10, 100)
    assert len(set(options.answers)) == len(options.answers)
    for row in options.indices.reshape(-1, 100):
        assert len(set(row.tolist())) == 100


def test_the_truth_is_where_it_is_said_to_be(options, held_out):
    for i, dialog in enumerate(held_out):
        for r, turn in enumerate(dialog.rounds):
            candidates = strings(options, i, r)
            assert candidates[options.gt_index[i, r]] == turn.answer
            assert options.relevance[i, r, options.gt_index[i, r]] == 1.0


def test_the_truth_may_be_anywhere_in_the_list(options):
    assert options.gt_index.min() < 10
    assert options.gt_index.max() > 89
    assert abs(options.gt_index.mean() - 49.5) < 5


def test_popular_answers_of_the_corpus_are_in_every_list(options, corpus):
    counts = Counter(r.answer for d in corpus for r in d.rounds)
    popular = [answer for answer, _ in counts.most_common(20)]
    for i in range(len(options.indices)):
        for r in range(10):
            assert set(popular) <= set(strings(options, i, r))


def test_relevance_is_the_judges(options, held_out):
    for i, dialog in enumerate(held_out[:10]):
        for r, turn in enumerate(dialog.rounds):
            wanted = [judge(turn, answer) for answer in strings(options, i, r)]
            np.testing.assert_allclose(options.relevance[i, r], wanted)


def test_several_candidates_are_right_besides_the_truth(options):
    right = (options.relevance == 1.0).sum(-1)
    assert (right > 1).mean() > 0.8
    assert 3 < right.mean() < 10


def test_more_similar_answers_put_more_of_the_list_on_topic(corpus, held_out):
    colors = {"red", "blue", "green", "yellow", "white", "black", "purple"}

    def on_topic(similar):
        rng = np.random.default_rng(0)
        options = build_options(held_out, rng, corpus, similar=similar)
        return np.mean(
            [
                not colors.isdisjoint(answer.split())
                for i, dialog in enumerate(held_out)
                for r, turn in enumerate(dialog.rounds)
                if turn.kind == "color"
                for answer in strings(options, i, r)
            ]
        )

    assert on_topic(40) > on_topic(0) + 0.02


def test_options_depend_on_the_generator_alone(corpus, held_out):
    made = [
        build_options(held_out, np.random.default_rng(seed), corpus)
        for seed in (3, 3, 4)
    ]
    np.testing.assert_array_equal(made[0].indices, made[1].indices)
    assert (made[0].indices != made[2].indices).any()


def test_the_corpus_is_the_split_itself_by_default(corpus):
    rng = np.random.default_rng(0)
    options = build_options(corpus[:60], rng)
    given = {r.answer for d in corpus[:60] for r in d.rounds}
    assert given <= set(options.answers)


def test_a_handful_of_dialogs_is_enough(corpus):
    options = build_options(corpus[:12], np.random.default_rng(0))
    assert options.indices.shape == (12, 10, 100)


def test_a_corpus_with_too_few_answers_is_refused(corpus):
    one = dataclasses.replace(corpus[0], rounds=corpus[0].rounds[:2])
    with pytest.raises(ValueError, match="`corpus` must have at least 100"):
        build_options([one], np.random.default_rng(0))
