import json
import shutil

import numpy as np
import pytest

from reproduce.world import BACKGROUNDS
from reproduce.world import load_world
from reproduce.world import render

SIZES = {"train": 60, "val": 8, "test": 7}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("worlds")


@pytest.fixture(scope="module")
def world(root):
    return load_world(root, progress=False, **SIZES)


def contents(path):
    return {p.name: p.read_bytes() for p in path.iterdir()}


def test_images_scenes_and_ids_go_together(world):
    seen = []
    for split, size in SIZES.items():
        images, scenes = world.images(split), world.scenes(split)
        assert len(images) == len(scenes) == size
        assert all(scene.background in BACKGROUNDS for scene in scenes)
        np.testing.assert_array_equal(render(scenes), images)
        seen += world.image_ids(split)
    assert len(set(seen)) == sum(SIZES.values())


def test_scenes_of_different_splits_differ(world):
    scenes = [s for split in SIZES for s in world.scenes(split)]
    assert len(set(scenes)) == len(scenes)


def test_captions_have_the_layout_of_karpathys_splits(world):
    data = json.loads(world.karpathy_path.read_text())
    images = data["images"]
    assert [image["imgid"] for image in images] == list(range(75))
    assert [i["cocoid"] for i in images if i["split"] == "val"] == (
        world.image_ids("val")
    )
    sentence_ids = [s for image in images for s in image["sentids"]]
    assert sentence_ids == list(range(5 * 75))
    for image in images:
        assert {"filename", "filepath", "sentences"} <= set(image)
        for sentence in image["sentences"]:
            assert sentence["imgid"] == image["imgid"]
            raw = sentence["raw"].lower().strip(".").replace(",", "")
            assert raw.split() == sentence["tokens"]


def test_dialogs_have_the_layout_of_visdial(world):
    for split, size in SIZES.items():
        data = json.loads(world.visdial_path(split).read_text())
        assert data["split"] == split
        dialogs = data["data"]["dialogs"]
        assert [d["image_id"] for d in dialogs] == world.image_ids(split)
        for dialog in dialogs:
            assert len(dialog["dialog"]) == 10
            for turn in dialog["dialog"]:
                options = turn["answer_options"]
                assert len(options) == 100
                assert options[turn["gt_index"]] == turn["answer"]
                assert max(options) < len(data["data"]["answers"])
        dense = json.loads(world.dense_path(split).read_text())
        assert len(dense) == size


def test_the_caption_of_a_dialog_is_one_of_its_image(world):
    images = json.loads(world.karpathy_path.read_text())["images"]
    captions = {
        i["cocoid"]: [s["raw"].lower().strip(".") for s in i["sentences"]]
        for i in images
    }
    dialogs = json.loads(world.visdial_path("val").read_text())["data"]
    for dialog in dialogs["dialogs"]:
        assert dialog["caption"] in captions[dialog["image_id"]]


def test_the_second_time_nothing_is_built(world, root):
    before = (world.root / "world.json").stat().st_mtime_ns
    again = load_world(root, progress=False, **SIZES)
    assert (again.root / "world.json").stat().st_mtime_ns == before


def test_the_same_seed_gives_the_same_bytes(world, tmp_path):
    other = load_world(tmp_path, progress=False, **SIZES)
    assert contents(other.root) == contents(world.root)


def test_another_seed_gives_another_world(world, root):
    other = load_world(root, seed=1, progress=False, **SIZES)
    assert other.root != world.root
    assert not set(other.scenes("train")) & set(world.scenes("train"))


@pytest.mark.parametrize("damage", ["no about", "short file", "no images"])
def test_a_damaged_world_is_built_again(world, tmp_path, damage):
    copy = tmp_path / world.root.name
    shutil.copytree(world.root, copy)
    if damage == "no about":
        (copy / "world.json").unlink()
    elif damage == "no images":
        (copy / "images_val.npy").unlink()
    else:
        (copy / "dataset_world.json").write_text("{")
    again = load_world(tmp_path, progress=False, **SIZES)
    assert contents(again.root) == contents(world.root)
    assert [p.name for p in tmp_path.iterdir()] == [copy.name]


def test_an_interrupted_build_leaves_nothing(tmp_path, monkeypatch):
    def interrupt(scenes):
        raise KeyboardInterrupt

    monkeypatch.setattr("reproduce.world.world.render", interrupt)
    with pytest.raises(KeyboardInterrupt):
        load_world(tmp_path, progress=False, **SIZES)
    assert list(tmp_path.iterdir()) == []


def test_a_build_that_comes_second_keeps_the_first(
    world, tmp_path, monkeypatch
):
    def quicker(scenes):
        shutil.copytree(world.root, tmp_path / world.root.name)
        monkeypatch.undo()
        return render(scenes)

    monkeypatch.setattr("reproduce.world.world.render", quicker)
    late = load_world(tmp_path, progress=False, **SIZES)
    assert (late.root / "world.json").stat().st_mtime_ns == (
        (world.root / "world.json").stat().st_mtime_ns
    )
    assert [p.name for p in tmp_path.iterdir()] == [world.root.name]


def test_the_cache_directory_can_be_set(world, root, monkeypatch):
    monkeypatch.setenv("TFCAP_CACHE", str(root))
    assert load_world(progress=False, **SIZES).root == world.root


def test_progress_is_one_line_on_standard_error(tmp_path, capsys):
    load_world(tmp_path, **SIZES)
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and "built in" in err


@pytest.mark.parametrize("sizes", [{"train": 3}, {"val": 0}, {"test": 1.5}])
def test_sizes_that_make_no_world_are_refused(tmp_path, sizes):
    with pytest.raises(ValueError, match="must be an integer of at least"):
        load_world(tmp_path, **sizes)


def test_an_unknown_split_is_refused(world):
    with pytest.raises(ValueError, match="`split` must be one of"):
        world.images("dev")
