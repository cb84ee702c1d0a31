import numpy as np
import pytest

from reproduce.world import dense_targets
from reproduce.world import load_world
from reproduce.world.features import pretrain_scene_encoder
from reproduce.world.features import scene_features
from tests.eager import run_eagerly


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    root = tmp_path_factory.mktemp("worlds")
    return load_world(root, train=240, val=6, test=5, progress=False)


@pytest.fixture(scope="module")
def encoder(world):
    return pretrain_scene_encoder(world, epochs=8, batch_size=32, filters=8)


def test_it_learns_the_attributes_of_the_train_scenes(world, encoder):
    logits = encoder(np.array(world.images("train")), attributes=True)
    targets = dense_targets(world.scenes("train"))
    there = targets["shape"] > 0
    right = np.array(logits["color"])[..., 1:].argmax(-1) + 1
    assert np.mean(right[there] == targets["color"][there]) > 0.6
    ground = np.array(logits["background"]).argmax(-1)
    assert np.mean(ground == targets["background"]) > 0.8


def test_features_hold_things_and_hardly_anything_else(world, encoder):
    features = scene_features(world, "train", encoder=encoder)
    assert features.shape == (240, 36, 64) and features.dtype == np.float16
    norms = np.linalg.norm(features.astype("float32"), axis=-1)
    there = dense_targets(world.scenes("train"))["shape"] > 0
    assert norms[there].mean() > 2 * norms[~there].mean()


def test_a_second_training_is_read_from_the_cache(world, encoder):
    again = pretrain_scene_encoder(world, epochs=8, batch_size=32, filters=8)
    images = world.images("val")
    np.testing.assert_array_equal(again(images), encoder(images))


def test_the_same_seed_trains_the_same_encoder(world):
    with run_eagerly():
        first, second = (
            pretrain_scene_encoder(
                world, epochs=1, filters=2, seed=3, cache=False
            ).get_weights()
            for _ in range(2)
        )
    for a, b in zip(first, second):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)


def test_features_are_computed_once(world, encoder, tmp_path):
    path = tmp_path / "features.npy"
    first = scene_features(world, "test", path, encoder)
    changed = np.array(first) + 1
    np.save(path, changed)
    again = scene_features(world, "test", path, encoder)
    np.testing.assert_array_equal(again, changed)
    # No part of a file is left.
    left = {path.name for path in tmp_path.glob("*features*")}
    assert left == {"features.npy", ".features.npy.lock"}


def test_features_are_in_the_order_of_the_images(world, encoder):
    features = scene_features(world, "val", encoder=encoder, batch_size=4)
    alone = np.array(encoder(world.images("val")[5:6]))
    np.testing.assert_allclose(features[5:6], alone, rtol=1e-2, atol=1e-2)
