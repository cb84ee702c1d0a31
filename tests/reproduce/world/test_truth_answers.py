import json

import numpy as np
import pytest

from reproduce.world import load_world
from reproduce.world import sample_scene
from reproduce.world.dialogs import make_dialog
from reproduce.world.judging import judge
from reproduce.world.truth import answer_truth
from reproduce.world.words import HEDGES
from tfcap.text import word_tokenize


@pytest.fixture(scope="module")
def rounds():
    rng = np.random.default_rng(0)
    return [
        one
        for _ in range(60)
        for one in make_dialog(sample_scene(rng), "a ball", rng).rounds
    ]


def test_shares_are_those_of_each_answer(rounds):
    rng = np.random.default_rng(1)
    said = [one.answer for one in rounds]
    mixed = [said[i] for i in rng.permutation(len(said))]
    mixed[:9] = ["", " ", *HEDGES[:5], "a purple moon", "blah"]
    shares = answer_truth(rounds, mixed)
    grades = [judge(one, text) for one, text in zip(rounds, mixed)]
    # An annotator's own slip is graded right there, and false here.
    own = [text == one.answer for one, text in zip(rounds, mixed)]
    whole = np.mean([g == 1 and not o for g, o in zip(grades, own)])
    assert whole <= shares["true_share"] <= np.mean([g == 1 for g in grades])
    assert sum(shares.values()) == pytest.approx(1.0)
    assert shares["empty_share"] == 2 / len(said)
    assert shares["false_share"] > 0.3 > shares["evasive_share"] > 0


def test_what_people_answer_is_true_but_for_slips(rounds):
    shares = answer_truth(rounds, [one.answer for one in rounds])
    assert shares["true_share"] > 0.7 and shares["false_share"] < 0.05
    assert shares["empty_share"] == 0.0


def test_tokens_that_are_apart_are_read_as_one(rounds):
    said = [one.answer for one in rounds]
    apart = [" ".join(word_tokenize(text)) for text in said]
    assert any(text != other for text, other in zip(said, apart))
    assert answer_truth(rounds, apart) == answer_truth(rounds, said)
    with pytest.raises(ValueError, match="1 answers to 600 rounds"):
        answer_truth(rounds, ["yes"])


def test_dialogs_of_a_world_come_again(tmp_path):
    world = load_world(tmp_path, train=50, val=2, test=3, progress=False)
    with open(world.visdial_path("test")) as file:
        data = json.load(file)["data"]
    dialogs = world.dialogs("test")
    assert [one.caption for one in dialogs] == [
        one["caption"] for one in data["dialogs"]
    ]
    for one, written in zip(dialogs, data["dialogs"]):
        answers = [data["answers"][x["answer"]] for x in written["dialog"]]
        assert [x.answer for x in one.rounds] == answers
