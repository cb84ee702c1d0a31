import numpy as np
import pytest
from PIL import Image

from reproduce.captioning import caption_files
from reproduce.captioning import caption_videos
from reproduce.captioning.load_data import lacks_validation
from reproduce.captioning.load_data import load_data
from reproduce.comparisons.strangers.learned_data import learned_data
from reproduce.psst.settings import PSSTSettings
from reproduce.world import load_video_world
from reproduce.world.scene_encoder import SceneEncoder
from tests.reproduce.captioning.tiny_files import grids
from tests.reproduce.captioning.tiny_files import write_files
from tests.reproduce.psst.tiny_study import TINY
from tfcap.data import Backbone
from tfcap.data import coco_captions
from tfcap.data import extract_features
from tfcap.data import save_features
from tfcap.data.features import FeatureWriter

ATTENDS = PSSTSettings(speaker="att2in", max_length=8, min_count=1)


@pytest.fixture
def root(tmp_path):
    """A folder in the published layout, of eleven images."""
    return write_files(tmp_path)


def lengths(data):
    return [len(x) for x in (data.train, data.validation, data.test)]


def test_a_data_set_in_files_has_three_splits(root):
    data = caption_files(TINY, root)
    assert data.name == "tiny" and lengths(data) == [6, 2, 3]
    assert caption_files(ATTENDS, root).train_features.shape == (6, 4, 3)
    # A speaker that sees the whole image: one position, which its networks
    # scale by the training split.
    assert data.train_features.shape == (6, 1, 3)
    grid, rows = grids().astype("float32")[8:], np.arange(3)
    found = data.test_features[rows]
    np.testing.assert_allclose(found, grid.mean(1, keepdims=True), rtol=1e-5)
    scale = data.image_preprocessing()
    train = np.asarray(scale(data.train_features[np.arange(6)]))
    np.testing.assert_allclose(train.mean(axis=(0, 1)), 0, atol=1e-5)
    np.testing.assert_allclose(train.std(axis=(0, 1)), 1, atol=1e-4)
    test = np.asarray(scale(found))
    # A whole grid is averaged first.
    np.testing.assert_allclose(scale(grid), test, atol=1e-4)


def test_captions_of_all_splits_are_read_once(root, monkeypatch):
    wanted, read = caption_files(TINY, root), []
    read_json = coco_captions.read_json

    def counted(*args, **options):
        read.append(args)
        return read_json(*args, **options)

    monkeypatch.setattr(coco_captions, "read_json", counted)
    assert caption_files(TINY, root).digest == wanted.digest
    assert len(read) == 1


def test_photographs_of_a_folder_are_shown_by_their_names(root):
    names = ["108.jpg", "109.jpg", "110.jpg"]
    assert caption_files(TINY, root).test_images.filenames == names
    (root / "photographs").mkdir()
    for name in names:
        Image.new("RGB", (600, 300)).save(root / "photographs" / name)
    options = {"images": root / "photographs"}
    data = load_data("flickr8k", TINY, root, **options)
    assert data.test_images(1).shape == (240, 480, 3)
    with pytest.raises(ValueError, match="`--images` must come with data in"):
        load_data("world", TINY, root, **options)


@pytest.mark.parametrize(
    "more, message",
    [
        ("more_features.npy", r"one file .*features.*, more_f"),
        ("tgif-v1.0.tsv", r"dataset_\*.json\* or .* captions"),
    ],
)
def test_two_files_of_a_kind_are_one_too_many(root, more, message):
    (root / more).write_text("")
    with pytest.raises(ValueError, match=message):
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
    data = caption_files(ATTENDS, world.root)
    assert data.name == "tgif-v1"
    assert list(data.test.image_ids) == world.video_ids("test")
    assert data.train_features[np.arange(4)].shape == (4, 3, 3)


def test_videos_of_the_world_are_captioned(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "reproduce.world.features.pretrain_scene_encoder",
        lambda *args, **options: SceneEncoder(filters=2),
    )
    data = caption_videos(TINY, tmp_path, verbose=0, **VIDEOS)
    assert lengths(data) == [4, 2, 3]
    assert data.train.counts.tolist() == [5] * 4
    # A speaker that sees the whole video: the mean over frames.
    assert data.test_features[np.arange(3)].shape == (3, 1, 192)
    assert data.test_images(2).shape == (64, 256, 3)
    first = [texts[0] for texts in data.test.texts]
    assert data.judge(first) == {"motion": 1.0, "motion_and_thing": 1.0}
    assert data.judge(["a picture"] * 3)["motion"] == 0.0


def test_captions_may_be_those_of_flickr(tmp_path):
    name = "{}_abc.jpg".format
    lines = [
        f"{name(i)}#{k}\tA cat {i} .\n" for i in range(5) for k in range(2)
    ]
    # The other lies beside the captions in the archive.
    for kind in ("", ".lemma"):
        path = tmp_path / f"Flickr8k{kind}.token.txt"
        path.write_text("".join(lines))
    for part, rows in [("train", (0, 4, 2)), ("dev", (3,)), ("test", (1,))]:
        path = tmp_path / f"Flickr_8k.{part}Images.txt"
        path.write_text("".join(f"{name(row)}\n" for row in rows))
    values = np.arange(5 * 2 * 3).reshape(5, 2, 3)
    save_features(tmp_path / "my_features.npy", range(5), values)
    data = caption_files(TINY, tmp_path)
    assert data.name == "Flickr8k"
    assert data.train.image_ids.tolist() == [0, 2, 4]
    wanted = values[[1]].mean(1, keepdims=True)
    np.testing.assert_array_equal(data.test_features[[0]], wanted)
    both = caption_files(TINY, tmp_path, train="train+val")
    assert both.train.image_ids.tolist() == [0, 2, 3, 4]
    assert both.digest != data.digest


def test_images_that_an_extraction_left_out_are_left_out(root):
    path, ids = root / "features.npy", np.arange(100, 111)
    path.unlink()
    with FeatureWriter(path, ids, (4, 3)) as writer:
        there = [row for row in range(11) if row != 1]
        writer.write(there, grids()[there])
        writer.finish({1: "101.jpg (cannot identify image file)"})
    with pytest.warns(UserWarning, match="lacks 1 of 11 images.*: 101"):
        data = caption_files(TINY, root)
    assert data.train.image_ids.tolist() == [100, *range(102, 106)]
    assert data.train_features.shape == (5, 1, 3)


def test_a_table_does_and_test_is_validated_on(tmp_path):
    names, splits = ["0.png", "1.png", "2.png"], ["train", "train", "test"]
    rows = [f"{x},A thing,{split}\n" for x, split in zip(names, splits)]
    path = tmp_path / "captions.csv"
    path.write_text("".join(["image,caption,split\n", *rows]))
    save_features(tmp_path / "features.npy", names, grids()[:3])
    data = caption_files(TINY, tmp_path)
    assert list(data.train.image_ids) == names[:2]
    assert list(data.validation.image_ids) == list(data.test.image_ids)
    assert lacks_validation(tmp_path)
    assert len(learned_data("own", TINY, tmp_path).train) == 2
