"""Gradients, on the backend that the tests run on."""

import keras
from keras import ops

from tfcap.training.backends import backend


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
        slopes = tape.gradient(value, values, unconnected_gradients="zero")
    return value, *slopes


def slopes(function, variable):
    """Compiles a function of no arguments, and its gradient by a variable.

    Returns:
        Function that returns the gradient and all that the function does, a
        tuple that begins with what is differentiated.
    """
    if keras.backend.backend() == "jax":
        import jax

        def of(value):
            variable.assign(value)
            found = function()
            return found[0], found

        def graded(_):
            before = ops.convert_to_tensor(variable)
            slope, found = jax.grad(of, has_aux=True)(before)
            variable.assign(before)
            return slope, *found

        compiled = backend.graph(graded)
        return lambda: compiled(())
    import tensorflow as tf

    def graded():
        with tf.GradientTape() as tape:
            found = function()
        return tape.gradient(found[0], variable.value), *found

    return graded


def gradients(function, *values):
    """Value and gradients of a function as arrays."""
    return [
        ops.convert_to_numpy(ops.convert_to_tensor(x))
        for x in differentiated(function, *values)
    ]
