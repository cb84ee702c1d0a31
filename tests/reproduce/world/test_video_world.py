import numpy as np
import pytest

from reproduce.world import judge_video
from reproduce.world import load_video_world
from reproduce.world import render_videos
from tfcap.data import load_captions

SIZES = {"train": 7, "val": 3, "test": 4}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("worlds")


@pytest.fixture(scope="module")
def world(root):
    return load_video_world(root, progress=False, **SIZES)


def test_frames_truths_and_captions_go_together(world):
    seen = []
    for split, size in SIZES.items():
        frames, videos = world.frames(split), world.videos(split)
        assert frames.shape == (size, 8, 64, 64, 3)
        np.testing.assert_array_equal(render_videos(videos), frames)
        captions = load_captions(world.tgif_path, split)
        assert captions.image_ids == world.video_ids(split)
        for video, five in zip(videos, captions.captions):
            assert len(five) == 5
            assert all(judge_video(video, caption) == 1 for caption in five)
        seen += captions.image_ids
    assert len(set(seen)) == sum(SIZES.values())


def test_the_second_time_nothing_is_built(world, root):
    before = (world.root / "world.json").stat().st_mtime_ns
    again = load_video_world(root, progress=False, **SIZES)
    assert (again.root / "world.json").stat().st_mtime_ns == before


def test_the_same_seed_gives_the_same_bytes(world, tmp_path):
    other = load_video_world(tmp_path, progress=False, **SIZES)
    for path in world.root.rglob("*"):
        if path.is_file():
            found = other.root / path.relative_to(world.root)
            assert found.read_bytes() == path.read_bytes()


def test_a_list_that_is_lost_is_written_again(world, root):
    path = world.root / "splits" / "val.txt"
    path.unlink()
    load_video_world(root, progress=False, **SIZES)
    assert path.exists()


def test_another_seed_gives_other_videos(world, root):
    other = load_video_world(root, seed=1, progress=False, **SIZES)
    assert not set(other.videos("train")) & set(world.videos("train"))


def test_sizes_that_make_no_world_are_refused(tmp_path):
    with pytest.raises(ValueError, match="`val` must be an integer of at leas"):
        load_video_world(tmp_path, val=0)
