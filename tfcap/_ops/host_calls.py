"""Functions that a compiler or the host runs."""

from collections.abc import Callable

import keras
import numpy as np
from keras import ops


def compiled(function: Callable):
    """Compiles a function of tensors with XLA, wherever it is called.

    Many small operations become one: a compiled reward costs a fraction of
    its separate operations, also within a training step that is not compiled.
    It is compiled again for every new shape of its arguments. Backends other
    than TensorFlow compile the step as a whole, and get the function itself.

    Args:
        function: Callable of tensors alone, without variables, random numbers
            or calls to the host.

    Returns:
        Callable with the same arguments.

    Example:

    >>> double = tfcap._ops.compiled(lambda x: 2 * x)
    >>> print(double(np.array([1.0, 3.0])).numpy())
    [2. 6.]
    """
    if keras.backend.backend() != "tensorflow":
        return function
    import tensorflow as tf

    return tf.function(function, jit_compile=True, autograph=False)


def call_on_host(function: Callable, tensors, shape, dtype: str = "float32"):
    """Calls a Python function of arrays, in a graph, too.

    No gradient passes through it.

    Args:
        function: Callable from as many NumPy arrays to numbers of that shape.
        tensors: Tuple of tensors.
        shape: Shape of the result; `None` for an axis of unknown size.
        dtype: String, `"float32"` or `"int32"`. Defaults to `"float32"`.

    Returns:
        Tensor of that shape and type.

    Raises:
        Error of the backend, if `function` returns another shape.

    Example:

    >>> tokens = np.array([[5, 6, -1]])
    >>> count = tfcap._ops.call_on_host(
    ...     lambda x: (x >= 0).sum(axis=1), (tokens,), (1,)
    ... )
    >>> print(np.array(count))
    [2.]
    """

    def found(*arrays):
        return np.asarray(function(*map(np.asarray, arrays)), dtype)

    backend = keras.backend.backend()
    if backend == "tensorflow":
        import tensorflow as tf

        if tf.executing_eagerly():
            return tf.ensure_shape(found(*tensors), shape)
        return tf.ensure_shape(tf.numpy_function(found, tensors, dtype), shape)
    if backend == "jax":
        import jax

        result = jax.ShapeDtypeStruct(shape, dtype)
        return jax.pure_callback(found, result, *tensors)
    return ops.convert_to_tensor(found(*map(ops.convert_to_numpy, tensors)))
