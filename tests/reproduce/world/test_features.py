import keras
import numpy as np
import pytest

from reproduce.world import SceneEncoder
from reproduce.world import dense_targets
from reproduce.world import load_world
from reproduce.world import render
from reproduce.world.features import pool_frames
from reproduce.world.features import pretrain_scene_encoder
from reproduce.world.features import scene_features
from reproduce.world.features import video_features
from reproduce.world.features import video_world_with_features
from reproduce.world.features import world_with_features
from tests.eager import run_eagerly

VIDEOS = {"train": 4, "val": 2, "test": 3}


@pytest.fixture(scope="module")
def images(scenes):
    return render(scenes[:4])


@pytest.fixture
def encoder(images):
    encoder = SceneEncoder(filters=4)
    encoder(images[:1])
    return encoder


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    root = tmp_path_factory.mktemp("worlds")
    return load_world(root, train=240, val=6, test=5, progress=False)


@pytest.fixture(scope="module")
def trained(world):
    return pretrain_scene_encoder(world, epochs=20, filters=8)


def test_an_image_is_encoded_alone_as_bytes_or_floats(images, scenes, encoder):
    features = np.array(encoder(images))
    assert features.shape == (4, 36, 64)
    alone = encoder(images[:1].astype("float32"))
    np.testing.assert_allclose(features[:1], alone, atol=1e-4)
    # Heads have a class for nothing.
    classes = {"shape": 9, "color": 9, "size": 4, "texture": 4, "background": 6}
    logits = encoder(images, attributes=True)
    for name, values in dense_targets(scenes[:4]).items():
        assert logits[name].shape == (*values.shape, classes[name])


def with_shape_bias(encoder, value):
    kernel, bias = encoder.heads["shape"].get_weights()
    bias[0] = value
    encoder.heads["shape"].set_weights([kernel, bias])


def test_cells_without_a_thing_hold_only_the_ground(images, encoder):
    with_shape_bias(encoder, 1000.0)
    features = np.array(encoder(images))
    ground = np.array(encoder.perceive(images)[1])
    filled = np.abs(features).max((0, 1)) > 0
    assert filled.sum() == 8
    np.testing.assert_allclose(features[..., filled], ground / 2, atol=1e-6)


def test_the_place_of_a_thing_is_told_by_its_cell(images, encoder):
    with_shape_bias(encoder, -1000.0)
    place = np.array(encoder(images))[:, :, -12:]
    np.testing.assert_allclose(place[0], place[1], rtol=1e-5, atol=1e-6)
    rows, columns = place[0, :, :6].argmax(-1), place[0, :, 6:].argmax(-1)
    np.testing.assert_array_equal(rows * 6 + columns, np.arange(36))


def test_attributes_are_directions_of_equal_norm_that_are_not_trained(encoder):
    (directions,) = encoder.directions.get_weights()
    np.testing.assert_allclose(directions @ directions.T, np.eye(22), atol=1e-5)
    names = {w.path.split("/")[-2] for w in encoder.trainable_weights}
    assert not names & {"whiten", "directions"}
    assert {"embedding", "ground", "shape", "background"} <= names


def test_a_saved_encoder_is_the_same(images, encoder, tmp_path):
    encoder.whiten.set_weights([np.full((44, 44), 0.1), np.ones(44)])
    encoder.save(tmp_path / "encoder.keras")
    again = keras.saving.load_model(tmp_path / "encoder.keras")
    np.testing.assert_allclose(
        again(images), encoder(images), rtol=1e-5, atol=1e-6
    )


def test_it_learns_the_attributes_of_the_train_scenes(world, trained):
    images = np.array(world.images("train"))
    logits = trained(images, attributes=True)
    targets = dense_targets(world.scenes("train"))
    there = targets["shape"] > 0
    right = np.array(logits["color"])[..., 1:].argmax(-1) + 1
    assert np.mean(right[there] == targets["color"][there]) > 0.6
    ground = np.array(logits["background"]).argmax(-1)
    assert np.mean(ground == targets["background"]) > 0.8
    # Features hold things and hardly anything else.
    features = scene_features(images, trained)
    assert features.shape == (240, 36, 64) and features.dtype == np.float16
    norms = np.linalg.norm(features.astype("float32"), axis=-1)
    assert norms[there].mean() > 2 * norms[~there].mean()
    again = pretrain_scene_encoder(world, epochs=20, filters=8)
    np.testing.assert_array_equal(again(images[:2]), trained(images[:2]))


def test_the_same_world_trains_the_same_encoder_once(tmp_path, monkeypatch):
    def train(world, epochs, verbose):
        return pretrain_scene_encoder(world, epochs, filters=2)

    room = "reproduce.world.features.pretrain_scene_encoder"
    monkeypatch.setattr(room, train)
    sizes = {"train": 50, "val": 2, "test": 2, "encoder_epochs": 1}
    with run_eagerly():
        found = [
            world_with_features(tmp_path / name, verbose=0, **sizes)
            for name in "ab"
        ]
        world, kept = world_with_features(tmp_path / "b", verbose=0, **sizes)
    for first, second, third in zip(found[0][1], found[1][1], kept):
        assert first.shape[1:] == (36, 64)
        np.testing.assert_allclose(first, second, rtol=1e-2, atol=1e-2)
        np.testing.assert_array_equal(second, third)
    names = {path.name for path in world.root.glob("*features*")}
    assert {"features_val_e1.npy", ".features_val_e1.npy.lock"} <= names
    assert len(names) == 6


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
    np.testing.assert_allclose(backwards, [*seen, *-change, *changing])


def test_what_changes_is_what_was_and_is_there():
    cells = np.random.default_rng(0).normal(size=(1, 2, 5, 3))
    first, second = cells[0]
    wanted = np.zeros(3)
    for a, b in zip(first, second):
        wanted += np.sqrt(((a - b) ** 2).sum()) * (a + b) / 2 / 5
    np.testing.assert_allclose(pool_frames(cells)[0, 1, 6:], wanted)
    still = pool_frames(np.repeat(cells[:, :1], 4, 1))
    assert still.shape == (1, 4, 9) and not still[..., 3:].any()


def test_features_of_videos_are_kept(encoder, tmp_path, monkeypatch):
    trained = []

    def train(stills, epochs, verbose):
        trained.append((stills.about["sizes"]["train"], epochs))
        return encoder

    room = "reproduce.world.features."
    monkeypatch.setattr(room + "pretrain_scene_encoder", train)
    options = {"verbose": 0, "encoder_epochs": 2, **VIDEOS}
    for _ in range(2):
        world, features = video_world_with_features(tmp_path, **options)
    assert trained == [(50, 2)]
    assert [x.shape for x in features] == [(n, 8, 192) for n in (4, 2, 3)]
    assert (world.root / "features_val_e2_motion.npy").exists()
    frames = world.frames("val")
    np.testing.assert_array_equal(features[1], video_features(frames, encoder))
    cells = np.array(encoder(frames[1]))
    np.testing.assert_allclose(
        features[1][1], pool_frames(cells[None])[0], rtol=0.02, atol=0.02
    )
