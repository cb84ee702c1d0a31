"""Leaving the graph for the host, where Python functions run."""

from collections.abc import Callable

import keras
import numpy as np
from keras import ops
from numpy.typing import NDArray


def call_on_host(function: Callable, tensors, shape, dtype: str = "float32"):
    """Calls a Python function of arrays, also from within a graph.

    No gradient passes through it.

    Args:
        function: Callable from as many NumPy arrays to numbers of that shape.
        tensors: Tuple of tensors.
        shape: Shape of what it returns; `None` for an axis that is not known
            yet.
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


def captions_of(words: NDArray, vocabulary) -> list[str]:
    """Captions as strings, on the host.

    Args:
        words: Integer array of shape `(..., T)`, below 0 where there is no
            word, as `words_only()` marks it.
        vocabulary: Object with `decode(ids)` from a list of ids to a string,
            such as `tfcap.text.Vocabulary`.

    Returns:
        List of strings, as many as there are rows of words.

    Example:

    >>> vocabulary = tfcap.text.Vocabulary(["red", "bus"])
    >>> tfcap._ops.captions_of(np.array([[4, 5, 2], [5, -1, -1]]), vocabulary)
    ['red bus', 'bus']
    """
    words = np.asarray(words)
    rows = words.reshape(-1, words.shape[-1])
    return [vocabulary.decode(ids[ids >= 0].tolist()) for ids in rows]
