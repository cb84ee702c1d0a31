import keras
import numpy as np
import pytest

from reproduce.world import dense_targets
from reproduce.world import render
from reproduce.world import sample_scene
from reproduce.world.scene_encoder import SceneEncoder


@pytest.fixture(scope="module")
def images():
    rng = np.random.default_rng(0)
    return render([sample_scene(rng) for _ in range(4)])


def test_a_feature_per_cell(images):
    features = SceneEncoder(units=50, filters=4)(images)
    assert features.shape == (4, 36, 50)


def test_heads_have_a_class_for_nothing(images):
    logits = SceneEncoder(filters=4)(images, attributes=True)
    shapes = {name: tuple(x.shape) for name, x in logits.items()}
    assert shapes == {
        "shape": (4, 36, 9),
        "color": (4, 36, 9),
        "size": (4, 36, 4),
        "texture": (4, 36, 4),
        "background": (4, 6),
    }


def test_targets_of_scenes_fit_the_heads(images):
    rng = np.random.default_rng(0)
    targets = dense_targets([sample_scene(rng) for _ in range(4)])
    logits = SceneEncoder(filters=4)(images, attributes=True)
    for name, values in targets.items():
        assert values.shape == tuple(logits[name].shape[:-1])
        assert values.max() < logits[name].shape[-1]


def test_bytes_and_floats_of_the_same_pixels_give_the_same(images):
    encoder = SceneEncoder(filters=4)
    np.testing.assert_allclose(
        encoder(images), encoder(images.astype("float32")), rtol=1e-6, atol=1e-6
    )


def test_an_image_is_encoded_alone(images):
    encoder = SceneEncoder(filters=4)
    np.testing.assert_allclose(
        encoder(images)[:1], encoder(images[:1]), atol=1e-4
    )


def test_cells_without_a_thing_hold_only_the_ground(images):
    encoder = SceneEncoder(filters=4)
    encoder(images)
    kernel, bias = encoder.heads["shape"].get_weights()
    bias[0] = 1000.0
    encoder.heads["shape"].set_weights([kernel, bias])
    features = np.array(encoder(images))
    ground = np.array(encoder.perceive(images)[1])
    filled = np.abs(features).max((0, 1)) > 0
    assert filled.sum() == 8
    np.testing.assert_allclose(features[..., filled], ground / 2, atol=1e-6)


def test_the_place_of_a_thing_is_told_by_its_cell(images):
    encoder = SceneEncoder(filters=4)
    encoder(images)
    kernel, bias = encoder.heads["shape"].get_weights()
    bias[0] = -1000.0
    encoder.heads["shape"].set_weights([kernel, bias])
    place = np.array(encoder(images))[:, :, -12:]
    np.testing.assert_allclose(place[0], place[1], rtol=1e-5, atol=1e-6)
    rows, columns = place[0, :, :6].argmax(-1), place[0, :, 6:].argmax(-1)
    np.testing.assert_array_equal(rows * 6 + columns, np.arange(36))


def test_attributes_are_directions_of_equal_norm(images):
    encoder = SceneEncoder(filters=4)
    encoder(images)
    (directions,) = encoder.directions.get_weights()
    np.testing.assert_allclose(directions @ directions.T, np.eye(22), atol=1e-5)


def test_calibration_changes_features_and_not_what_is_recognized(images):
    encoder = SceneEncoder(filters=4)
    before = np.array(encoder(images))
    logits = encoder(images, attributes=True)["color"]
    encoder.calibrate(np.zeros((44, 44)), np.ones(44))
    assert not np.allclose(encoder(images), before)
    np.testing.assert_array_equal(
        encoder(images, attributes=True)["color"], logits
    )


def test_calibration_and_directions_are_not_trained(images):
    encoder = SceneEncoder(filters=4)
    encoder(images)
    names = {w.path.split("/")[-2] for w in encoder.trainable_weights}
    assert not names & {"whiten", "directions"}
    assert {"embedding", "ground", "shape", "background"} <= names


def test_saving_keeps_weights_and_calibration(images, tmp_path):
    encoder = SceneEncoder(units=48, filters=4, scale=3.0, place_scale=1.0)
    encoder(images)
    encoder.calibrate(np.full((28, 28), 0.1), np.ones(28))
    encoder.save(tmp_path / "encoder.keras")
    again = keras.saving.load_model(tmp_path / "encoder.keras")
    assert again.get_config() == encoder.get_config()
    np.testing.assert_allclose(
        again(images), encoder(images), rtol=1e-5, atol=1e-6
    )


def test_too_few_units_are_refused():
    with pytest.raises(ValueError, match="`units` must be at least 42"):
        SceneEncoder(units=41)


def test_images_of_another_size_are_refused():
    with pytest.raises(ValueError, match="`images` must have shape"):
        SceneEncoder(filters=4)(np.zeros((1, 32, 32, 3), "uint8"))
