"""LSTM over the words alone: what is under the mask is never computed.

TensorFlow only: the number of words in a batch is a dynamic shape.
"""


def packed_lstm(cell, inputs, mask, state, return_sequences):
    """Runs an LSTM cell over the unmasked steps of a batch of sequences.

    Sequences are sorted by length, and step `t` runs on the rows that still
    have a `t`-th word: a batch that is half padding costs half. The inputs of
    all words are projected in one product, and no step needs a select.

    Args:
        cell: `keras.layers.LSTMCell`, built.
        inputs: Tensor of shape `(B, T, D)`, `T` static.
        mask: Tensor of shape `(B, T)`, nonzero where there is a word, padded
            anywhere.
        state: List of two tensors of shape `(B, units)`.
        return_sequences: Boolean.

    Returns:
        `(last, outputs, [h, c])` with the semantics of `keras.layers.LSTM`:
        at a masked step the last output repeats, and is 0 where there is
        none yet. `outputs` has shape `(B, T, units)`, or is `last` if
        sequences are not asked for.
    """
    import tensorflow as tf

    mask = tf.cast(mask, tf.bool)
    plan = _plan(mask)
    words = tf.gather(_merge(inputs), plan["words"])
    kernel, recurrent = (
        tf.convert_to_tensor(x) for x in (cell.kernel, cell.recurrent_kernel)
    )
    projected = tf.matmul(words, kernel)
    if cell.use_bias:
        projected += tf.convert_to_tensor(cell.bias)
    steps, state = _recurrence(cell, projected, recurrent, state, plan)
    h, c = (tf.gather(x, plan["place"]) for x in state)
    last = tf.where(plan["length"][:, None] > 0, h, tf.zeros_like(h))
    if not return_sequences:
        return last, last, [h, c]
    # Row 0 stands for the steps before a sequence's first word.
    steps = tf.concat([tf.zeros_like(h[:1]), *steps], axis=0)
    outputs = tf.gather(steps, plan["outputs"])
    return last, outputs, [h, c]


def _plan(mask):
    """Where each word stands in the packed order: by step, then by length."""
    import tensorflow as tf

    rows, width = tf.shape(mask)[0], mask.shape[1]
    count = tf.cumsum(tf.cast(mask, tf.int32), axis=1)
    length = count[:, -1]
    order = tf.argsort(length, direction="DESCENDING", stable=True)
    place = tf.argsort(order)
    alive = tf.cast(length[:, None] > tf.range(width)[None], tf.int32)
    alive = tf.reduce_sum(alive, axis=0)
    key = tf.where(mask, (count - 1) * rows + place[:, None], width * rows)
    words = tf.argsort(tf.reshape(key, [-1]))[: tf.reduce_sum(alive)]
    rank = tf.maximum(count - 1, 0)
    start = tf.gather(tf.cumsum(alive, exclusive=True), rank)
    outputs = tf.where(count > 0, 1 + start + place[:, None], 0)
    return {
        "length": length,
        "order": order,
        "place": place,
        "alive": alive,
        "words": words,
        "outputs": outputs,
    }


def _recurrence(cell, projected, recurrent, state, plan):
    """The outputs of every step, and the final state, rows by length."""
    import tensorflow as tf

    alive, width = plan["alive"], plan["alive"].shape[0]
    h, c = (tf.gather(x, plan["order"]) for x in state)
    before = tf.shape(h)[0]
    outputs, ended = [], []
    # One split rather than slices: its gradient is one concatenation.
    for t, x in enumerate(tf.split(projected, alive, num=width)):
        sizes = [alive[t], before - alive[t]]
        before = alive[t]
        h, h_ended = tf.split(h, sizes)
        c, c_ended = tf.split(c, sizes)
        ended.append((h_ended, c_ended))
        gates = x + tf.matmul(h, recurrent)
        i, f, g, o = tf.split(gates, 4, axis=-1)
        c = cell.recurrent_activation(f) * c
        c += cell.recurrent_activation(i) * cell.activation(g)
        h = cell.recurrent_activation(o) * cell.activation(c)
        outputs.append(h)
    ended.append((h, c))
    return outputs, [tf.concat(x[::-1], axis=0) for x in zip(*ended)]


def _merge(inputs):
    import tensorflow as tf

    return tf.reshape(inputs, (-1, inputs.shape[-1]))
