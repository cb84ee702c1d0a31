"""Vectors that stand for words, and embed as the words do."""

import weakref
from typing import Any
from typing import NamedTuple

import keras
from keras import ops

from tfcap.ops.sequences import likeliest_words


class Words(NamedTuple):
    """What vectors over the vocabulary stand for.

    Args:
        ids: Integer tensor of shape `(...)`, the word of each vector: where it
            is one-hot, its entry of one; where it is relaxed, the word that
            was drawn with it.
        relaxed: Boolean tensor of shape `(...)`, true where a vector is that
            of `soft`; or `None`, where none is.
        soft: Float tensor of shape `(..., V)`, or `None`.
        there: Boolean tensor of shape `(...)`, false where a vector is zero;
            or `None`, where none is.
    """

    ids: Any
    relaxed: Any = None
    soft: Any = None
    there: Any = None


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


def ids_of_words(vectors):
    """The word of each vector: what it stands for, or its largest entry."""
    words = remembered_words(vectors)
    return likeliest_words(vectors) if words is None else words.ids


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
    words = remembered_words(vectors)
    if words is not None:
        there = mask > 0 if words.there is None else words.there & (mask > 0)
        words = words._replace(there=there)
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
        stacked = ops.stack(parts, axis=1)
        return ops.reshape(stacked, (-1, num_samples, *stacked.shape[1:]))

    def stack_all(parts):
        return None if parts[0] is None else stack(parts)

    words = [remembered_words(vectors) for vectors in columns]
    if len({_known(word) for word in words}) == 1 and words[0] is not None:
        words = Words(*map(stack_all, zip(*words)))
    else:
        words = None
    return remember_words(stack(columns), words)


def _known(words):
    """Which parts of `Words` there are."""
    return words and tuple(part is None for part in words)


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
    to the table:   the sum of slopes, in the rows of the words
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
    return look_up_or_multiply(vectors, dense_gradient(table))


def look_up_or_multiply(vectors, table):
    """As `embed_words()`, with the gradient of a look-up: a slice a word."""
    words = remembered_words(vectors)
    if words is None or not _can_look_up(words):
        return ops.matmul(vectors, table)
    rows = ops.take(table, words.ids, axis=0)
    if words.relaxed is not None:
        rows = _with_products(rows, words, table)
    if words.there is not None:
        rows = rows * ops.cast(words.there, rows.dtype)[..., None]
    return _also_to_vectors(rows, vectors, ops.stop_gradient(table))


def dense_gradient(table):
    """A table whose gradient is a tensor, whoever looks rows of it up.

    TensorFlow keeps a slice for every row that was read, repeated ones
    included, which Keras' optimizers clip and square one by one.

    Args:
        table: Float tensor or variable of shape `(V, D)`.

    Returns:
        The same as a tensor. The gradient of all that reads it is made dense
        once.
    """
    if keras.backend.backend() != "tensorflow":
        return table
    import tensorflow as tf

    @tf.custom_gradient
    def same(table):
        return tf.identity(table), tf.convert_to_tensor

    # Keras leaves a variable as it is.
    return same(tf.convert_to_tensor(ops.convert_to_tensor(table)))


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
