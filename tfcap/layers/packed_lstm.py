"""LSTM over the words alone."""

from tfcap.layers.packed_recurrence import packed_recurrence


def packed_lstm(cell, inputs, mask, state, return_sequences):
    """Runs an LSTM cell over the unmasked steps of a batch of sequences.

    Args:
        cell: `keras.layers.LSTMCell`, built.
        inputs: Tensor of shape `(B, T, D)`, `T` static.
        mask: Tensor of shape `(B, T)`, nonzero where there is a word.
        state: List of two tensors of shape `(B, units)`.
        return_sequences: Boolean.

    Returns:
        `(last, outputs, [h, c])`, see `packed_recurrence()`.
    """
    import tensorflow as tf

    kernel, recurrent = (
        tf.convert_to_tensor(x) for x in (cell.kernel, cell.recurrent_kernel)
    )

    def project(words):
        projected = tf.matmul(words, kernel)
        if cell.use_bias:
            projected += tf.convert_to_tensor(cell.bias)
        return projected

    def step(x, state):
        h, c = state
        gates = x + tf.matmul(h, recurrent)
        i, f, g, o = tf.split(gates, 4, axis=-1)
        c = cell.recurrent_activation(f) * c
        c += cell.recurrent_activation(i) * cell.activation(g)
        return [cell.recurrent_activation(o) * cell.activation(c), c]

    return packed_recurrence(
        project, step, inputs, mask, state, return_sequences
    )
