"""Small operations on sequences of words."""

import math
from collections.abc import Callable
from typing import Any

import keras
from keras import ops

#: Logit of an impossible word: its probability is 0, and differences with it
#: are finite, as they are not with minus infinity.
IMPOSSIBLE = -1e9


def finite_logits(logits: Any) -> Any:
    """Replaces minus infinity, the usual mask of words, by -1e9.

    Args:
        logits: Float32 tensor of shape `(..., V)`.

    Returns:
        Float32 tensor of that shape: NaN in rows without a possible word; what
        else is not finite stays.

    Example:

    >>> from tfcap._ops.sequences import finite_logits
    >>> logits = np.float32([[0.0, -np.inf], [-np.inf, -np.inf]])
    >>> print(finite_logits(logits).numpy())
    [[ 0.e+00 -1.e+09]
     [     nan      nan]]
    """
    impossible = ops.equal(logits, -math.inf)
    none = ops.all(impossible, axis=-1, keepdims=True)
    finite = ops.where(impossible, IMPOSSIBLE, logits)
    return ops.where(none, math.nan, finite)


def token_log_probs(logits: Any, tokens: Any) -> Any:
    """Log probabilities of given words.

    Args:
        logits: Float tensor of shape `(..., V)`.
        tokens: Integer tensor of shape `(...)`.

    Returns:
        Float32 tensor of the shape of `tokens`; -1e9 for an impossible word,
        NaN where no word is possible, or a logit is NaN or infinite.

    Example:

    >>> logits = np.log([[0.5, 0.25, 0.25]])
    >>> found = tfcap._ops.token_log_probs(logits, np.array([1]))
    >>> print(np.exp(found).round(2))
    [0.25]
    """
    logits = ops.cast(logits, "float32")
    if _one_to_one(logits, tokens):
        rows = ops.reshape(logits, (-1, ops.shape(logits)[-1]))
        scores = _row_log_probs(rows, ops.reshape(tokens, (-1,)))
        return ops.reshape(scores, ops.shape(tokens))
    possible = ops.max(logits, axis=-1) > IMPOSSIBLE
    logits = finite_logits(logits)
    picked = ops.take_along_axis(logits, tokens[..., None], axis=-1)[..., 0]
    scores = picked - ops.logsumexp(logits, axis=-1)
    return ops.where(possible, scores, math.nan)


def _one_to_one(logits, tokens):
    """Check whether both are TensorFlow's, with the same leading axes."""
    if keras.backend.backend() != "tensorflow":
        return False
    if any(isinstance(x, keras.KerasTensor) for x in (logits, tokens)):
        return False
    axes = zip(logits.shape[:-1], tokens.shape, strict=True)
    return all(a == b or None in (a, b) for a, b in axes)


def _row_log_probs(logits, words):
    """Log probabilities `(n,)` of words `(n,)` under logits `(n, V)`.

    With a gradient by hand: in TensorFlow on CPU, that of a gather costs
    several times as much as all the rest, and a sparse cross-entropy likewise.
    """
    import tensorflow as tf

    # A negative id, such as that of what is padded with -1, counts from the
    # end, as in a gather.
    words = tf.cast(words, tf.int32)
    words = tf.where(words < 0, words + tf.shape(logits)[-1], words)

    def pick(tensor, words):
        return tf.gather(tensor, words, batch_dims=1)

    @tf.custom_gradient
    def scores(logits):
        # One softmax, kept for the gradient, and in a graph the same one as
        # of a channel that draws the words.
        chances = tf.nn.softmax(logits)
        best = likeliest_words(logits)
        known = tf.math.log(pick(chances, best))
        most = pick(logits, best)

        def slopes(upstream):
            indices = tf.stack([tf.range(tf.size(words)), words], axis=-1)
            own = upstream * (1.0 - pick(chances, words))
            others = chances * -upstream[:, None]
            return tf.tensor_scatter_nd_update(others, indices, own)

        own = tf.maximum(pick(logits, words) - most + known, IMPOSSIBLE)
        return tf.where(most > IMPOSSIBLE, own, math.nan), slopes

    return scores(logits)


def likeliest_words(logits: Any) -> Any:
    """The word of the largest entry of every row; of equal ones the first.

    Keras' argmax tells -0 from 0, and makes several tensors as large as the
    logits for that, which on CPU costs more than to find the word.

    Args:
        logits: Float tensor of shape `(..., V)`.

    Returns:
        Int32 tensor of shape `(...)`.

    Example:

    >>> print(tfcap._ops.likeliest_words(np.array([[0.5, 2.0, 2.0]])).numpy())
    [1]
    """
    if keras.backend.backend() != "tensorflow":
        return ops.argmax(logits, axis=-1)
    import tensorflow as tf

    return tf.argmax(logits, axis=-1, output_type=tf.int32)


def with_known_sizes(tensor: Any, other: Any) -> Any:
    """Gives a tensor the leading sizes that are known of another.

    A network may lose sizes on its way, which estimators read.

    Args:
        tensor: Tensor of shape `(B, S, ...)`, of sizes that a graph does not
            know.
        other: Tensor of the same first axes.

    Returns:
        The tensor.
    """
    if None not in tensor.shape[1:]:
        return tensor
    sizes = list(ops.shape(tensor))
    for axis, size in enumerate(other.shape[: len(sizes)]):
        sizes[axis] = sizes[axis] if size is None else size
    return ops.broadcast_to(tensor, sizes)


def repeat_samples(tree, num_samples):
    """Repeats the leading axis of every tensor: `(B, ...)` to `(B * S, ...)`.

    Args:
        tree: Nest of tensors of shape `(B, ...)`.
        num_samples: Integer `S`, or a scalar tensor of it.

    Returns:
        Nest of tensors; the copies of one row stand side by side.

    Example:

    >>> print(tfcap._ops.repeat_samples(np.array([1, 2]), 2).numpy())
    [1 1 2 2]
    """
    if isinstance(num_samples, int):
        if num_samples == 1:
            return tree
        return keras.tree.map_structure(
            lambda x: ops.repeat(x, num_samples, axis=0), tree
        )

    def repeat(x):
        # Unlike `repeat()`, this keeps the sizes of the other axes.
        rows, *sizes = ops.shape(x)
        x = ops.broadcast_to(x[:, None], (rows, num_samples, *sizes))
        return ops.reshape(x, (-1, *sizes))

    return keras.tree.map_structure(repeat, tree)


def take_rows(tree, rows: Any):
    """Gathers rows of every tensor of a nest.

    Args:
        tree: Nest of tensors of shape `(B, ...)`.
        rows: Integer tensor of shape `(n,)`.

    Returns:
        Nest of tensors of shape `(n, ...)`.

    Example:

    >>> print(tfcap._ops.take_rows(np.array([5, 6, 7]), [2, 0]).numpy())
    [7 5]
    """
    return keras.tree.map_structure(lambda x: ops.take(x, rows, axis=0), tree)


def map_distinct(function: Callable, rows: Any) -> Any:
    """Applies a function once to each distinct row.

    Candidate answers repeat ("yes" stands in almost every list), and a network
    need not read the same answer twice. Exact: rows are compared whole. On
    backends without a sorted-unique operation every row is passed.

    Args:
        function: Callable from an integer tensor of shape `(U, T)` to a tensor
            of shape `(U, ...)`, row by row independent.
        rows: Integer tensor of shape `(n, T)`.

    Returns:
        Tensor of shape `(n, ...)`.

    Example:

    >>> rows = np.array([[1, 2], [3, 4], [1, 2]])
    >>> print(tfcap._ops.map_distinct(lambda x: x[:, 0] * 10, rows).numpy())
    [10 30 10]
    """
    if keras.backend.backend() != "tensorflow":
        return function(rows)
    import tensorflow as tf

    distinct, index = tf.raw_ops.UniqueV2(x=rows, axis=[0])
    distinct = tf.ensure_shape(distinct, (None, rows.shape[-1]))
    return ops.take(function(distinct), index, axis=0)
