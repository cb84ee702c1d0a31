"""Vectors that stand for words, and embed as the words do."""

import functools
import weakref
from typing import Any
from typing import NamedTuple

import keras
from keras import ops

from tfcap._ops.sequences import likeliest_words


class WordIds(NamedTuple):
    """The words that vectors over the vocabulary stand for.

    Args:
        ids: Integer tensor of shape `(...)`, the word of each vector: where it
            is one-hot, its entry of one; where it is relaxed, the word that
            was drawn with it.
        relaxed: Boolean tensor of shape `(...)`, true where a vector is that
            of `soft`; or `None`, where none is.
        soft: Float tensor of shape `(..., V)`, or `None`.
        mask: Float tensor of shape `(...)`, by which the vectors are
            multiplied: 0 where a vector is zero, NaN where there was no word
            to draw; or `None`, for ones.
        prefixes: `Prefixes` that the vectors are, or `None`.
    """

    ids: Any
    relaxed: Any = None
    soft: Any = None
    mask: Any = None
    prefixes: Any = None


class Prefixes(NamedTuple):
    """Prefixes of sequences, each with the end token after it.

    Args:
        source: Float tensor of shape `(B, S, T, V)`, vectors of the sequences.
        going: Boolean tensor of shape `(B, S, N, T)`, which of them N prefixes
            have.
        ends: Boolean tensor of that shape, where the end token is.
        eos: Integer, the end token.
    """

    source: Any
    going: Any
    ends: Any
    eos: int


# Of tensors that take no attributes, such as those of JAX; see the package.
_KEPT = {}


def remember_words(vectors: Any, words: WordIds | None) -> Any:
    """Notes on a tensor what its vectors stand for, as Keras notes a mask.

    Returns `vectors`, of shape `(..., V)`.
    """
    if words is None:
        return vectors
    try:
        vectors._tfcap_words = words
    except AttributeError:
        _KEPT[id(vectors)] = words
        weakref.finalize(vectors, _KEPT.pop, id(vectors), None)
    return vectors


def remembered_words(vectors: Any) -> WordIds | None:
    """Returns the `WordIds` that vectors are known to stand for, or `None`."""
    return getattr(vectors, "_tfcap_words", _KEPT.get(id(vectors)))


def ids_of_words(vectors: Any) -> Any:
    """Ids of the words of vectors: the known ones, or the largest entries."""
    words = remembered_words(vectors)
    return likeliest_words(vectors) if words is None else words.ids


def cast_words(vectors: Any, dtype: str) -> Any:
    """Casts vectors, which then stand for the same words."""
    words = remembered_words(vectors)
    if words is not None and words.soft is not None:
        words = words._replace(soft=ops.cast(words.soft, dtype))
    if words is not None and words.prefixes is not None:
        source = cast_words(words.prefixes.source, dtype)
        words = words._replace(prefixes=words.prefixes._replace(source=source))
    return remember_words(ops.cast(vectors, dtype), words)


def mask_words(vectors: Any, mask: Any) -> Any:
    """Multiplies vectors `(..., V)` by a mask `(...)` of 0 and 1."""
    words = remembered_words(vectors)
    if words is not None:
        valid = 1.0 if words.mask is None else words.mask
        words = words._replace(mask=ops.where(mask > 0, valid, 0.0))
    vectors = vectors * ops.cast(mask, vectors.dtype)[..., None]
    return remember_words(vectors, words)


def stack_words(columns: list, num_samples: int) -> Any:
    """Stacks the vectors of steps to those of sequences.

    A list of `T` tensors of shape `(B * S, V)` becomes `(B, S, T, V)`.
    """

    def stack(parts):
        stacked = ops.stack(parts, axis=1)
        return ops.reshape(stacked, (-1, num_samples, *stacked.shape[1:]))

    def stack_all(parts):
        return None if parts[0] is None else stack(parts)

    words = [remembered_words(vectors) for vectors in columns]
    # Which parts of `WordIds` there are must be the same at every step.
    kinds = {x and tuple(part is None for part in x) for x in words}
    if len(kinds) == 1 and words[0] is not None:
        words = WordIds(*map(stack_all, zip(*words)))
    else:
        words = None
    return remember_words(stack(columns), words)


def by_sample(vectors: Any, num_samples: int) -> Any:
    """Reshapes the vectors of sequences `(B * S, T, V)` to `(B, S, T, V)`."""

    def reshape(tensor):
        shape = (-1, num_samples, *ops.shape(tensor)[1:])
        return ops.reshape(tensor, shape)

    words = remembered_words(vectors)
    if words is not None:
        words = WordIds(*(x if x is None else reshape(x) for x in words))
    return remember_words(reshape(vectors), words)


def prefix_words(prefixes: Prefixes, ids: Any) -> Any:
    """Vectors `(B, S * N, T, V)` of prefixes, of the words `ids`.

    They embed as their source does, once for all prefixes of a sequence.
    """
    source, going, ends, eos = prefixes
    end = ops.one_hot(eos, source.shape[-1], dtype=source.dtype)
    vectors = _choose(going, source, ends, end)
    return remember_words(vectors, WordIds(ids, prefixes=prefixes))


def _choose(going, source, ends, end):
    """Vectors of words `(B, S, T, D)` in each prefix, and of its end `(D,)`."""
    end = ops.where(ends[..., None], end, ops.zeros_like(end))
    vectors = ops.where(going[..., None], source[:, :, None], end)
    _, samples, count, length = ops.shape(going)
    return ops.reshape(vectors, (-1, samples * count, length, end.shape[-1]))


def _embedded_prefixes(words, table):
    source, going, ends, eos = words.prefixes
    table = as_tensor(table)
    vectors = _choose(going, embed_words(source, table), ends, table[eos])
    if words.mask is not None:
        vectors = vectors * ops.cast(words.mask, vectors.dtype)[..., None]
    return vectors


def embed_words(vectors: Any, table: Any) -> Any:
    """Multiplies vectors over the vocabulary with a table of embeddings.

    ```
    output = vectors @ table
    ```

    Of vectors that are known to be one-hot, as those of a word channel are,
    the rows of the table are looked up instead, which gives the same to the
    bit; and the gradients are

    ```
    to the vectors: gradient @ table^T
    to the table:   the sum of gradients, in the rows of the words
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
    >>> print(tfcap.layers.embed_words(words, table).numpy())
    [[[1. 2.]
      [3. 4.]]]
    """
    words = remembered_words(vectors)
    if words is not None and words.prefixes is not None:
        return _embedded_prefixes(words, table)
    if known_words(vectors) is None:
        return ops.matmul(vectors, table)
    table = as_tensor(table)
    # A speaker and its listener may compute in two dtypes.
    vectors = cast_words(vectors, table.dtype)
    return _embedded(vectors, remembered_words(vectors), table)


def known_words(vectors: Any) -> WordIds | None:
    """Returns the `WordIds` of vectors that can be looked up, or `None`."""
    words = remembered_words(vectors)
    if words is not None and words.prefixes is not None:
        return None
    if words is None or words.relaxed is None:
        return words
    # Shapes depend on which vectors are relaxed.
    return words if keras.backend.backend() == "tensorflow" else None


def as_tensor(table: Any) -> Any:
    """Converts a table that may be a variable to a tensor."""
    table = ops.convert_to_tensor(table)
    if keras.backend.backend() != "tensorflow":
        return table
    import tensorflow as tf

    # Keras leaves a variable as it is.
    return tf.convert_to_tensor(table)


def _embedded(vectors, words, table):
    """Looks up rows of the table, with the gradients of a product."""
    if keras.backend.backend() == "jax":
        return _jax_lookup()(vectors, words.ids, words.mask, table)

    @ops.custom_gradient
    def product(vectors, table):
        def gradient(*args, upstream=None):
            (upstream,) = args if upstream is None else (upstream,)
            size = ops.shape(table)[0]
            return (
                vectors_gradient(upstream, table),
                table_gradient([vectors], [words], [upstream], size),
            )

        return look_up(words, table), gradient

    return product(vectors, table)


def vectors_gradient(upstream: Any, table: Any) -> Any:
    """Gradient `(..., V)` to vectors, of one `(..., D)` to what they embed."""
    return ops.matmul(upstream, ops.transpose(table))


def look_up(words: WordIds, table: Any) -> Any:
    """Embeddings of words, `(..., D)`, by rows and not by products."""
    rows = ops.take(table, words.ids, axis=0)
    if words.relaxed is not None:
        rows = _with_products(rows, words, table)
    if words.mask is not None:
        rows = rows * ops.cast(words.mask, rows.dtype)[..., None]
    return rows


def _with_products(rows, words, table):
    """Replaces the rows of relaxed vectors by products with the table."""
    import tensorflow as tf

    index = tf.where(words.relaxed)
    soft = tf.gather_nd(words.soft, index)
    return tf.tensor_scatter_nd_update(rows, index, tf.matmul(soft, table))


def table_gradient(
    vectors: list, words: list[WordIds], upstream: list, size: Any
) -> Any:
    """Gradient to a table, of those to what was looked up in it.

    ```
    gradient = sum of vectors^T @ upstream
    ```

    by adding up rows. It is linear in both, and its gradients are a product
    and a look-up again.

    Args:
        vectors: List of float tensors of shape `(..., V)`.
        words: List of their `WordIds`.
        upstream: List of float tensors of shape `(..., D)`.
        size: Integer or scalar tensor `V`.
    """
    count = len(words)

    @ops.custom_gradient
    def total(*tensors):
        def gradient(*args, upstream=None):
            (outer,) = args if upstream is None else (upstream,)
            return (
                *(vectors_gradient(x, outer) for x in tensors[count:]),
                *(_embedded(x, y, outer) for x, y in zip(tensors, words)),
            )

        return scatter_rows(words, tensors[count:], size), gradient

    return total(*vectors, *upstream)


def scatter_rows(words: list[WordIds], upstream: list, size: Any) -> Any:
    """Adds up gradients in the rows `(V, D)` of their words."""
    rows, ids, soft = [], [], []
    for each, gradient in zip(words, upstream):
        if each.mask is not None:
            gradient = gradient * ops.cast(each.mask, gradient.dtype)[..., None]
        if each.relaxed is not None:
            soft.append((each, gradient))
            gradient = ops.where(each.relaxed[..., None], 0, gradient)
        rows.append(ops.reshape(gradient, (-1, gradient.shape[-1])))
        ids.append(ops.reshape(ops.cast(each.ids, "int32"), (-1,)))
    rows = ops.concatenate(rows, axis=0)
    dtype = keras.backend.standardize_dtype(rows.dtype)
    # Half precision cannot hold a long sum.
    total = ops.segment_sum(
        ops.cast(rows, keras.backend.result_type(dtype, "float32")),
        ops.concatenate(ids, axis=0),
        num_segments=size,
    )
    total = ops.cast(total, dtype)
    return total + _scatter_products(soft) if soft else total


def _scatter_products(soft):
    """Contribution of relaxed vectors to the gradient of a table."""
    import tensorflow as tf

    rows, gradients = [], []
    for words, gradient in soft:
        index = tf.where(words.relaxed)
        rows.append(tf.gather_nd(words.soft, index))
        gradients.append(tf.gather_nd(gradient, index))
    rows, gradients = tf.concat(rows, axis=0), tf.concat(gradients, axis=0)
    return tf.matmul(rows, gradients, transpose_a=True)


@functools.cache
def _jax_lookup():
    """Makes the look-up for JAX, which differentiates a rule by its source.

    The gradient of a gradient by hand is there that of what the forward pass
    of the rule computes. It therefore calls the function itself, and not its
    body.

    Returns:
        Callable from vectors `(..., V)`, ids `(...)`, mask `(...)` or `None`
        and a table `(V, D)` to a tensor of shape `(..., D)`.
    """
    import jax

    @jax.custom_vjp
    def embedded(vectors, ids, mask, table):
        return look_up(WordIds(ids, mask=mask), table)

    @jax.custom_vjp
    def total(vectors, ids, mask, upstream):
        words = [WordIds(ids, mask=mask)]
        return scatter_rows(words, [upstream], vectors.shape[-1])

    def forward(function):
        return lambda *read: (function(*read), read)

    def embedded_gradient(read, upstream):
        vectors, ids, mask, table = read
        to_vectors = vectors_gradient(upstream, table)
        return to_vectors, None, None, total(vectors, ids, mask, upstream)

    def total_gradient(read, outer):
        vectors, ids, mask, upstream = read
        to_vectors = vectors_gradient(upstream, outer)
        return to_vectors, None, None, embedded(vectors, ids, mask, outer)

    embedded.defvjp(forward(embedded), embedded_gradient)
    total.defvjp(forward(total), total_gradient)
    return embedded
