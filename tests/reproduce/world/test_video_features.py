import numpy as np
import pytest

from reproduce.world.features import pool_frames
from reproduce.world.features import video_features
from reproduce.world.features import video_world_with_features
from reproduce.world.scene_encoder import SceneEncoder

SIZES = {"train": 4, "val": 2, "test": 3}


@pytest.fixture(scope="module")
def encoder():
    return SceneEncoder(filters=2)


def moving(frames=4):
    """One thing that goes one cell a frame, and one that stays."""
    cells = np.zeros((1, frames, 6, 3))
    for frame in range(frames):
        cells[0, frame, frame] = 5.0, 0.0, frame
    cells[0, :, 5] = 0.0, 7.0, 5.0
    return cells


def test_a_mean_over_frames_keeps_where_things_go_and_what_moves():
    cells = moving()
    seen, change, changing = np.split(pool_frames(cells).mean(1)[0], 3)
    np.testing.assert_allclose(seen, cells.mean((0, 1, 2)))
    # The third feature tells the place: from 0 to 3, over 6 cells, 4 frames.
    np.testing.assert_allclose(change, [0, 0, 3 / 6 / 4])
    assert changing[0] > 0 and changing[1] == 0
    backwards = pool_frames(cells[:, ::-1]).mean(1)[0]
    np.testing.assert_allclose(backwards[:3], seen)
    np.testing.assert_allclose(backwards[3:6], -change)
    np.testing.assert_allclose(backwards[6:], changing)


def test_where_nothing_happens_only_the_mean_is_left():
    cells = np.repeat(np.random.default_rng(0).normal(size=(2, 1, 6, 3)), 4, 1)
    pooled = pool_frames(cells)
    assert pooled.shape == (2, 4, 9) and not pooled[..., 3:].any()
    np.testing.assert_array_equal(pool_frames(cells, False), pooled[..., :3])


def test_what_changes_is_what_was_and_is_there():
    cells = np.random.default_rng(0).normal(size=(1, 2, 5, 3))
    first, second = cells[0]
    wanted = np.zeros(3)
    for a, b in zip(first, second):
        wanted += np.sqrt(((a - b) ** 2).sum()) * (a + b) / 2 / 5
    np.testing.assert_allclose(pool_frames(cells)[0, 1, 6:], wanted)


def test_videos_are_seen_frame_by_frame(encoder):
    frames = np.random.default_rng(0).integers(0, 255, (3, 2, 64, 64, 3))
    frames = frames.astype("uint8")
    features = video_features(frames, encoder, batch_size=2)
    assert features.shape == (3, 2, 192) and features.dtype == np.float16
    cells = np.array(encoder(frames[2]))
    np.testing.assert_allclose(
        features[2], pool_frames(cells[None])[0], rtol=0.02, atol=0.02
    )


def test_a_world_of_videos_comes_with_features(encoder, tmp_path):
    options = {"verbose": 0, "encoder": encoder, **SIZES}
    world, features = video_world_with_features(tmp_path, **options)
    assert [x.shape for x in features] == [(n, 8, 192) for n in (4, 2, 3)]
    assert [len(world.videos(split)) for split in SIZES] == [4, 2, 3]
    _, plain = video_world_with_features(tmp_path, motion=False, **options)
    np.testing.assert_array_equal(plain[0], features[0][..., :64])


def test_features_by_the_own_encoder_are_kept(encoder, tmp_path, monkeypatch):
    trained = []

    def train(stills, **options):
        trained.append(options["epochs"])
        return encoder

    room = "reproduce.world.features."
    monkeypatch.setattr(room + "load_world", lambda *args, **options: None)
    monkeypatch.setattr(room + "pretrain_scene_encoder", train)
    for _ in range(2):
        world, features = video_world_with_features(
            tmp_path, verbose=0, encoder_epochs=2, **SIZES
        )
    assert trained == [2]
    assert (world.root / "features_val_e2_motion.npy").exists()
    np.testing.assert_array_equal(
        features[1], video_features(world.frames("val"), encoder)
    )
