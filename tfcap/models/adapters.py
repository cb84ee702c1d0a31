"""Dropout and adapters of a network."""

import contextlib
import functools
import inspect
from os import PathLike
from typing import Any

import keras
import numpy as np
from keras import ops

from tfcap._io import load_arrays
from tfcap._io import save_arrays
from tfcap._ops.private_names import layers_of
from tfcap._ops.private_names import seed_generators
from tfcap._printed import printed

#: Attributes that hold a rate of dropout, in Keras' layers and in ours.
RATES = (
    "rate",
    "dropout",
    "recurrent_dropout",
    "image_dropout",
    "word_dropout",
    "block_dropout",
    "condition_dropout",
)


def dropout_rates(layer: keras.layers.Layer) -> dict[str, float]:
    """Returns a layer's own dropout rates by attribute, not its sublayers'."""
    values = {name: getattr(layer, name, None) for name in RATES}
    return {
        name: float(value)
        for name, value in values.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }


def without_dropout(network: keras.layers.Layer) -> keras.layers.Layer:
    """Returns a network with the dropout of all its layers turned off.

    Call it before `fit()`: a step that is already compiled keeps its dropout.

    Args:
        network: `keras.layers.Layer`, such as a speaker or a listener.

    Returns:
        The network.

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=8, dropout=0.5)
    >>> tfcap.models.without_dropout(speaker).dropout.rate
    0.0
    """
    for layer in layers_of(network):
        for name in dropout_rates(layer):
            # A recurrent layer of Keras shows the rates of its cell.
            if not isinstance(getattr(type(layer), name, None), property):
                setattr(layer, name, 0.0)
    return network


def uses_training(layer: keras.layers.Layer) -> bool:
    """Returns whether a layer, apart from its sublayers, differs in training.

    True for batch normalization and for a layer that can draw random numbers,
    unless all its dropout rates are 0.
    """
    if isinstance(layer, keras.layers.BatchNormalization):
        return True
    rates = dropout_rates(layer).values()
    draws = bool(seed_generators(layer))
    return draws and (not rates or any(rate > 0 for rate in rates))


class WithoutAdapters:
    """A speaker without its adapters, on the same weights.

    The reference model of `tfcap.rewards.KLPenalty` for a speaker that is
    trained by LoRA: the speaker before training, as long as only adapters are
    trained, without a second copy in memory. Biases of the adapted layers,
    which KerasHub leaves trainable, are therefore frozen here. Adapters are
    enabled by Keras' `layer.enable_lora()` or KerasHub's
    `backbone.enable_lora()`.

    Args:
        speaker: `tfcap.decoding.Speaker`, a Keras layer.

    Raises:
        ValueError: If it has no adapters.

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=8)
    >>> tfcap.models.WithoutAdapters(speaker)
    Traceback (most recent call last):
    ValueError: `speaker` must have adapters. Received: ...
    """

    __repr__ = printed

    def __init__(self, speaker: Any):
        if not _adapted(speaker):
            raise ValueError(
                "`speaker` must have adapters. Received: "
                f"speaker={speaker!r} without any. Call `enable_lora(rank)` of "
                "its backbone or of its layers first."
            )
        for layer in _adapted(speaker):
            if getattr(layer, "bias", None) is not None:
                layer.bias.trainable = False
        self.speaker = speaker

    def __getattr__(self, name):
        if name == "speaker":
            raise AttributeError(name)
        # What a speaker may lack is lacking here, too.
        value = getattr(self.speaker, name)
        if not inspect.ismethod(value):
            return value

        @functools.wraps(value)
        def without_adapters(*arguments, **options):
            with _adapters_off(self.speaker):
                return value(*arguments, **options)

        return without_adapters


def _adapted(network):
    return [x for x in layers_of(network) if getattr(x, "lora_enabled", False)]


@contextlib.contextmanager
def _adapters_off(network):
    """Opens a context in which layers compute without their adapters."""
    layers = _adapted(network)
    for layer in layers:
        layer.lora_enabled = False
    try:
        yield
    finally:
        for layer in layers:
            layer.lora_enabled = True


def save_adapters(network: keras.layers.Layer, path: str | PathLike) -> None:
    """Saves only the trainable weights of a network.

    For a network with a frozen base, as after KerasHub's `enable_lora()`, these
    are the adapters and the layers in front of it. `network.save()` writes all
    weights, with adapters merged into them.

    Args:
        network: Keras layer, such as a speaker.
        path: String or path of a file `*.npz`.

    Raises:
        OSError: If the disk is full.

    Example:

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "adapters.npz")
    >>> layer = keras.layers.Dense(2)
    >>> layer.build((None, 3))
    >>> layer.enable_lora(1)
    >>> tfcap.models.save_adapters(layer, path)
    >>> sorted(tfcap._io.load_arrays(path))
    ['00000 bias', '00001 lora_kernel_a', '00002 lora_kernel_b']
    """
    save_arrays(
        path,
        {
            name: ops.convert_to_numpy(ops.cast(weight, "float32"))
            for name, weight in _named(network).items()
        },
    )


def load_adapters(network: keras.layers.Layer, path: str | PathLike) -> None:
    """Loads a file of `save_adapters()`.

    Args:
        network: Keras layer, built, with adapters of the same rank enabled.
        path: String or path.

    Raises:
        ValueError: If the file is damaged or belongs to another network.

    Example:

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "adapters.npz")
    >>> layer = keras.layers.Dense(2)
    >>> layer.build((None, 3))
    >>> tfcap.models.save_adapters(layer, path)
    >>> tfcap.models.load_adapters(layer, path)
    """
    weights = _named(network)
    try:
        arrays = load_arrays(path)
    except ValueError as error:
        raise ValueError(
            "`path` must name a file of adapters. Received: "
            f"path={str(path)!r}: {error}."
        ) from error

    def shapes(named):
        return {name: tuple(value.shape) for name, value in named.items()}

    differing = dict(set(shapes(arrays).items()) ^ set(shapes(weights).items()))
    if differing:
        raise ValueError(
            "`path` must name the adapters of this network. Received: "
            f"path={str(path)!r}, which differs in the weights "
            f"{', '.join(sorted(differing)[:5])}. Enable adapters of the same "
            "layers and rank first."
        )
    for name, weight in weights.items():
        weight.assign(np.asarray(arrays[name]))


def _named(network):
    """Returns trainable weights by their index and name.

    Keras numbers the networks of a process, so that paths differ.
    """
    weights = network.trainable_weights
    return {
        f"{i:05d} {weight.name}": weight for i, weight in enumerate(weights)
    }
