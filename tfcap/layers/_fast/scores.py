"""Given words read and scored without the padding between them.

A third of a batch of captions is padding, and the vocabulary head is the
better part of a speaker. TensorFlow only: the number of words in a batch is a
dynamic shape.
"""

from typing import Any

import keras
from keras import ops

from tfcap._ops import token_log_probs
from tfcap._ops.sequences import LONGEST_UNROLLED


def packed_scores(
    speaker: Any, state: Any, tokens: Any, mask: Any, training: bool
) -> Any:
    """Log probabilities of given words, computed for these words alone.

    Captions are sorted by length, and step `t` runs on those that have a
    `t`-th word; the inputs' projections, and the vocabulary head, run once on
    all words. Elsewhere than on TensorFlow, and where `T` is long or not known
    while the graph is traced, the plain form

    ```
    token_log_probs(compute_logits(run_rnn(words before)), words) * mask
    ```

    Arguments and result are those of `WordByWord.score()`.
    """
    length, unroll = mask.shape[1], speaker.unroll
    if unroll is None or length is None:
        unroll = length is not None and length <= LONGEST_UNROLLED
    if keras.backend.backend() != "tensorflow" or not unroll:
        hidden = speaker.teacher_forced(state, tokens, training)

        def compute_logits(hidden):
            return speaker.compute_logits(hidden, training)

        return masked_word_scores(compute_logits, hidden, tokens, mask)
    import tensorflow as tf

    index, order, alive = _plan(tf.cast(mask, tf.bool))
    start = tf.fill(tf.shape(tokens[:, :1]), speaker.bos)
    before = tf.concat([start, tokens[:, :-1]], axis=1)
    words = speaker.embed(tf.gather_nd(before, index), training)
    words = tf.split(speaker.project_inputs(words), alive, num=length)
    state = keras.tree.map_structure(lambda x: tf.gather(x, order), state)
    outputs = []
    for t, word in enumerate(words):
        state = _first_rows(state, alive[t])
        output, state = speaker.cell_step(word, state, training=training)
        outputs.append(output)
    logits = speaker.compute_logits(tf.concat(outputs, axis=0), training)
    scores = token_log_probs(logits, tf.gather_nd(tokens, index))
    scores = _scatter(scores, index, tokens)
    return tf.where(mask > 0, scores, 0.0)


def masked_word_scores(
    compute_logits: Any, hidden: Any, tokens: Any, mask: Any
) -> Any:
    """Log probabilities of given words, computed for unmasked words alone.

    On backends without dynamic shapes every word is scored.

    Args:
        compute_logits: Callable from `(m, D)` to logits `(m, V)`.
        hidden: Float tensor of shape `(n, T, D)`.
        tokens: Integer tensor of shape `(n, T)`.
        mask: Tensor of shape `(n, T)`, nonzero where a word counts.
    """
    if keras.backend.backend() != "tensorflow":
        scores = token_log_probs(compute_logits(hidden), tokens)
        return ops.where(ops.cast(mask, "bool"), scores, 0.0)
    import tensorflow as tf

    index = tf.where(tf.cast(mask, tf.bool))
    logits = compute_logits(tf.gather_nd(hidden, index))
    scores = token_log_probs(logits, tf.gather_nd(tokens, index))
    return _scatter(scores, index, tokens)


def _scatter(scores, index, tokens):
    """Puts the scores of words `(m,)` in a tensor `(n, T)` of zeros."""
    import tensorflow as tf

    shape = tf.shape(tokens, out_type=index.dtype)
    return tf.ensure_shape(tf.scatter_nd(index, scores, shape), tokens.shape)


def _plan(mask):
    """Row and step of every word, by step, then by length; rows; counts."""
    import tensorflow as tf

    steps = tf.range(mask.shape[1])
    # Up to the last word that counts, whatever lies before it.
    length = tf.reduce_max(tf.where(mask, steps + 1, 0), axis=1)
    order = tf.argsort(length, direction="DESCENDING", stable=True)
    valid = steps[:, None] < tf.gather(length, order)[None]  # (T, n)
    step, rank = tf.unstack(tf.where(valid), axis=1)
    rows = tf.gather(tf.cast(order, tf.int64), rank)
    alive = tf.reduce_sum(tf.cast(valid, tf.int32), axis=1)
    return tf.stack([rows, step], axis=1), order, alive


def _first_rows(state, count):
    import tensorflow as tf

    # A split at the first axis shares its memory; a slice may copy.
    def first(x):
        return tf.split(x, [count, tf.shape(x)[0] - count])[0]

    return keras.tree.map_structure(first, state)
