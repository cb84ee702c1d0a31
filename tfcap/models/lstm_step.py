"""The recurrence of an LSTM, apart from the products that feed it."""

from keras import ops


def lstm_step(gates, carry):
    """One step of an LSTM from its summed gates.

    With the products outside, those of all words can be taken at once.

    Args:
        gates: Float tensor of shape `(B, 4 * units)`: input, forget, cell and
            output, in the order of `keras.layers.LSTMCell`.
        carry: Float tensor of shape `(B, units)`.

    Returns:
        Pair of the output and the next carry, of shape `(B, units)`.
    """
    enter, keep, new, show = ops.split(gates, 4, axis=-1)
    carry = ops.sigmoid(keep) * carry + ops.sigmoid(enter) * ops.tanh(new)
    return ops.sigmoid(show) * ops.tanh(carry), carry


def forget_bias(units):
    """Initializer of gates' biases: 1 for the second, the forget gate, else 0.

    Args:
        units: Integer, size of a gate.

    Returns:
        Callable from a shape `(gates * units,)` and a dtype to a tensor.
    """

    def initial(shape, dtype=None):
        gate = ops.arange(shape[0]) // units
        return ops.cast(ops.equal(gate, 1), dtype or "float32")

    return initial
