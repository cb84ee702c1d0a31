import dataclasses
import json
import os

import numpy as np
import pytest
from keras import ops

from tests.scribe import LENGTH
from tests.scribe import BagListener
from tests.scribe import Batches
from tests.scribe import Scribe
from tests.scribe import encode
from tfcap._ops import sequence_mask
from tfcap.decoding import BeamSearch
from tfcap.decoding import Decoder
from tfcap.decoding import Greedy
from tfcap.decoding import Rollout
from tfcap.decoding import Sample
from tfcap.layers import Categorical
from tfcap.text import caption_tokenize
from tfcap.text import cider_d
from tfcap.text.missing_score import MissingScoreError
from tfcap.training import Evaluator
from tfcap.training import SpeakerReport
from tfcap.training.speaker_report import RETRIEVAL
from tfcap.training.speaker_report import DiversityReport

HUMAN = [["A dog – \u201cRex\u201d – runs."], ["The cat sits", "a red cat"]]


@pytest.fixture
def report():
    batches = Batches(["a dog", "a cat sits"], HUMAN)
    made = Evaluator(Scribe(), batches, BagListener())()
    missing = MissingScoreError("METEOR", "there is no Java", "Install one.")
    return dataclasses.replace(made, absent={"meteor": missing})


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
    "content, told",
    [("{", "cut off"), ("[]", "other JSON"), ('{"format": 1}', "other JSON")],
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


#: Several captions of every image: how good, and how different.
PEOPLE = [["A dog runs.", "the dog"], ["The cat sits", "a red cat"], ["a mat"]]
SAID = [
    ["a dog runs", "the dog sits"],
    ["a cat", "a cat"],
    ["a red mat", "the mat on a mat"],
]


class Told(Decoder):
    """Says two things of every image, the second of which it knows."""

    def decode(self, speaker, state, references=None, training=False):
        first, known = state["script"], encode([first for first, _ in SAID])
        same = ops.all(first[:, None] == known[None], axis=-1)
        place = ops.argmax(ops.cast(same, "int32"), axis=-1)
        second = ops.take(encode([other for _, other in SAID]), place, axis=0)
        tokens = ops.stack([first, second], axis=1)
        return Rollout(tokens, sequence_mask(tokens, speaker.eos))


def batches():
    return Batches([first for first, _ in SAID], PEOPLE)


def test_scores_are_those_of_the_protocol():
    report = Evaluator(Scribe(), batches()).diversity(Told())
    assert report.captions == SAID
    human = [[caption_tokenize(text) for text in row] for row in PEOPLE]
    said = [[text.split() for text in column] for column in zip(*SAID)]
    each = np.stack([cider_d(words, human).each for words in said], axis=1)
    scores = report.scores
    assert scores["mean_cider_d"] == pytest.approx(each.mean())
    assert scores["best_cider_d"] == pytest.approx(each.max(1).mean())
    # Words: 5 of 6, 2 of 4, 5 of 8; pairs: 4, 1, 5 or 6 of as many words.
    assert scores["div_1"] == pytest.approx(np.mean([5 / 6, 2 / 4, 5 / 8]))
    assert scores["div_2"] == pytest.approx(np.mean([4 / 6, 1 / 4, 6 / 8]))
    assert 0 < scores["mutual_bleu_4"] < 1


@pytest.mark.parametrize(
    "decoder",
    [
        Sample(Categorical(seed=0), 4, LENGTH),
        BeamSearch(4, LENGTH, groups=2, no_repeat_ngram=3),
    ],
)
def test_samples_and_beams_are_read(decoder):
    evaluate = Evaluator(Scribe(), batches(), batch_size=2)
    report = evaluate.diversity(decoder)
    assert [len(row) for row in report.captions] == [4] * 3
    assert all(np.isfinite(value) for value in report.scores.values())
    head, row = str(report).splitlines()
    assert head.split("  ")[0] == "mean_cider_d" and len(head) == len(row)


def test_one_caption_an_image_is_refused():
    with pytest.raises(ValueError, match="`decoder` must return at least two"):
        Evaluator(Scribe(), batches()).diversity(Greedy(LENGTH))


def test_one_image_has_no_cider_d_and_all_else():
    report = DiversityReport.from_captions(SAID[:1], PEOPLE[:1])
    assert set(report.scores) == {"div_1", "div_2", "mutual_bleu_4"}
    assert report.scores["div_1"] == pytest.approx(5 / 6)
    assert "cider" not in str(report) and "div_1" in str(report)


def test_texts_of_other_images_are_refused():
    with pytest.raises(ValueError, match="Received: 2 for 3 images"):
        Evaluator(Scribe(), batches(), texts=PEOPLE[:2]).diversity(Told())
