"""Checks of values, which run with the graph."""

import keras


def check_values(holds, message):
    """Refuses values for which a condition does not hold.

    Shapes and types are checked while a graph is traced; what only values
    tell is checked whenever it runs. TensorFlow alone can do that within a
    graph, and not within one that XLA compiles: there, and on other backends,
    nothing is checked.

    Args:
        holds: Boolean scalar tensor.
        message: String.

    Raises:
        ValueError: If it does not hold, where tensors have values. In a graph
            of TensorFlow it is a `tf.errors.InvalidArgumentError`.

    Example:

    >>> from tfcap.ops.value_checks import check_values
    >>> check_values(keras.ops.any([0, 1] == 2), "`x` must hold a 2.")
    Traceback (most recent call last):
    ValueError: `x` must hold a 2.
    """
    if keras.backend.backend() != "tensorflow":
        return
    import tensorflow as tf

    if isinstance(holds, keras.KerasTensor):
        return
    holds = tf.convert_to_tensor(holds)
    if not tf.executing_eagerly():
        tf.debugging.Assert(holds, [message])
    elif not bool(holds):
        raise ValueError(message)
