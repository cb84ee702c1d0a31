import dataclasses
from collections import Counter

import numpy as np
import pytest

from reproduce.world.answers import MAX_WORDS
from reproduce.world.captions import describe
from reproduce.world.dialogs import Round
from reproduce.world.dialogs import make_dialog
from reproduce.world.judging import NO
from reproduce.world.judging import SUBJECTIVE
from reproduce.world.judging import YES
from reproduce.world.judging import Truth
from reproduce.world.judging import judge
from reproduce.world.judging import parse_answer
from reproduce.world.sampler import sample_scene
from reproduce.world.scene import Scene
from reproduce.world.scene import Thing
from reproduce.world.words import HEDGES
from reproduce.world.words import Frame
from tfcap.text import word_tokenize


def played(count, seed=0):
    rng = np.random.default_rng(seed)
    scenes = [sample_scene(rng) for _ in range(count)]
    return [
        (scene, make_dialog(scene, describe(scene, rng)[0], rng))
        for scene in scenes
    ]


@pytest.fixture(scope="module")
def dialogs():
    return played(800)


@pytest.fixture(scope="module")
def rounds(dialogs):
    return [r for _, dialog in dialogs for r in dialog.rounds]


def asked(rounds, kind):
    return [r for r in rounds if r.kind == kind]


def share(values):
    return float(np.mean(list(values)))


def fresh(dialog_round):
    """The round as if another answer had been given to it."""
    return dataclasses.replace(dialog_round, answer="")


def test_a_dialog_depends_on_the_generator_alone():
    assert played(20, seed=5) == played(20, seed=5)
    assert played(20, seed=5) != played(20, seed=6)


def test_ten_rounds_and_no_question_twice(dialogs):
    for _, dialog in dialogs:
        assert len({r.question for r in dialog.rounds}) == 10


def test_questions_are_mixed_as_planned(rounds):
    wanted = {
        "existence": (0.28, 0.40),
        "color": (0.11, 0.22),
        "is_color": (0.05, 0.12),
        "ground": (0.04, 0.10),
        "position": (0.05, 0.11),
        "relation": (0.04, 0.10),
        "size": (0.03, 0.08),
        "texture": (0.04, 0.09),
        "count": (0.06, 0.12),
        "taste": (0.02, 0.07),
    }
    kinds = Counter(r.kind for r in rounds)
    assert set(kinds) == set(wanted)
    for kind, (low, high) in wanted.items():
        assert low < kinds[kind] / len(rounds) < high, kind


def test_existence_questions_have_a_yes_almost_as_often_as_a_no(rounds):
    yes = share(r.truth.polarity == YES for r in asked(rounds, "existence"))
    assert 0.38 < yes < 0.52


def test_the_truth_of_an_existence_question_is_the_scenes(dialogs):
    for scene, dialog in dialogs[:200]:
        for r in asked(dialog.rounds, "existence"):
            count = sum(r.truth.topic <= thing.looks for thing in scene.things)
            assert r.truth.number == count == len(r.target)
            assert r.truth.polarity == (YES if count else NO)


def test_the_truth_of_a_color_question_is_the_targets(dialogs):
    for scene, dialog in dialogs[:200]:
        for r in asked(dialog.rounds, "color"):
            colors = {scene.things[i].color for i in r.target}
            assert r.truth.value == colors


def test_answers_have_at_most_eight_words(rounds):
    assert max(len(word_tokenize(r.answer)) for r in rounds) <= MAX_WORDS


def test_answers_vary_as_those_of_people_do(rounds):
    answers = [r.answer for r in rounds]
    sizes = [len(a.replace(",", " ").split()) for a in answers]
    assert 2.1 < np.mean(sizes) < 3.0
    assert 0.47 < share(n == 1 for n in sizes) < 0.60
    assert 0.13 < share(a == "yes" for a in answers) < 0.20
    assert 0.15 < share(a == "no" for a in answers) < 0.22
    assert 0.05 < share(a in HEDGES for a in answers) < 0.085
    assert len(set(answers)) > 0.13 * len(answers)


def test_few_answers_are_wrong_and_those_of_an_annotator_who_knows(rounds):
    sure = [r for r in rounds if r.truth.doubt == 0]
    wrong = share(judge(fresh(r), r.answer) == 0 for r in sure)
    assert 0.015 < wrong < 0.045


def test_doubt_is_likelier_where_a_thing_hardly_stands_out():
    faint = {("snow", "white"), ("night", "black"), ("grass", "green")}
    doubts = {True: [], False: []}
    for scene, dialog in played(4000, seed=1):
        for r in asked(dialog.rounds, "texture"):
            color = scene.things[r.target[0]].color
            hidden = (scene.background, color) in faint
            doubts[hidden].append(r.answer in HEDGES)
    assert len(doubts[True]) > 50
    assert share(doubts[True]) > 2 * share(doubts[False])


def test_pronouns_stand_for_what_was_mentioned_before(rounds):
    about = [r for r in rounds if r.target and r.kind not in ("existence",)]
    assert 0.35 < share(r.pronoun for r in about) < 0.65
    for r in rounds:
        if r.pronoun:
            words = set(r.question.split())
            assert words & {"it", "they", "them", "this", "other"}


SCENE = Scene(
    "grass",
    (
        Thing("ball", "red", "large", "striped", 12.0, 12.0, 9.0),
        Thing("box", "blue", "small", "plain", 50.0, 50.0, 5.0),
        Thing("ball", "green", "small", "plain", 50.0, 12.0, 5.0),
    ),
)


def attributes(i):
    return SCENE.things[i].looks | {*SCENE.region(i), SCENE.background}


def question(**truth):
    return Round("", "(said)", "color", (0,), Truth(**truth), False)


WHAT_COLOR = question(
    slot="color", value=frozenset(["red"]), objects=(attributes(0),)
)
IS_IT_RED = WHAT_COLOR.truth._replace(polarity=YES, frames=Frame.IT_IS)
IS_IT_RED = dataclasses.replace(WHAT_COLOR, truth=IS_IT_RED)
ANY_BALLS = question(
    polarity=YES,
    topic=frozenset(["ball"]),
    number=2,
    objects=(attributes(0), attributes(2)),
)
ANY_MOONS = question(
    polarity=NO,
    topic=frozenset(["moon"]),
    number=0,
    objects=tuple(attributes(i) for i in range(3)),
)
THEIR_COLORS = question(
    slot="color",
    value=frozenset(["red", "green"]),
    objects=(attributes(0), attributes(2)),
)
TASTE = question(polarity=YES, doubt=SUBJECTIVE, objects=(attributes(0),))


@pytest.mark.parametrize(
    "asked, answer, grade",
    [
        (WHAT_COLOR, "(said)", 1.0),
        (WHAT_COLOR, "red", 1.0),
        (WHAT_COLOR, "a big striped red one", 1.0),
        (WHAT_COLOR, "it looks red", 0.5),
        (WHAT_COLOR, "a small red one", 0.0),
        (WHAT_COLOR, "blue", 0.0),
        (WHAT_COLOR, "large", 0.0),
        (WHAT_COLOR, "yes", 0.0),
        (WHAT_COLOR, "can't tell", 0.3),
        (IS_IT_RED, "yes, a big one", 1.0),
        (IS_IT_RED, "yes it is", 1.0),
        (IS_IT_RED, "yes there are", 0.5),
        (IS_IT_RED, "i think so", 0.5),
        (IS_IT_RED, "yes, 2 of them", 0.5),
        (IS_IT_RED, "red", 1.0),
        (IS_IT_RED, "no", 0.0),
        (IS_IT_RED, "yes, on the right", 0.0),
        (ANY_BALLS, "yes, a red and a green one", 1.0),
        (ANY_BALLS, "yes two", 1.0),
        (ANY_BALLS, "yes, 3 of them", 0.0),
        (ANY_BALLS, "yes a blue one", 0.0),
        (ANY_MOONS, "no, there are no moons", 1.0),
        (ANY_MOONS, "no moons", 1.0),
        (ANY_MOONS, "no people", 0.0),
        (ANY_MOONS, "no, just a blue box", 1.0),
        (ANY_MOONS, "no, only a white cone", 0.0),
        (ANY_MOONS, "none", 0.5),
        (THEIR_COLORS, "green and red", 1.0),
        (THEIR_COLORS, "red", 0.5),
        (THEIR_COLORS, "red and blue", 0.0),
        (TASTE, "yes", 1.0),
        (TASTE, "not sure", 0.5),
        (TASTE, "no", 0.0),
    ],
)
def test_any_answer_is_judged_by_the_scene(asked, answer, grade):
    assert judge(asked, answer) == pytest.approx(grade)


@pytest.mark.parametrize(
    "answer, number", [("a red one", -1), ("just one", 1), ("yes two", 2)]
)
def test_one_counts_only_where_it_stands_for_no_thing(answer, number):
    assert parse_answer(answer).number == number


def test_the_words_of_an_unknown_language_claim_nothing():
    assert parse_answer("der ball ist rot ?!").number == -1
    assert judge(WHAT_COLOR, "") == 0.0
