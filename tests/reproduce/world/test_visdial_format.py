import json

import numpy as np
import pytest

from reproduce.world.candidates import build_options
from reproduce.world.dialogs import make_dialog
from reproduce.world.formats import write_dense_annotations
from reproduce.world.formats import write_visdial
from reproduce.world.sampler import sample_scene

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
