import keras
import numpy as np
import pytest

from tfcap.layers import ImageStandardization

RNG = np.random.default_rng(0)
IMAGES = (RNG.normal(size=(5, 4, 3)) * [1, 30, 0.1] + [0, 900, 2]).astype("f4")
MEAN, DEVIATION = IMAGES.mean((0, 1)), IMAGES.std((0, 1))


@pytest.mark.parametrize("pooled", [False, True])
def test_every_feature_is_shifted_and_scaled_by_its_own_numbers(pooled):
    layer = ImageStandardization(MEAN, DEVIATION, pooled=pooled)
    images = IMAGES.mean(1, keepdims=True) if pooled else IMAGES
    wanted = np.empty(images.shape)
    for place in np.ndindex(*images.shape):
        d = place[-1]
        wanted[place] = (images[place] - MEAN[d]) / DEVIATION[d]
    np.testing.assert_allclose(layer(IMAGES), wanted, atol=1e-4)
    # Means of means are what they were.
    np.testing.assert_allclose(layer(images), wanted, atol=1e-4)


def test_numbers_survive_a_config_to_the_last_digit():
    layer = ImageStandardization(MEAN, DEVIATION, positions=4)
    again = ImageStandardization.from_config(layer.get_config())
    np.testing.assert_array_equal(again(IMAGES), layer(IMAGES))
    with pytest.raises(ValueError, match="`image` must have 4 positions"):
        again(IMAGES[:, :3])


def test_averages_survive_a_config_and_take_any_number_of_positions():
    layer = ImageStandardization(MEAN, DEVIATION, pooled=True, positions=4)
    again = ImageStandardization.from_config(layer.get_config())
    found = again(IMAGES[:, :3])
    np.testing.assert_array_equal(found, layer(IMAGES[:, :3]))
    assert found.shape == again(keras.Input((3, 3), 5)).shape == (5, 1, 3)
    unpooled = ImageStandardization(MEAN, DEVIATION)
    assert unpooled(keras.Input((4, 3), 5)).shape == (5, 4, 3)


def test_half_precision_does_not_round_what_is_large_beside_its_deviation():
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        layer = ImageStandardization(MEAN, DEVIATION)
        found = layer(IMAGES)
    finally:
        keras.config.set_dtype_policy("float32")
    assert keras.backend.standardize_dtype(found.dtype) == "bfloat16"
    wanted = (IMAGES - MEAN) / DEVIATION
    found = keras.ops.cast(found, "float32")
    np.testing.assert_allclose(found, wanted, atol=0.02)


@pytest.mark.parametrize(
    "images, told",
    [
        (IMAGES[..., :2], "must have 3 features"),
        (IMAGES.mean(1, keepdims=True), "must have 4 positions"),
        (IMAGES[:, 0], r"must have shape \(B, P, D\)"),
    ],
)
def test_features_of_another_kind_are_refused(images, told):
    layer = ImageStandardization(MEAN, DEVIATION, positions=4)
    with pytest.raises(ValueError, match=f"`image` {told}"):
        layer(images)


@pytest.mark.parametrize(
    "mean, deviation",
    [
        *(([0, np.nan], [1, 1]), ([0, np.inf], [1, 1]), ([0, 0], [1, np.nan])),
        *(([0, 0], [1, -1]), ([0, 0], [1, 0]), ([0, 0, 0], [1, 1])),
    ],
)
def test_numbers_must_be_finite_and_fit(mean, deviation):
    with pytest.raises(ValueError, match="must hold one finite number"):
        ImageStandardization(mean, deviation)
