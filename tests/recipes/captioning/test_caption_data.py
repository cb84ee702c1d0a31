import json

import numpy as np
import pytest

from tests.recipes.captioning.tiny_study import TINY
from tfcap.data import FeatureWriter
from tfcap.data import extract_clip_features
from tfcap.data.backbones import Backbone
from tfcap.data.world import load_clip_world
from tfcap.models import SceneEncoder
from tfcap.recipes.captioning import CaptioningSettings
from tfcap.recipes.captioning import caption_clips
from tfcap.recipes.captioning import caption_files
from tfcap.recipes.captioning import caption_world

SPLITS = ("train", "train", "train", "val", "test")


@pytest.fixture
def root(tmp_path):
    """A folder in the published layout, of five images."""
    images = [
        {
            "imgid": i,
            "filename": f"{i}.jpg",
            "split": split,
            "sentences": [
                {"raw": f"A cat {i}.", "tokens": ["a", "cat", str(i)]}
            ],
        }
        for i, split in enumerate(SPLITS)
    ]
    (tmp_path / "dataset_tiny.json").write_text(json.dumps({"images": images}))
    grid = np.arange(5 * 4 * 3, dtype="float32").reshape(5, 4, 3)
    with FeatureWriter(
        tmp_path / "features.h5",
        np.arange(5),
        (2, 2),
        3,
        backbone="none",
        layer="none",
        preprocessing="none",
        input_size=(2, 2),
    ) as writer:
        writer.write(np.arange(5), grid)
    return tmp_path


def test_a_data_set_in_files_has_three_splits(root):
    data = caption_files(TINY, root)
    assert data.name == "tiny"
    assert [len(x) for x in (data.train, data.validation, data.test)] == [
        3,
        1,
        1,
    ]
    # A speaker that sees the whole image: one position, scaled by the train
    # split.
    train = data.train_features[np.arange(3)]
    assert train.shape == (3, 1, 3)
    np.testing.assert_allclose(train.mean(axis=(0, 1)), 0, atol=1e-6)
    np.testing.assert_allclose(train.std(axis=(0, 1)), 1, atol=1e-5)
    assert data.test_features[np.arange(1)].mean() > 1


def test_a_speaker_that_attends_has_all_positions(root):
    settings = CaptioningSettings(speaker="att2in", max_length=6, min_count=1)
    data = caption_files(settings, root)
    assert data.train_features[np.arange(3)].shape == (3, 4, 3)


def test_two_feature_files_are_one_too_many(root):
    (root / "more.h5").write_bytes((root / "features.h5").read_bytes())
    with pytest.raises(ValueError, match=r"one file \*.h5. .* features.h5, mo"):
        caption_files(TINY, root)


CLIPS = {"train": 4, "val": 2, "test": 3}


def test_clips_in_files_have_frames_for_positions(tmp_path):
    world = load_clip_world(tmp_path, progress=False, **CLIPS)
    clips = [
        (name, frames)
        for split in CLIPS
        for name, frames in zip(world.clip_ids(split), world.frames(split))
    ]
    colors = Backbone("none", "none", (8, 8), "raw", lambda images: images)
    extract_clip_features(
        colors, clips, world.root / "features.h5", frames=3, progress=False
    )
    settings = CaptioningSettings(speaker="att2in", max_length=8, min_count=1)
    data = caption_files(settings, world.root)
    assert data.name == "tgif-v1"
    assert list(data.test.image_ids) == world.clip_ids("test")
    assert data.train_features[np.arange(4)].shape == (4, 3, 3)
    assert caption_files(TINY, world.root).test_features[[0]].shape == (1, 1, 3)


def test_two_files_of_captions_are_one_too_many(root):
    (root / "tgif-v1.0.tsv").write_text("")
    with pytest.raises(ValueError, match=r"dataset_\*.json\* or tgif\*.tsv\*"):
        caption_files(TINY, root)


def test_clips_of_the_world_are_captioned(tmp_path):
    data = caption_clips(
        TINY, tmp_path, verbose=0, encoder=SceneEncoder(filters=2), **CLIPS
    )
    assert [len(x) for x in (data.train, data.validation, data.test)] == [
        4,
        2,
        3,
    ]
    assert data.train.counts.tolist() == [5] * 4
    # A speaker that sees the whole clip: the mean over frames.
    assert data.test_features[np.arange(3)].shape == (3, 1, 192)
    assert data.test_images(2).shape == (64, 256, 3)
    first = [texts[0] for texts in data.test.texts]
    assert data.judge(first) == {"motion": 1.0, "motion_and_thing": 1.0}
    assert data.judge(["a picture"] * 3)["motion"] == 0.0


@pytest.mark.slow
def test_the_world_is_captioned(tmp_path):
    data = caption_world(
        TINY, tmp_path, verbose=0, encoder_epochs=1, train=50, val=3, test=4
    )
    assert [len(x) for x in (data.train, data.validation, data.test)] == [
        50,
        3,
        4,
    ]
    assert data.train.references.shape[2] == TINY.max_length
    assert data.test_features[np.arange(4)].shape[:2] == (4, 1)
    assert data.test_images(0).shape == (64, 64, 3)
    assert data.vocabulary is data.test.vocabulary
