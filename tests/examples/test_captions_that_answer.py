import dataclasses

import pytest

from reproduce.comparisons.truth.paper import TRUTH
from tests.eager import run_eagerly
from tests.examples.conftest import load
from tfcap.data import Question
from tfcap.rewards.utility import Answer

SIZES = {"train": 50, "val": 4, "test": 8, "encoder_epochs": 1}


@pytest.fixture(scope="module")
def script():
    return load("captions_that_answer")


@pytest.mark.slow
def test_captions_before_and_after_are_shown(
    script, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("TFCAP_CACHE", str(tmp_path))
    monkeypatch.setitem(script.SIZES, "quick", SIZES)
    few = {"max_length": 5, "speaker_epochs": 1, "batch_size": 50}
    quick = dataclasses.replace(TRUTH.settings["quick"], **few)
    monkeypatch.setitem(TRUTH.settings, "quick", quick)
    with run_eagerly():
        assert script.main(["--quick", "--out", str(tmp_path / "run")]) == 0
    said = capsys.readouterr().out
    assert said.count("\n  before ") == said.count("\n  after ") == 5
    assert "by a network" in said and "fact recall" in said
    page = (tmp_path / "run" / "page.html").read_text()
    assert page.count("<img") == SIZES["test"]


def test_questions_that_one_caption_answers_are_marked(script):
    asked = [Question(f"{i}?", ("yes", "no"), 0) for i in range(4)]
    before, after = (
        [
            Answer(question, "no" if rank > 1 else "yes", 0.5, 0.5, rank)
            for question, rank in zip(asked, ranks)
        ]
        for ranks in ([1, 1, 2, 1.5], [1, 2, 1, 1.5])
    )
    wanted = ["+ 2? yes", "- 1? yes, now no"]
    assert script.differences((before, after)) == wanted
