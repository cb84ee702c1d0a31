"""Private names of Keras and TensorFlow, read here alone.

They have no public equivalent. A test looks at each of them, and `.ci/bounds`
runs it with the lowest and the newest versions.
"""

from collections.abc import Callable
from typing import Any

import keras


def layers_of(network: Any) -> list:
    """Returns a layer and its sublayers at any depth, none of other objects."""
    if not isinstance(network, keras.layers.Layer):
        return []
    return list(network._flatten_layers())


def seed_generators(layer: keras.layers.Layer) -> list:
    """Returns the seed generators of a layer, without its sublayers'."""
    return list(layer._seed_generators)


def layer_of_output(tensor: Any) -> keras.layers.Layer:
    """Returns the layer that made a symbolic tensor of a functional model."""
    return tensor._keras_history.operation


def is_softmax_output(tensor: Any) -> bool:
    """Returns whether Keras computed a tensor by a softmax, on TensorFlow."""
    return hasattr(tensor, "_keras_logits")


def tracked() -> type:
    """Base class of what TensorFlow saves with the layer that holds it."""
    if keras.backend.backend() != "tensorflow":
        return object
    import tensorflow as tf

    return tf.__internal__.tracking.AutoTrackable


def is_function_graph(graph: Any) -> bool:
    """Returns whether a graph is a function's, not a loop's or a branch's."""
    import tensorflow as tf

    return type(graph) is tf.__internal__.FuncGraph


def iterator_step(model: keras.Model, step: Callable) -> Callable:
    """A train function of Keras on JAX, from a step of a batch."""
    return model._make_function(step)


def forget_step(model: keras.Model) -> None:
    """Has `fit()` on JAX end with the values of variables, whatever it kept."""
    model._jax_state = None
