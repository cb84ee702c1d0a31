"""A recurrence over the words alone: what is masked is never computed.

TensorFlow only: the number of words in a batch is a dynamic shape.
"""


def packed_recurrence(project, step, inputs, mask, state, return_sequences):
    """Runs a recurrent cell over the unmasked steps of a batch of sequences.

    Sequences are sorted by length, and step `t` runs on the rows that still
    have a `t`-th word: a batch that is half padding costs half. The inputs of
    all words are projected in one product, and no step needs a select.

    Args:
        project: Callable from the words, `(n, D)`, to what a step reads of
            them, `(n, ...)`.
        step: Callable from that of the rows that have a word, and their
            state, to the next state.
        inputs: Tensor of shape `(B, T, D)`, `T` static.
        mask: Tensor of shape `(B, T)`, nonzero where there is a word, padded
            anywhere.
        state: List of tensors of shape `(B, units)`, the first of which is
            the output.
        return_sequences: Boolean.

    Returns:
        `(last, outputs, state)` with the semantics of Keras' recurrent
        layers: at a masked step the last output repeats, and is 0 where there
        is none yet. `outputs` has shape `(B, T, units)`, or is `last` if
        sequences are not asked for.
    """
    import tensorflow as tf

    plan = _plan(tf.cast(mask, tf.bool))
    words = tf.gather(tf.reshape(inputs, (-1, inputs.shape[-1])), plan["words"])
    steps, state = _recurrence(step, project(words), state, plan)
    state = [tf.gather(x, plan["place"]) for x in state]
    output = state[0]
    last = tf.where(plan["length"][:, None] > 0, output, tf.zeros_like(output))
    if not return_sequences:
        return last, last, state
    # Row 0 stands for the steps before a sequence's first word.
    steps = tf.concat([tf.zeros_like(output[:1]), *steps], axis=0)
    return last, tf.gather(steps, plan["outputs"]), state


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


def _recurrence(step, projected, state, plan):
    """The outputs of every step, and the final state, rows by length."""
    import tensorflow as tf

    alive, width = plan["alive"], plan["alive"].shape[0]
    state = [tf.gather(x, plan["order"]) for x in state]
    before = tf.shape(state[0])[0]
    outputs, ended = [], []
    # One split rather than slices: its gradient is one concatenation.
    for t, x in enumerate(tf.split(projected, alive, num=width)):
        sizes = [alive[t], before - alive[t]]
        before = alive[t]
        parts = [tf.split(part, sizes) for part in state]
        ended.append([over for _, over in parts])
        state = step(x, [going for going, _ in parts])
        outputs.append(state[0])
    ended.append(state)
    return outputs, [tf.concat(x[::-1], axis=0) for x in zip(*ended)]
