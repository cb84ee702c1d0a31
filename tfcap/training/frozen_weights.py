"""Frozen weights of pretrained networks, which a checkpoint leaves out."""

import hashlib

import keras
import numpy as np

from tfcap.training.model_description import optimizers_of

#: Of layers whose weights are integers that nobody trains.
_QUANTIZED = ("int8", "int4", "gptq", "awq")


def frozen_digests(model: keras.Model) -> dict[int, str]:
    """Digests of what training does not move, by `id` of a variable.

    A network whose attribute `pretrained` is true comes from elsewhere, as
    those of a preset do: what is frozen in it is loaded again by whoever makes
    it again, and only has to be known. State of its layers, such as that of
    random generators, is not among it.
    """
    moved = {id(v) for v in model.trainable_variables}
    for optimizer in optimizers_of(model):
        if optimizer.built:
            moved |= {id(v) for v in optimizer._trainable_variables}
    return {
        id(variable): digest(variable)
        for network in model._flatten_layers()
        if getattr(network, "pretrained", False)
        for layer in network._flatten_layers()
        for variable in _weights(layer)
        if id(variable) not in moved
    }


def digest(variable: keras.Variable) -> str:
    """Tells the values of a variable from others."""
    array = np.ascontiguousarray(keras.ops.convert_to_numpy(variable))
    content = array.reshape(-1).view(np.uint8)
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def in_order(arrays: dict, about: dict) -> list:
    """Arrays of all variables, `None` for those known by their digests."""
    names = {name for name in arrays if name.isdigit()}
    return [arrays.get(n) for n in sorted(names | set(about.get("frozen", ())))]


def _weights(layer):
    """The weights of a layer itself, without the state that it keeps."""
    weights = list(layer._trainable_variables)
    if layer.quantization_mode in _QUANTIZED:
        weights += layer._non_trainable_variables
    return weights
