"""GRU over the words alone."""

from tfcap.layers.packed_recurrence import packed_recurrence


def packed_gru(cell, inputs, mask, state, return_sequences):
    """Runs a GRU cell over the unmasked steps of a batch of sequences.

    Args:
        cell: `keras.layers.GRUCell`, built, with `reset_after=True`.
        inputs: Tensor of shape `(B, T, D)`, `T` static.
        mask: Tensor of shape `(B, T)`, nonzero where there is a word.
        state: List of a tensor of shape `(B, units)`.
        return_sequences: Boolean.

    Returns:
        `(last, outputs, [h])`, see `packed_recurrence()`.
    """
    import tensorflow as tf

    kernel, recurrent = (
        tf.convert_to_tensor(x) for x in (cell.kernel, cell.recurrent_kernel)
    )
    input_bias = recurrent_bias = None
    if cell.use_bias:
        input_bias, recurrent_bias = tf.unstack(tf.convert_to_tensor(cell.bias))

    def project(words):
        return _affine(words, kernel, input_bias)

    def step(x, state):
        (h,) = state
        x_z, x_r, x_h = tf.split(x, 3, axis=-1)
        h_z, h_r, h_h = tf.split(
            _affine(h, recurrent, recurrent_bias), 3, axis=-1
        )
        z = cell.recurrent_activation(x_z + h_z)
        r = cell.recurrent_activation(x_r + h_r)
        return [z * h + (1 - z) * cell.activation(x_h + r * h_h)]

    return packed_recurrence(
        project, step, inputs, mask, state, return_sequences
    )


def _affine(inputs, kernel, bias):
    import tensorflow as tf

    product = tf.matmul(inputs, kernel)
    return product if bias is None else product + bias
