"""Gradients, on the backend that the tests run on."""

import keras
from keras import ops


def differentiated(function, *values):
    """Value and gradients of a function of arrays, to differentiate again."""
    if keras.backend.backend() == "jax":
        import jax

        places = tuple(range(len(values)))
        value, slopes = jax.value_and_grad(function, places)(*values)
    else:
        import tensorflow as tf

        values = [tf.convert_to_tensor(value) for value in values]
        with tf.GradientTape() as tape:
            tape.watch(values)
            value = function(*values)
        slopes = tape.gradient(value, values)
    return value, *slopes


def gradients(function, *values):
    """Value and gradients of a function as arrays."""
    return [
        ops.convert_to_numpy(ops.convert_to_tensor(x))
        for x in differentiated(function, *values)
    ]
