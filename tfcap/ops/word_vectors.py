"""Vectors that stand for words, and embed as the words do."""

import weakref
from typing import Any
from typing import NamedTuple

import keras
from keras import ops

from tfcap.ops.jax_lookup import jax_lookup
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
    themselves are never computed. Gradients of these gradients are those of
    the product, too.

    Args:
        vectors: Float tensor of shape `(..., V)`.
        table: Float tensor or variable of shape `(V, D)`.

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
    words = known_words(vectors)
    if words is None:
        return ops.matmul(vectors, table)
    return _embedded(vectors, words, as_tensor(table))


def known_words(vectors):
    """The `Words` of vectors that can be looked up, or `None`."""
    words = remembered_words(vectors)
    if words is None or words.relaxed is None:
        return words
    # Shapes depend on which vectors are relaxed.
    return words if keras.backend.backend() == "tensorflow" else None


def as_tensor(table):
    """A tensor of a table that may be a variable."""
    table = ops.convert_to_tensor(table)
    if keras.backend.backend() != "tensorflow":
        return table
    import tensorflow as tf

    # Keras leaves a variable as it is.
    return tf.convert_to_tensor(table)


def _embedded(vectors, words, table):
    """Rows of the table, with the gradients of a product."""
    if keras.backend.backend() == "jax":
        return jax_lookup()(vectors, words.ids, words.there, table)

    @ops.custom_gradient
    def product(vectors, table):
        def slopes(*args, upstream=None):
            (upstream,) = args if upstream is None else (upstream,)
            size = ops.shape(table)[0]
            return (
                slope_of_vectors(upstream, table),
                slope_of_table([vectors], [words], [upstream], size),
            )

        return look_up(words, table), slopes

    return product(vectors, table)


def slope_of_vectors(upstream, table):
    """Gradient `(..., V)` to vectors, of one `(..., D)` to what they embed."""
    return ops.matmul(upstream, ops.transpose(table))


def look_up(words, table):
    """Embeddings of words, `(..., D)`, by rows and not by products."""
    rows = ops.take(table, words.ids, axis=0)
    if words.relaxed is not None:
        rows = _with_products(rows, words, table)
    if words.there is not None:
        rows = rows * ops.cast(words.there, rows.dtype)[..., None]
    return rows


def _with_products(rows, words, table):
    """Puts products with the table in the places of relaxed vectors."""
    import tensorflow as tf

    places = tf.where(words.relaxed)
    soft = tf.gather_nd(words.soft, places)
    return tf.tensor_scatter_nd_update(rows, places, tf.matmul(soft, table))


def slope_of_table(vectors, words, upstream, size):
    """The gradient to a table of those to what was looked up in it.

    ```
    slope = sum of vectors^T @ upstream
    ```

    by adding up rows. It is linear in both, and its gradients are a product
    and a look-up again.

    Args:
        vectors: List of float tensors of shape `(..., V)`.
        words: List of their `Words`.
        upstream: List of float tensors of shape `(..., D)`.
        size: Integer or scalar tensor `V`.

    Returns:
        Float tensor of shape `(V, D)`.
    """
    count = len(words)

    @ops.custom_gradient
    def total(*tensors):
        upstream = tensors[count:]

        def slopes(*args, upstream=None):
            (slope,) = args if upstream is None else (upstream,)
            return (
                *(slope_of_vectors(x, slope) for x in tensors[count:]),
                *(_embedded(x, y, slope) for x, y in zip(tensors, words)),
            )

        return sum_of_rows(words, upstream, size), slopes

    return total(*vectors, *upstream)


def sum_of_rows(words, upstream, size):
    """Slopes, added up in the rows of their words."""
    rows, ids, soft = [], [], []
    for each, slope in zip(words, upstream):
        if each.there is not None:
            slope = slope * ops.cast(each.there, slope.dtype)[..., None]
        if each.relaxed is not None:
            soft.append((each, slope))
            slope = ops.where(each.relaxed[..., None], 0, slope)
        rows.append(ops.reshape(slope, (-1, slope.shape[-1])))
        ids.append(ops.reshape(ops.cast(each.ids, "int32"), (-1,)))
    total = ops.segment_sum(
        ops.concatenate(rows, axis=0),
        ops.concatenate(ids, axis=0),
        num_segments=size,
    )
    return total + _sum_of_products(soft) if soft else total


def _sum_of_products(soft):
    """Contribution of relaxed vectors to the gradient of a table."""
    import tensorflow as tf

    rows, slopes = [], []
    for words, slope in soft:
        places = tf.where(words.relaxed)
        rows.append(tf.gather_nd(words.soft, places))
        slopes.append(tf.gather_nd(slope, places))
    rows, slopes = tf.concat(rows, axis=0), tf.concat(slopes, axis=0)
    return tf.matmul(rows, slopes, transpose_a=True)
