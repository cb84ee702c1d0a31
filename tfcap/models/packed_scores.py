"""Given words read and scored without the padding between them.

TensorFlow only: the number of words in a batch is a dynamic shape.
"""

import keras

from tfcap.ops import token_log_probs


def packed_scores(speaker, state, tokens, mask, training):
    """Log probabilities of given words, computed for these words alone.

    A third of a batch of captions is padding. Captions are sorted by length,
    and step `t` runs on those that have a `t`-th word; what does not depend on
    the words before, and the vocabulary head, run once on all words.

    Args:
        speaker: `tfcap.models.CaptionSpeaker`; of it `embed()`,
            `word_inputs()`, `advance()` and `weigh()` are used.
        state: Nest of tensors with leading axis `n`.
        tokens: Int32 tensor of shape `(n, T)`, `T` static.
        mask: Tensor of shape `(n, T)`, nonzero where a word counts.
        training: Boolean.

    Returns:
        Float32 tensor of shape `(n, T)`, 0 under the mask.
    """
    import tensorflow as tf

    index, order, alive = _plan(tf.cast(mask, tf.bool))
    start = tf.fill(tf.shape(tokens[:, :1]), speaker.bos)
    before = tf.concat([start, tokens[:, :-1]], axis=1)
    words = speaker.embed(tf.gather_nd(before, index), training)
    words = tf.split(speaker.word_inputs(words), alive, num=mask.shape[1])
    state = keras.tree.map_structure(lambda x: tf.gather(x, order), state)
    outputs = []
    for t, word in enumerate(words):
        state = _first_rows(state, alive[t])
        output, state = speaker.advance(word, state, training=training)
        outputs.append(output)
    logits = speaker.weigh(tf.concat(outputs, axis=0), training)
    scores = token_log_probs(logits, tf.gather_nd(tokens, index))
    shape = tf.shape(tokens, out_type=index.dtype)
    scores = tf.scatter_nd(index, scores, shape)
    return tf.ensure_shape(tf.where(mask > 0, scores, 0.0), tokens.shape)


def _plan(mask):
    """Row and step of every word, by step, then by length; rows; counts."""
    import tensorflow as tf

    steps = tf.range(mask.shape[1])
    # Up to the last word that counts, whatever lies before it.
    length = tf.reduce_max(tf.where(mask, steps + 1, 0), axis=1)
    order = tf.argsort(length, direction="DESCENDING", stable=True)
    there = steps[:, None] < tf.gather(length, order)[None]
    step, rank = tf.unstack(tf.where(there), axis=1)
    rows = tf.gather(tf.cast(order, tf.int64), rank)
    alive = tf.reduce_sum(tf.cast(there, tf.int32), axis=1)
    return tf.stack([rows, step], axis=1), order, alive


def _first_rows(state, count):
    import tensorflow as tf

    # A split at the first axis shares its memory; a slice may copy.
    def first(x):
        return tf.split(x, [count, tf.shape(x)[0] - count])[0]

    return keras.tree.map_structure(first, state)
