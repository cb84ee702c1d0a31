import json

import numpy as np
import pytest

from reproduce.world.candidates import build_options
from reproduce.world.dialogs import make_dialog
from reproduce.world.formats import write_dense_annotations
from reproduce.world.formats import write_tgif
from reproduce.world.formats import write_visdial
from reproduce.world.sampler import sample_scene
from tfcap.data import load_captions

IDS = list(range(100, 130))


@pytest.fixture(scope="module")
def world():
    rng = np.random.default_rng(0)
    scenes = [sample_scene(rng) for _ in IDS]
    captions = [f"a {scene.things[0].shape}" for scene in scenes]
    dialogs = [make_dialog(s, c, rng) for s, c in zip(scenes, captions)]
    return dialogs, build_options(dialogs, rng)


@pytest.fixture
def written(world, tmp_path):
    write_visdial(tmp_path / "v.json", "val", IDS, *world)
    return json.loads((tmp_path / "v.json").read_text())


def test_the_layout_is_that_of_visdial(written):
    assert set(written) == {"version", "split", "data"}
    assert (written["version"], written["split"]) == ("1.0", "val")
    data = written["data"]
    assert set(data) == {"questions", "answers", "dialogs"}
    for image_id, dialog in zip(IDS, data["dialogs"]):
        assert set(dialog) == {"image_id", "caption", "dialog"}
        assert dialog["image_id"] == image_id
        assert len(dialog["dialog"]) == 10
        for turn in dialog["dialog"]:
            assert set(turn) == {
                "question",
                "answer",
                "answer_options",
                "gt_index",
            }
            assert len(set(turn["answer_options"])) == 100
            assert turn["answer_options"][turn["gt_index"]] == turn["answer"]


def test_the_file_holds_what_was_said(written, world):
    data = written["data"]
    for dialog, read in zip(world[0], data["dialogs"]):
        assert read["caption"] == dialog.caption
        for turn, line in zip(dialog.rounds, read["dialog"]):
            assert data["questions"][line["question"]] == turn.question
            assert data["answers"][line["answer"]] == turn.answer


def test_strings_are_stored_once(written):
    for name in ("questions", "answers"):
        strings = written["data"][name]
        assert len(set(strings)) == len(strings)


def test_dense_annotations_grade_one_round_per_image(world, tmp_path):
    options = world[1]
    write_dense_annotations(tmp_path / "d.json", IDS, options)
    dense = json.loads((tmp_path / "d.json").read_text())
    assert [entry["image_id"] for entry in dense] == IDS
    assert {entry["round_id"] for entry in dense} == set(range(1, 11))
    for i, entry in enumerate(dense):
        assert set(entry) == {"image_id", "round_id", "gt_relevance"}
        wanted = options.relevance[i, entry["round_id"] - 1]
        np.testing.assert_allclose(
            entry["gt_relevance"], wanted, rtol=1e-6, atol=1e-6
        )
        assert max(entry["gt_relevance"]) == 1.0


def test_dense_annotations_of_every_round_on_request(world, tmp_path):
    path = tmp_path / "d.json"
    write_dense_annotations(path, IDS, world[1], every_round=True)
    assert len(json.loads(path.read_text())) == 10 * len(IDS)


def test_image_ids_of_another_length_are_refused(world, tmp_path):
    with pytest.raises(ValueError, match="must be of one length.*29, 30"):
        write_visdial(tmp_path / "v.json", "val", IDS[1:], *world)


SPLITS = {
    "train": (["video_1", "video_2"], [["a ball grows", "it é"], ["a, b"]]),
    "val": (["video_3"], [["a star, nothing moves"]]),
}


def test_what_is_written_is_read_again(tmp_path):
    write_tgif(tmp_path, SPLITS)
    for split, (names, captions) in SPLITS.items():
        found = load_captions(tmp_path / "tgif-v1.0.tsv", split)
        assert found.image_ids == names and found.splits[0] == split
        assert found.captions == [[f"{c}." for c in row] for row in captions]


def test_the_layout_is_that_of_the_release(tmp_path):
    write_tgif(tmp_path, SPLITS)
    lines = (tmp_path / "tgif-v1.0.tsv").read_text("utf-8").splitlines()
    url = "https://tfcap.invalid/clips/video_1.gif"
    assert lines[0] == f"{url}\ta ball grows." and len(lines) == 4
    urls = (tmp_path / "splits" / "train.txt").read_text().splitlines()
    assert urls[0] == url and len(urls) == 2
