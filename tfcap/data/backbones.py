"""Backbones of three packages behind one face."""

import dataclasses
import importlib
import math
import operator
from collections.abc import Callable

from tfcap.data.hdf5_file import check_weights

#: Register tokens of the models that have been published with some.
_REGISTERS = 4
_MODES = ("raw", "unit", "caffe", "tf", "torch")


@dataclasses.dataclass(frozen=True)
class Backbone:
    """A network that turns images into a grid of features.

    Attributes:
        name: String, kept in the feature file.
        layer: String, the layer that is read, kept in the feature file.
        input_size: Pair of integers, height and width of its images.
        preprocessing: String: `"raw"` (pixels 0 to 255), `"unit"` (0 to 1),
            or `"caffe"`, `"tf"`, `"torch"` as in `keras.applications`.
        network: Function of a float tensor of shape `(B, height, width, 3)`
            that returns a grid `(B, h, w, D)`, or `(B, P, D)` with tokens in
            the rows of a square grid, perhaps after one class token and after
            register tokens (which are left out).
        register_tokens: Integer, number of register tokens, as DINOv2 with
            registers and DINOv3 have 4 of them. Defaults to `None`, unknown:
            there are none, and a number of tokens that would be a square grid
            with four of them as well is refused.
    """

    name: str
    layer: str
    input_size: tuple
    preprocessing: str
    network: Callable
    register_tokens: int | None = None

    def __post_init__(self):
        if self.preprocessing not in _MODES:
            raise ValueError(
                f"`preprocessing` must be one of {', '.join(_MODES)}. "
                f"Received: preprocessing={self.preprocessing!r}."
            )
        if (self.register_tokens or 0) < 0:
            raise ValueError(
                "`register_tokens` must not be negative. Received: "
                f"register_tokens={self.register_tokens}."
            )

    def __call__(self, images):
        """Features of images.

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
            grid = _unroll_tokens(grid, self)
        if grid.ndim != 4:
            raise ValueError(
                "`layer` must give a grid (B, h, w, D). Received: "
                f"layer={self.layer!r} of {self.name}, whose output has shape "
                f"{grid.shape}. Name an earlier layer."
            )
        return grid


def _unroll_tokens(tokens, backbone):
    """Tokens `(B, P, D)` of a transformer as a square grid."""
    count, registers = tokens.shape[1], backbone.register_tokens
    if registers is None and _side(count) and _side(count - 1 - _REGISTERS):
        raise ValueError(
            "`register_tokens` must be given where it does not show in the "
            f"number of tokens. Received: register_tokens=None, layer="
            f"{backbone.layer!r} of {backbone.name} with {count} tokens: a "
            f"square grid, or a smaller one after a class token and "
            f"{_REGISTERS} register tokens. Pass 0 or {_REGISTERS}."
        )
    for class_token in (0, 1):  # where there is one, it comes first
        first = class_token + (registers or 0)
        side = _side(count - first)
        if side:
            grid = tokens[:, first:]
            return grid.reshape(len(grid), side, side, tokens.shape[-1])
    raise ValueError(
        "`layer` must give a square grid of tokens. Received: "
        f"layer={backbone.layer!r} of {backbone.name} with {count} tokens, "
        f"register_tokens={registers}. Where register tokens stand before the "
        "grid, as in DINOv2 with registers and in DINOv3, pass their number, "
        "`register_tokens=4`; for other sizes of the image, a square one."
    )


def _side(count):
    """Side of a square grid of so many tokens; 0 if there is none."""
    side = math.isqrt(max(count, 0))
    return side if side * side == count else 0


def vgg19_backbone(weights=None) -> Backbone:
    """VGG-19's last pooling layer, the features of the VisDial papers.

    Args:
        weights: `"imagenet"` (downloaded by Keras), the path of a weight
            file, or None for random weights. Defaults to None: nothing is
            ever downloaded unasked.

    Returns:
        A `Backbone` with a grid of 7x7 positions of 512 features for images
        of 224x224.
    """
    import keras

    if weights not in (None, "imagenet"):
        check_weights(weights)
    model = keras.applications.VGG19(
        include_top=False, weights=weights, input_shape=(224, 224, 3)
    )
    origin = "imagenet" if weights == "imagenet" else str(weights)
    return Backbone(
        name=f"keras.applications.VGG19[{origin}]",
        layer="block5_pool",
        input_size=(224, 224),
        preprocessing="caffe",
        network=_predictor(model),
    )


def keras_applications_backbone(
    name: str,
    weights: str | None = None,
    layer: str | None = None,
    input_size: tuple[int, int] = (224, 224),
) -> Backbone:
    """A network of `keras.applications`, with its own preprocessing.

    Args:
        name: String, such as `"ResNet50"` or `"EfficientNetV2B0"`.
        weights: `"imagenet"` (downloaded by Keras), the path of a weight
            file, or None for random weights. Defaults to None.
        layer: String, name of a layer. Defaults to the last grid.
        input_size: Pair of integers, height and width. Defaults to
            `(224, 224)`.

    Returns:
        A `Backbone`.
    """
    import keras

    modules = [
        module
        for module in vars(keras.applications).values()
        if hasattr(module, name) and hasattr(module, "preprocess_input")
    ]
    if not modules:
        known = sorted(x for x in dir(keras.applications) if x[0].isupper())
        raise ValueError(
            "`name` must be a network of `keras.applications`, or one of "
            "another package, `keras_hub:PRESET` or `keras_cv:PRESET` on the "
            f"command line. Received: name={name!r}. There are "
            f"{', '.join(known)}."
        )
    if weights not in (None, "imagenet"):
        check_weights(weights)
    model = getattr(modules[0], name)(
        include_top=False, weights=weights, input_shape=(*input_size, 3)
    )
    output = model.output if layer is None else _layer_output(model, layer)
    predict = _predictor(keras.Model(model.inputs[0], output))
    prepare = modules[0].preprocess_input
    return Backbone(
        name=f"keras.applications.{name}[{weights}]",
        layer=layer or "output",
        input_size=tuple(input_size),
        preprocessing="raw",
        network=lambda images: predict(prepare(images.copy())),
    )


def keras_cv_backbone(
    backbone,
    layer: str | None = None,
    input_size: tuple[int, int] = (224, 224),
    preprocessing: str = "raw",
) -> Backbone:
    """A backbone of keras-cv.

    Args:
        backbone: A backbone object of `keras_cv.models`, or the name of a
            preset, whose weights keras-cv then downloads.
        layer: String: a pyramid level (`"P5"`) or the name of a layer.
            Defaults to the backbone's output.
        input_size: Pair of integers, height and width; the backbone's own
            where it was built for one size. Defaults to `(224, 224)`.
        preprocessing: String, see `Backbone`. Defaults to `"raw"`, right for
            a backbone built with `include_rescaling=True`.

    Returns:
        A `Backbone`.
    """
    if isinstance(backbone, str):
        models = _need("keras_cv", "keras_cv_backbone").models
        backbone = models.Backbone.from_preset(backbone)
    names = getattr(backbone, "pyramid_level_inputs", None) or {}
    output = backbone.output
    if layer is not None:
        output = _layer_output(backbone, names.get(layer, layer))
    return _adapt(
        "keras_cv", backbone, output, layer, input_size, preprocessing
    )


def keras_hub_backbone(
    backbone,
    layer: str | None = None,
    input_size: tuple[int, int] = (224, 224),
    preprocessing: str | None = None,
    register_tokens: int | None = None,
) -> Backbone:
    """A backbone of KerasHub, keras-cv's successor.

    Args:
        backbone: A backbone object of `keras_hub.models` that takes images,
            or one with a `vision_encoder`, such as CLIP's and SigLIP's; or the
            name of a preset, whose weights KerasHub then downloads, or its
            folder.
        layer: String: a pyramid level (`"P5"`) or the name of a layer.
            Defaults to the backbone's output, or to that before the pooling of
            SigLIP.
        input_size: Pair of integers, height and width; the backbone's own
            where it was built for one size. Defaults to `(224, 224)`.
        preprocessing: String, see `Backbone`. Defaults to the scaling by the
            preset's image converter, where there is one, else to `"raw"`.
        register_tokens: Integer, see `Backbone`. Defaults to the number that
            the backbone says it has, as DINOv2 and DINOv3 do.

    Returns:
        A `Backbone`.
    """
    convert = None
    if isinstance(backbone, str):
        hub = _need("keras_hub", "keras_hub_backbone")
        convert = _converter(hub, backbone) if preprocessing is None else None
        backbone = hub.models.Backbone.from_preset(backbone)
    backbone = getattr(backbone, "vision_encoder", backbone)
    levels = getattr(backbone, "pyramid_outputs", None) or {}
    output = backbone.output
    if layer in levels:
        output = levels[layer]
    elif layer is not None:
        output = _layer_output(backbone, layer)
    elif len(output.shape) == 2 and hasattr(backbone, "post_layer_norm"):
        output = backbone.post_layer_norm.output
    if register_tokens is None:
        register_tokens = getattr(backbone, "num_register_tokens", None)
    adapted = _adapt(
        "keras_hub", backbone, output, layer, input_size, preprocessing or "raw"
    )
    return dataclasses.replace(
        adapted,
        name=f"{adapted.name}{', scaled' if convert else ''}",
        register_tokens=register_tokens,
        network=lambda images: adapted.network(
            convert(images) if convert else images
        ),
    )


def _converter(hub, preset):
    """Function that scales images as a preset does, or `None`."""
    import keras

    try:
        layer = hub.layers.ImageConverter.from_preset(preset)
    except ValueError:  # The preset has none.
        return None

    def convert(images):
        for number, combine in ((layer.scale, "mul"), (layer.offset, "add")):
            if number is not None:
                number = keras.ops.convert_to_numpy(number)
                images = getattr(operator, combine)(images, number)
        return images.astype("float32")

    return convert


def _need(package, user):
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise ImportError(
            f"`{user}` needs the package {package}. Install it with "
            "`pip install tfcap[vision]`."
        ) from error


def _layer_output(model, name):
    try:
        return model.get_layer(name).output
    except ValueError as error:
        names = ", ".join(layer.name for layer in model.layers[-5:])
        raise ValueError(
            f"`layer` must be a pyramid level or a layer of {model.name}. "
            f"Received: layer={name!r}. The last layers are {names}."
        ) from error


def _adapt(package, backbone, output, layer, input_size, preprocessing):
    import keras

    inputs = backbone.inputs
    if len(inputs) != 1:
        raise ValueError(
            "`backbone` must take images only. Received: "
            f"{type(backbone).__name__} with {len(inputs)} inputs. Pass its "
            "image encoder."
        )
    built = inputs[0].shape[1:3]
    size = tuple(own or given for own, given in zip(built, input_size))
    return Backbone(
        name=f"{package}.{type(backbone).__name__}[{backbone.name}]",
        layer=layer or "output",
        input_size=size,
        preprocessing=preprocessing,
        network=_predictor(keras.Model(inputs[0], output)),
    )


def _predictor(model):
    """A compiled forward pass in inference mode."""
    import keras

    if keras.backend.backend() != "tensorflow":
        return lambda images: model(images, training=False)
    import tensorflow as tf

    shape = (None, *model.inputs[0].shape[1:])
    spec = tf.TensorSpec(shape, tf.float32)
    return tf.function(
        lambda images: model(images, training=False), input_signature=[spec]
    )
