import numpy as np
import pytest

from reproduce import command
from reproduce.comparisons.strangers import STRANGER_SETTINGS
from reproduce.comparisons.strangers import learned_data as module
from reproduce.comparisons.strangers.learned_data import learned_data
from reproduce.comparisons.strangers.settings import MAKES
from reproduce.world import features
from tests.eager import run_eagerly
from tests.reproduce.captioning.tiny_files import write_files

QUICK = STRANGER_SETTINGS["quick"]


def ids(data):
    return data.train.image_ids.tolist()


def test_a_panel_learns_from_other_images_where_there_are_enough(
    tmp_path, monkeypatch
):
    splits = ["train"] * 4 + ["restval"] * 2 + ["val"] * 2 + ["test"] * 3
    root = write_files(tmp_path, splits=splits)
    few = learned_data("flickr8k", QUICK, root)
    assert ids(few) == [100, 101, 102, 103, 106, 107]
    monkeypatch.setattr(module, "ENOUGH", 2)
    assert ids(learned_data("flickr8k", QUICK, root)) == [106, 107]
    named = learned_data("flickr8k", QUICK, root, "restval")
    assert ids(named) == [104, 105]
    # Means over positions, whatever the speaker sees.
    assert named.train_features.shape == (2, 1, 3)
    with pytest.raises(ValueError, match="needs --root"):
        learned_data("flickr8k", QUICK)
    with pytest.raises(ValueError, match="`--strangers-split` must come with"):
        learned_data("world", QUICK, split="val")


def test_other_scenes_are_seen_by_the_first_worlds_encoder(
    tmp_path, monkeypatch
):
    seen = []

    def encode(images, encoder):
        seen.append(encoder)
        return np.zeros((len(images), 1, 2), "float16")

    def pretrained(world, epochs, verbose):
        return f"encoder of seed {world.about['seed']}, {epochs} epochs"

    monkeypatch.setattr(features, "scene_features", encode)
    monkeypatch.setattr(features, "pretrain_scene_encoder", pretrained)
    sizes = {"train": 50, "val": 5, "test": 5}
    world, _ = features.other_scenes(
        tmp_path, verbose=0, encoder_epochs=1, **sizes
    )
    assert world.about["seed"] == 1000
    assert world.about["sizes"] == {"train": 50, "val": 10, "test": 10}
    first = features.load_world(tmp_path, progress=False, **sizes)
    images = [np.asarray(w.images("train")) for w in (world, first)]
    assert (images[0] != images[1]).any(axis=(1, 2, 3)).all()
    assert seen == ["encoder of seed 0, 1 epochs"] * 3
    assert len([*world.root.glob(f"features_*{first.root.name}*.npy")]) == 3


def test_the_command_trains_a_panel_and_tells_recall(
    tmp_path, capsys, monkeypatch
):
    for make in ("transformer", "dual_encoder"):
        monkeypatch.delitem(MAKES, make)
    root = write_files(tmp_path)
    out = tmp_path / "panel"
    line = ["strangers", "--data", "flickr8k", "--settings", "quick"]
    line += ["--root", str(root), "--strangers", str(out), "--quiet"]
    with run_eagerly():
        assert command.main(line) == 0
    told = capsys.readouterr().out
    assert "trained on 8 images of tiny, 6 of them training images" in told
    assert "bag_of_words" in told and "spread" in told
    assert command.main([*line, "--strangers-split", "train+test"]) == 2
    assert "another study's" in capsys.readouterr().err
