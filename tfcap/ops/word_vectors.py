"""Vectors that stand for words, and embed as the words do."""

import weakref
from typing import Any
from typing import NamedTuple

import keras
from keras import ops


class Words(NamedTuple):
    """What vectors over the vocabulary stand for.

    Args:
        ids: Integer tensor of shape `(...)`: where a vector is one-hot, its
            word; -1 where it is zero, or relaxed.
        relaxed: Boolean tensor of shape `(...)`, true where a vector is not
            a word's but that of `soft`; or `None`, where none is.
        soft: Float tensor of shape `(..., V)`, or `None`.
    """

    ids: Any
    relaxed: Any = None
    soft: Any = None


# Of tensors that take no attributes, such as those of JAX.
_KEPT = {}


def remember_words(vectors, words):
    """Notes on a tensor what its vectors stand for, as Keras notes a mask.

    Whoever embeds such vectors can look words up instead of multiplying.

    Args:
        vectors: Float tensor of shape `(..., V)`.
        words: `Words` of it, or `None`.

    Returns:
        `vectors`.
    """
    if words is None:
        return vectors
    try:
        vectors._tfcap_words = words
    except AttributeError:
        _KEPT[id(vectors)] = words
        weakref.finalize(vectors, _KEPT.pop, id(vectors), None)
    return vectors


def remembered_words(vectors):
    """The `Words` that vectors are known to stand for, or `None`."""
    return getattr(vectors, "_tfcap_words", _KEPT.get(id(vectors)))


def word_ids(vectors):
    """The word of each vector: what it stands for, or its largest entry."""
    words = remembered_words(vectors)
    return ops.argmax(vectors, axis=-1) if words is None else words.ids


def cast_words(vectors, dtype):
    """Vectors of another dtype that stand for the same words."""
    words = remembered_words(vectors)
    if words is not None and words.soft is not None:
        words = words._replace(soft=ops.cast(words.soft, dtype))
    return remember_words(ops.cast(vectors, dtype), words)


def mask_words(vectors, mask):
    """Vectors that are zero, and stand for no word, where a mask is.

    Args:
        vectors: Float tensor of shape `(..., V)`.
        mask: Float tensor of shape `(...)`, 0 or 1.

    Returns:
        Float tensor of shape `(..., V)`.
    """
    words, there = remembered_words(vectors), mask > 0
    if words is not None:
        relaxed = words.relaxed
        words = words._replace(
            ids=ops.where(there, words.ids, -1),
            relaxed=relaxed if relaxed is None else relaxed & there,
        )
    vectors = vectors * ops.cast(mask, vectors.dtype)[..., None]
    return remember_words(vectors, words)


def stack_words(columns, num_samples):
    """Vectors of steps as those of sequences.

    Args:
        columns: List of `T` float tensors of shape `(B * S, V)`.
        num_samples: Integer `S`.

    Returns:
        Float tensor of shape `(B, S, T, V)`.
    """

    def stack(parts):
        if any(part is None for part in parts):
            return None
        stacked = ops.stack(parts, axis=1)
        return ops.reshape(stacked, (-1, num_samples, *stacked.shape[1:]))

    words = [remembered_words(vectors) for vectors in columns]
    if None not in words:
        words = Words(*(stack(parts) for parts in zip(*words)))
    else:
        words = None
    return remember_words(stack(columns), words)


def embed_words(vectors, table):
    """The product of vectors over the vocabulary with a table of embeddings.

    ```
    output = vectors @ table
    ```

    Of vectors that are known to be one-hot, as those of a word channel are,
    the rows of the table are looked up instead, which gives the same to the
    bit; and the gradients are

    ```
    to the vectors: slope @ table^T
    to the table:   slope, in the rows of the words
    ```

    one product where there were three, and within a graph the vectors
    themselves are never computed.

    Args:
        vectors: Float tensor of shape `(..., V)`.
        table: Float tensor of shape `(V, D)`.

    Returns:
        Float tensor of shape `(..., D)`.

    Example:

    >>> table = np.float32([[0, 0], [1, 2], [3, 4]])
    >>> channel = tfcap.layers.PartialSamplingST(rho=0.0)
    >>> words = channel(np.float32([[[0, 9, 0], [0, 0, 9]]]))
    >>> print(tfcap.ops.embed_words(words, table).numpy())
    [[[1. 2.]
      [3. 4.]]]
    """
    words = remembered_words(vectors)
    if words is None or not _can_look_up(words):
        return ops.matmul(vectors, table)
    rows = ops.take(table, ops.maximum(words.ids, 0), axis=0)
    there = ops.cast(words.ids >= 0, rows.dtype)
    rows = rows * there[..., None]
    if words.relaxed is not None:
        rows = _with_products(rows, words, table)
    return _also_to_vectors(rows, vectors, ops.stop_gradient(table))


def _can_look_up(words):
    """Whether shapes may depend on which vectors are relaxed, if any is."""
    return words.relaxed is None or keras.backend.backend() == "tensorflow"


def _with_products(rows, words, table):
    """Puts products with the table in the places of relaxed vectors."""
    import tensorflow as tf

    places = tf.where(words.relaxed)
    soft = tf.gather_nd(tf.stop_gradient(words.soft), places)
    return tf.tensor_scatter_nd_update(rows, places, tf.matmul(soft, table))


@ops.custom_gradient
def _also_to_vectors(rows, vectors, table):
    """`rows`, the gradient of which reaches the vectors that they embed."""

    def slopes(*args, upstream=None):
        (upstream,) = args if upstream is None else (upstream,)
        to_vectors = ops.matmul(upstream, ops.transpose(table))
        return upstream, to_vectors, ops.zeros_like(table)

    return rows, slopes
