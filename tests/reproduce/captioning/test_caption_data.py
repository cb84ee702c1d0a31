import json

import numpy as np
import pytest
from PIL import Image

from reproduce.captioning import caption_files
from reproduce.captioning import caption_videos
from reproduce.captioning import caption_world
from reproduce.captioning.load_data import lacks_validation
from reproduce.captioning.load_data import load_data
from reproduce.comparisons.strangers.learned_data import learned_data
from reproduce.psst.settings import PSSTSettings
from reproduce.world import load_video_world
from reproduce.world.scene_encoder import SceneEncoder
from tests.reproduce.psst.tiny_study import TINY
from tfcap.data import Backbone
from tfcap.data import coco_captions
from tfcap.data import extract_features
from tfcap.data import save_features
from tfcap.data.features import FeatureWriter

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
    save_features(tmp_path / "features.npy", np.arange(5), grid)
    return tmp_path


def test_a_data_set_in_files_has_three_splits(root):
    data = caption_files(TINY, root)
    assert data.name == "tiny"
    assert [len(x) for x in (data.train, data.validation, data.test)] == [
        3,
        1,
        1,
    ]
    # A speaker that sees the whole image: one position, which its networks
    # scale by the train split.
    assert data.train_features.shape == (3, 1, 3)
    grid = np.arange(5 * 4 * 3, dtype="float32").reshape(5, 4, 3)
    found = data.test_features
    np.testing.assert_array_equal(found, grid[4:].mean(1, keepdims=True))
    scale = data.image_preprocessing()
    train = np.asarray(scale(data.train_features))
    np.testing.assert_allclose(train.mean(axis=(0, 1)), 0, atol=1e-6)
    np.testing.assert_allclose(train.std(axis=(0, 1)), 1, atol=1e-5)
    test = np.asarray(scale(data.test_features))
    assert test.mean() > 1
    # A whole grid is averaged first; and older networks get it prepared.
    np.testing.assert_allclose(scale(grid[4:]), test, rtol=1e-6)
    older = data.prepared_outside()
    assert older.image_preprocessing() == "outside"
    np.testing.assert_allclose(older.test_features[[0]], test, rtol=1e-6)
    assert older.digest == data.digest


def test_a_speaker_that_attends_has_all_positions(root):
    settings = PSSTSettings(speaker="att2in", max_length=6, min_count=1)
    data = caption_files(settings, root)
    assert data.train_features[np.arange(3)].shape == (3, 4, 3)


def test_captions_of_all_splits_are_read_once(root, monkeypatch):
    wanted, read = caption_files(TINY, root), []
    read_json = coco_captions.read_json
    monkeypatch.setattr(
        coco_captions,
        "read_json",
        lambda *args, **options: (
            read.append(args) or read_json(*args, **options)
        ),
    )
    assert caption_files(TINY, root).digest == wanted.digest
    assert len(read) == 1


def test_photographs_of_a_folder_are_shown_by_their_names(root):
    assert caption_files(TINY, root).test_images.filenames == ["4.jpg"]
    (root / "photographs").mkdir()
    Image.new("RGB", (600, 300)).save(root / "photographs" / "4.jpg")
    options = {"images": root / "photographs"}
    data = load_data("flickr8k", TINY, root, **options)
    assert data.test_images(0).shape == (240, 480, 3)
    with pytest.raises(ValueError, match="`--images` must come with data in"):
        load_data("world", TINY, root, **options)


def test_two_feature_files_are_one_too_many(root):
    copy = (root / "features.npy").read_bytes()
    (root / "more_features.npy").write_bytes(copy)
    with pytest.raises(ValueError, match=r"one file .*features.*, more_f"):
        caption_files(TINY, root)


VIDEOS = {"train": 4, "val": 2, "test": 3}


def test_videos_in_files_have_frames_for_positions(tmp_path):
    world = load_video_world(tmp_path, progress=False, **VIDEOS)
    videos = [
        (name, frames)
        for split in VIDEOS
        for name, frames in zip(world.video_ids(split), world.frames(split))
    ]
    colors = Backbone("none", "none", (8, 8), "raw", lambda images: images)
    extract_features(
        colors, videos, world.root / "features.npy", frames=3, progress=False
    )
    settings = PSSTSettings(speaker="att2in", max_length=8, min_count=1)
    data = caption_files(settings, world.root)
    assert data.name == "tgif-v1"
    assert list(data.test.image_ids) == world.video_ids("test")
    assert data.train_features[np.arange(4)].shape == (4, 3, 3)
    assert caption_files(TINY, world.root).test_features[[0]].shape == (1, 1, 3)


def test_two_files_of_captions_are_one_too_many(root):
    (root / "tgif-v1.0.tsv").write_text("")
    with pytest.raises(ValueError, match=r"dataset_\*.json\* or .* captions"):
        caption_files(TINY, root)


def test_videos_of_the_world_are_captioned(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "reproduce.world.features.pretrain_scene_encoder",
        lambda *args, **options: SceneEncoder(filters=2),
    )
    data = caption_videos(TINY, tmp_path, verbose=0, **VIDEOS)
    assert [len(x) for x in (data.train, data.validation, data.test)] == [
        4,
        2,
        3,
    ]
    assert data.train.counts.tolist() == [5] * 4
    # A speaker that sees the whole video: the mean over frames.
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


def test_captions_may_be_those_of_flickr(tmp_path):
    name = "{}_abc.jpg".format
    lines = [
        f"{name(i)}#{k}\tA cat {i} .\n" for i in range(5) for k in range(2)
    ]
    (tmp_path / "Flickr8k.token.txt").write_text("".join(lines))
    # It lies beside the captions in the archive.
    (tmp_path / "Flickr8k.lemma.token.txt").write_text("".join(lines))
    for part, rows in [("train", (0, 4, 2)), ("dev", (3,)), ("test", (1,))]:
        path = tmp_path / f"Flickr_8k.{part}Images.txt"
        path.write_text("".join(f"{name(row)}\n" for row in rows))
    values = np.arange(5 * 2 * 3).reshape(5, 2, 3)
    save_features(tmp_path / "my_features.npy", range(5), values)
    data = caption_files(TINY, tmp_path)
    assert data.name == "Flickr8k"
    assert data.train.image_ids.tolist() == [0, 2, 4]
    np.testing.assert_array_equal(
        data.test_features[[0]], values[[1]].mean(1, keepdims=True)
    )
    both = caption_files(TINY, tmp_path, train="train+val")
    assert both.train.image_ids.tolist() == [0, 2, 3, 4]
    assert both.digest != data.digest


def test_images_that_an_extraction_left_out_are_left_out(root):
    path = root / "features.npy"
    path.unlink()
    with FeatureWriter(path, np.arange(5), (4, 3)) as writer:
        writer.write([0, 2, 3, 4], np.arange(48.0).reshape(4, 4, 3))
        writer.finish({1: "1.jpg (cannot identify image file)"})
    with pytest.warns(UserWarning, match="lacks 1 of 5 images.*: 1"):
        data = caption_files(TINY, root)
    assert data.train.image_ids.tolist() == [0, 2]
    assert data.train_features.shape == (2, 1, 3)


def test_a_table_does_and_test_is_validated_on(root):
    splits = ["train", "train", "test"]
    rows = [f"{i}.png,A thing,{split}\n" for i, split in enumerate(splits)]
    (root / "dataset_tiny.json").unlink()
    path = root / "captions.csv"
    path.write_text("".join(["image,caption,split\n", *rows]))
    (root / "features.npy").unlink()
    names = ["0.png", "1.png", "2.png"]
    features = np.random.default_rng(0).normal(size=(3, 4, 3))
    save_features(root / "features.npy", names, features)
    data = caption_files(TINY, root)
    assert list(data.train.image_ids) == names[:2]
    assert list(data.validation.image_ids) == list(data.test.image_ids)
    assert lacks_validation(root)
    assert len(learned_data("own", TINY, root).train) == 2
