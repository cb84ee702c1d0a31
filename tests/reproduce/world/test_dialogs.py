from collections import Counter

import numpy as np
import pytest

from reproduce.world import Scene
from reproduce.world import Thing
from reproduce.world.answers import MAX_WORDS
from reproduce.world.dialogs import COLOR_PRESENCE
from reproduce.world.dialogs import SHAPE_PRESENCE
from reproduce.world.dialogs import Round
from reproduce.world.dialogs import draw_topic
from reproduce.world.dialogs import make_dialog
from reproduce.world.judging import NO
from reproduce.world.judging import SUBJECTIVE
from reproduce.world.judging import YES
from reproduce.world.judging import Truth
from reproduce.world.judging import judge
from reproduce.world.judging import parse_answer
from reproduce.world.scenes import COLORS
from reproduce.world.scenes import SHAPES
from reproduce.world.truth import answer_truth
from reproduce.world.words import HEDGES
from reproduce.world.words import Frame
from tfcap.text import word_tokenize


@pytest.fixture(scope="module")
def rounds(dialogs):
    return [r for dialog in dialogs for r in dialog.rounds]


def asked(rounds, kind):
    return [r for r in rounds if r.kind == kind]


def share(values):
    return float(np.mean(list(values)))


def fresh(dialog_round):
    """The round as if another answer had been given to it."""
    return dialog_round._replace(answer="(another)")


def test_ten_rounds_and_no_question_twice(dialogs):
    for dialog in dialogs:
        assert len({r.question for r in dialog.rounds}) == 10


def test_questions_of_all_kinds_are_asked(rounds):
    counts = Counter(r.kind for r in rounds)
    shares = {kind: count / len(rounds) for kind, count in counts.items()}
    assert len(shares) == 10 and min(shares.values()) > 0.02
    assert 0.28 < shares["existence"] < 0.40 and 0.11 < shares["color"] < 0.22


@pytest.mark.parametrize("wanted", [True, False])
def test_a_topic_is_there_or_not_as_wanted(wanted):
    rng = np.random.default_rng(0)
    there = {"ball", "moon"}
    drawn = {draw_topic(rng, SHAPE_PRESENCE, there, wanted) for _ in range(99)}
    assert drawn == (there if wanted else set(SHAPES) - there)
    assert draw_topic(rng, SHAPE_PRESENCE, set(SHAPES), False) is None


def test_no_shape_is_nearly_always_there_or_absent_where_asked_for(
    scenes, rounds
):
    for name, values, presence in (
        ("shape", SHAPES, SHAPE_PRESENCE),
        ("color", COLORS, COLOR_PRESENCE),
    ):
        assert set(presence) == set(values)
        for value in values:
            found = share(bool(s.find(**{name: value})) for s in scenes)
            assert abs(found - presence[value]) < 0.07
    existence = asked(rounds, "existence")
    assert 0.38 < share(r.truth.polarity == YES for r in existence) < 0.52
    for shape in SHAPES:
        some = [r.answer for r in existence if shape in r.question]
        assert len(some) > 50
        assert 0.2 < share(x.startswith("y") for x in some) < 0.7


def test_truth_is_the_scenes(scenes, dialogs):
    for scene, dialog in zip(scenes, dialogs):
        for r in asked(dialog.rounds, "existence"):
            count = sum(r.truth.topic <= thing.looks for thing in scene.things)
            assert r.truth.number == count == len(r.target)
            assert r.truth.polarity == (YES if count else NO)
        for r in asked(dialog.rounds, "color"):
            assert r.truth.value == {scene.things[i].color for i in r.target}


def test_answers_vary_as_those_of_people_do(rounds):
    answers = [r.answer for r in rounds]
    assert max(len(word_tokenize(a)) for a in answers) <= MAX_WORDS
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
    things = [
        Thing(shape, "green", "large", "plain", 12.0 + 20 * i, 30.0, 9.0)
        for i, shape in enumerate(("ball", "box", "star"))
    ]
    rng, unsure = np.random.default_rng(0), []
    for ground in ("grass", "sand"):
        scene = Scene(ground, tuple(things))
        made = [make_dialog(scene, "a ball", rng) for _ in range(200)]
        about = [r for d in made for r in d.rounds if r.kind == "texture"]
        unsure.append(share(r.answer in HEDGES for r in about))
    assert unsure[0] > 2 * unsure[1]


def test_pronouns_stand_for_what_was_mentioned_before(rounds):
    about = [r for r in rounds if r.target and r.kind not in ("existence",)]
    assert 0.35 < share(r.pronoun for r in about) < 0.65
    for r in rounds:
        if r.pronoun:
            words = set(r.question.split())
            assert words & {"it", "they", "them", "this", "other"}


def test_shares_are_those_of_each_answer(rounds):
    rounds = rounds[:600]
    said = [one.answer for one in rounds]
    mixed = [said[i] for i in np.random.default_rng(1).permutation(len(said))]
    mixed[:9] = ["", " ", *HEDGES[:5], "a purple moon", "blah"]
    shares = answer_truth(rounds, mixed)
    # An annotator's own slip is false here.
    grades = [judge(fresh(one), text) for one, text in zip(rounds, mixed)]
    assert shares["true_share"] == share(grade == 1 for grade in grades)
    assert sum(shares.values()) == pytest.approx(1.0)
    assert shares["empty_share"] == 2 / len(said)
    assert shares["false_share"] > 0.3 > shares["evasive_share"] > 0
    own = answer_truth(rounds, said)
    assert own["true_share"] > 0.7 and own["false_share"] < 0.05
    apart = [" ".join(word_tokenize(text)) for text in said]
    assert apart != said and answer_truth(rounds, apart) == own
    with pytest.raises(ValueError, match="1 answers to 600 rounds"):
        answer_truth(rounds, ["yes"])


SCENE = Scene(
    "grass",
    (
        Thing("ball", "red", "large", "striped", 12.0, 12.0, 9.0),
        Thing("box", "blue", "small", "plain", 50.0, 50.0, 5.0),
        Thing("ball", "green", "small", "plain", 50.0, 12.0, 5.0),
    ),
)


RED_BALL, BOX, GREEN_BALL = (
    thing.looks | {*SCENE.region(i), "grass"}
    for i, thing in enumerate(SCENE.things)
)


def question(*objects, **truth):
    truth = Truth(**truth, objects=objects)
    return Round("", "color", truth, (0,), False, "(said)")


WHAT_COLOR = question(RED_BALL, slot="color", value=frozenset(["red"]))
IS_IT_RED = WHAT_COLOR.truth._replace(polarity=YES, frames=Frame.IT_IS)
IS_IT_RED = WHAT_COLOR._replace(truth=IS_IT_RED)
ANY_BALLS = question(
    RED_BALL, GREEN_BALL, polarity=YES, topic=frozenset(["ball"]), number=2
)
ANY_MOONS = question(
    *(RED_BALL, BOX, GREEN_BALL),
    polarity=NO,
    topic=frozenset(["moon"]),
    number=0,
)
THEIR_COLORS = question(
    RED_BALL, GREEN_BALL, slot="color", value=frozenset(["red", "green"])
)
TASTE = question(RED_BALL, polarity=YES, doubt=SUBJECTIVE)


@pytest.mark.parametrize(
    "asked, answer, grade",
    [
        (WHAT_COLOR, "(said)", 1.0),
        (WHAT_COLOR, "red", 1.0),
        (WHAT_COLOR, "a big striped red one", 1.0),
        (WHAT_COLOR, "it looks red", 0.5),
        (WHAT_COLOR, "a small red one", 0.0),
        (WHAT_COLOR, "blue", 0.0),
        (WHAT_COLOR, "yes", 0.0),
        (WHAT_COLOR, "can't tell", 0.3),
        (IS_IT_RED, "yes, a big one", 1.0),
        (IS_IT_RED, "yes there are", 0.5),
        (IS_IT_RED, "i think so", 0.5),
        (IS_IT_RED, "yes, 2 of them", 0.5),
        (IS_IT_RED, "red", 1.0),
        (IS_IT_RED, "no", 0.0),
        (IS_IT_RED, "yes, on the right", 0.0),
        (ANY_BALLS, "yes, a red and a green one", 1.0),
        (ANY_BALLS, "yes, 3 of them", 0.0),
        (ANY_BALLS, "yes a blue one", 0.0),
        (ANY_MOONS, "no, there are no moons", 1.0),
        (ANY_MOONS, "no people", 0.0),
        (ANY_MOONS, "no, just a blue box", 1.0),
        (ANY_MOONS, "no, only a white cone", 0.0),
        (ANY_MOONS, "none", 0.5),
        (THEIR_COLORS, "green and red", 1.0),
        (THEIR_COLORS, "red", 0.5),
        (THEIR_COLORS, "red and blue", 0.0),
        (TASTE, "yes", 1.0),
        (TASTE, "not sure", 0.5),
    ],
)
def test_any_answer_is_judged_by_the_scene(asked, answer, grade):
    assert judge(asked, answer) == pytest.approx(grade)


@pytest.mark.parametrize(
    "answer, number",
    [("a red one", -1), ("just one", 1), ("yes two", 2), ("der ball ?!", -1)],
)
def test_one_counts_only_where_it_stands_for_no_thing(answer, number):
    assert parse_answer(answer).number == number
