import dataclasses
import json
import os

import numpy as np
import pytest

from tests.scribe import BagListener
from tests.scribe import Batches
from tests.scribe import Scribe
from tfcap.text.missing_score import MissingScoreError
from tfcap.training import Evaluator
from tfcap.training import SpeakerReport
from tfcap.training.speaker_report import RETRIEVAL

HUMAN = [["A dog – \u201cRex\u201d – runs."], ["The cat sits", "a red cat"]]


@pytest.fixture
def report():
    batches = Batches(["a dog", "a cat sits"], HUMAN)
    made = Evaluator(Scribe(), batches, BagListener())()
    missing_score = MissingScoreError(
        "METEOR", "there is no Java", "Install one."
    )
    return dataclasses.replace(made, absent={"meteor": missing_score})


def test_a_file_brings_everything_back(report, tmp_path):
    report = dataclasses.replace(
        report,
        image_ids=list(np.array([41, 7])),
        human_ranks=np.array([1.0, np.nan]),
        scores={**report.scores, "empty": float("nan")},
    )
    report.save(tmp_path / "report.json")
    again = SpeakerReport.load(tmp_path / "report.json")
    assert again.image_ids == [41, 7]
    for name in ("captions", "references"):
        assert getattr(again, name) == getattr(report, name)
    found, wanted = (
        {name: vars(missing) for name, missing in x.absent.items()}
        for x in (again, report)
    )
    assert found == wanted and found["meteor"]["hint"] == "Install one."
    for name in ("ranks", "human_ranks"):
        np.testing.assert_array_equal(
            getattr(again, name), getattr(report, name)
        )
    assert {*again.each} == {*report.each} >= {"cider_d", "bleu_4"}
    for name, values in report.each.items():
        np.testing.assert_array_equal(again.each[name], values)
    np.testing.assert_equal(again.scores, report.scores)
    assert again.table() == report.table()


def test_a_person_can_read_the_file(report, tmp_path):
    report.save(tmp_path / "report.json")
    text = (tmp_path / "report.json").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if '"image_id"' in line]
    assert len(lines) == 2
    assert '"caption": "a cat sits"' in lines[1]
    assert "\u201cRex\u201d" in lines[0]
    assert [json.loads(line.rstrip(","))["rank"] for line in lines] == list(
        report.ranks
    )
    assert os.listdir(tmp_path) == ["report.json"]


def test_a_failure_leaves_the_old_file(report, tmp_path):
    path = tmp_path / "report.json"
    report.save(path)
    before = path.read_text(encoding="utf-8")
    broken = dataclasses.replace(report, captions=[object(), "a"])
    with pytest.raises(TypeError):
        broken.save(path)
    lone = dataclasses.replace(report, captions=["\ud800", "a"])
    with pytest.raises(UnicodeEncodeError):
        lone.save(path)
    assert path.read_text(encoding="utf-8") == before
    assert os.listdir(tmp_path) == ["report.json"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{", "cut off"),
        ("[]", "other JSON"),
        ('{"format": 1}', "other JSON"),
    ],
)
def test_another_file_is_refused(tmp_path, content, told):
    path = tmp_path / "other.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=f"{told}.*SpeakerReport.save"):
        SpeakerReport.load(path)


def test_the_table_holds_scores_of_all_kinds(report):
    scores = dict(report.scores)
    scores |= {f"fixed_{k}": scores[k] for k in ("r@1", "r@5", "r@10")}
    scores |= {"fixed_median_rank": 7, "fixed_mean_rank": 8, "fixed_mrr": 0.5}
    scores |= {f"fixed_image_to_text_{k}": scores[k] for k in RETRIEVAL}
    scores["fixed_image_to_text_r@1"] = 12.5
    scores["repeat_rate"] = 0.125
    table = dataclasses.replace(report, scores=scores).table()
    lines = table.splitlines()
    assert lines[0] == "2 images, 3 human captions"
    assert "CIDEr-D" in lines[2] and "BLEU-4" in lines[2]
    (fixed,) = [x for x in lines if x.startswith("image by caption, fixed")]
    assert fixed.split()[-3:] == ["7", "8.00", "0.5000"]
    (turned,) = [x for x in lines if x.startswith("caption by image, fixed")]
    assert turned.split()[4] == "12.50"
    assert "Self-BLEU" in table and "pairs of words said again" in table
    (repeats,) = [x for x in lines if x.startswith("say a word twice")]
    assert repeats.split()[-1] == "12.5%"
    assert lines[-1] == "METEOR is absent: there is no Java. Install one."
    widths = {len(line) for line in lines if "by" in line}
    assert len(widths) == 1


def test_scores_cannot_be_changed_by_whom_they_are_given_to(report):
    report.result()["r@1"] = -1
    assert report.result()["r@1"] != -1
