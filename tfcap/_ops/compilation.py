"""Compiled functions of tensors, and the constants that they read."""

from collections.abc import Callable

import keras
import numpy as np
from keras import ops
from numpy.typing import NDArray


def compiled(function: Callable):
    """Compiles a function of tensors with XLA, wherever it is called.

    Many small operations become one: a reward that is compiled costs a
    fraction of what it costs operation by operation, also within a training
    step that is not compiled. It is compiled again for every new shape of its
    arguments. On backends other than TensorFlow the function comes back as it
    is: there the step is compiled as a whole.

    Args:
        function: Callable of tensors alone: no variables, no randomness that
            must differ between calls, nothing on the host.

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


class Resident:
    """A constant array, held once on every device that reads it.

    As a plain constant it would be copied into every graph that is traced; as
    a variable it could be read on its own device only.

    Args:
        array: NumPy array.

    Example:

    >>> tfcap._ops.Resident(np.arange(3.0)).tensor().shape
    TensorShape([3])
    """

    def __init__(self, array: NDArray):
        self.array = np.asarray(array)
        self._tensors = {}

    def tensor(self):
        """The array on the device of the caller."""
        if keras.backend.backend() != "tensorflow":
            return ops.convert_to_tensor(self.array)
        import tensorflow as tf

        device = tf.zeros(()).device
        if device not in self._tensors:
            # Lifted out of any graph, so that all graphs share it.
            with tf.init_scope(), tf.device(device or None):
                self._tensors[device] = tf.constant(self.array)
        return self._tensors[device]
