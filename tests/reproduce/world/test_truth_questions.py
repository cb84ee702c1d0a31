import numpy as np
import pytest

from reproduce.world import Scene
from reproduce.world import Thing
from reproduce.world.questions import ExactReader
from reproduce.world.questions import scene_questions
from reproduce.world.truth import Facts
from reproduce.world.truth import Truth
from reproduce.world.truth import answered
from reproduce.world.truth import fact_weights
from reproduce.world.truth import read_answers
from reproduce.world.truth import read_caption
from reproduce.world.truth import true_answers
from reproduce.world.truth import usual_answers

BALL = Thing("ball", "red", "large", "plain", 10.0, 30.0, 9.0)
BOX = Thing("box", "blue", "small", "dotted", 44.0, 31.0, 5.0)
SCENE = Scene("grass", (BALL, BOX))


def test_answers_are_those_of_the_scene():
    answers = true_answers(Facts(SCENE))
    assert len(answers) == 8 + 2 * 5 + 2 + 2
    assert answers["exists", "box"] and not answers["exists", "moon"]
    assert answers["color", "ball"] == "red"
    assert answers["column", "ball"] == "left"
    assert answers["side", "ball", "box"] == "left"
    assert answers["height", "ball", "box"] == "level"
    assert answers["ground",] == "grass" and answers["number",] == 2
    # Of two balls, "the ball" is neither.
    twins = true_answers(Facts(Scene("grass", (BALL, BALL, BOX))))
    assert ("color", "ball") not in twins and ("color", "box") in twins


def test_a_caption_answers_what_it_tells():
    said = "a red ball to the left of a box on the right on grass"
    assert read_answers(read_caption(said)) == {
        ("exists", "ball"): True,
        ("exists", "box"): True,
        ("color", "ball"): "red",
        ("column", "box"): "right",
        ("side", "ball", "box"): "left",
        ("side", "box", "ball"): "right",
        ("ground",): "grass",
    }


def test_where_nothing_is_said_the_usual_is_guessed():
    truth = {("ground",): "sand", ("color", "ball"): "red"}
    truth["color", "box"] = "blue"
    usual = {("ground",): "grass", ("color", "box"): "blue"}
    assert answered({}, truth, usual) == (0 + 1 / 2) / 2
    assert answered({("ground",): "sand"}, truth, usual) == (1 + 1 / 2) / 2
    wrong = {("color", "box"): "red"}
    assert answered(wrong, truth, usual) == 0.0


def test_the_usual_is_what_is_common_and_weights_are_what_people_say():
    usual, weights = usual_answers(), fact_weights()
    assert usual["exists", "ball"] and not usual["exists", "moon"]
    assert usual["number",] == 3 and usual["texture", "ball"] == "plain"
    assert weights["object", "large"] > weights["object", "small"] > 0.1
    assert weights["texture", "dotted"] > 5 * weights["texture", "plain"]
    assert weights["size", "large"] > 5 * weights["size", "medium"]
    assert weights["ground",] > 0.5 > weights["relation", "near"] > 0


@pytest.mark.parametrize("measure", ["utility", "weighted_recall"])
def test_more_that_is_true_is_worth_more_and_a_falsehood_less(measure):
    truth = Truth([SCENE])
    captions = ["a white cross", "", "a blue box", "a blue box by a red ball"]
    scores = [truth.score(measure, caption, 0) for caption in captions]
    assert scores == sorted(scores) and scores[-1] > scores[1]
    assert (scores[0] < scores[1]) == (measure == "utility")


def test_every_question_is_asked_in_words_of_its_own():
    (asked,) = scene_questions(Truth([SCENE]))
    truth = true_answers(Facts(SCENE))
    assert len({q.text for q in asked}) == len(asked) == len(truth)
    answers = {q.text: q.options[q.answer] for q in asked}
    assert answers["What color is the ball?"] == "red"
    assert answers["Is there a moon?"] == "no"
    assert answers["On which side of the box is the ball?"] == "left"
    assert answers["How many things are there?"] == "2"


def test_a_reader_believes_a_caption_and_else_guesses_as_usual():
    reader, (asked,) = ExactReader(), scene_questions(Truth([SCENE]))
    told = "Is there a box?", "What color is the box?", "What is the ground?"
    for question in asked:
        options = question.options[::-1]
        given, guessed = np.exp(
            reader(
                ["a blue box on grass", ""], [question.text] * 2, [options] * 2
            )
        )
        assert given.sum() == pytest.approx(1) and guessed.min() > 0
        wanted = guessed
        if question.text in told:
            said = [x == question.options[question.answer] for x in options]
            wanted = 0.1 * guessed + 0.9 * np.array(said)
        np.testing.assert_allclose(given, wanted)
