"""Sequences of words: masks, loops over words, log probabilities."""

import math
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import ops

#: Below every score; exp() of it is 0 in float32, and differences with it stay
#: finite.
LARGE_NEGATIVE = -1e30
#: Logit of an impossible word: its probability is 0, and differences with it
#: are finite, as they are not with minus infinity.
IMPOSSIBLE = -1e9
#: Steps above which a graph of every step is slow to build.
LONGEST_UNROLLED = 32


def at_least_float32(tensor):
    """Casts half precision and integers up; leaves float64 alone."""
    dtype = keras.backend.standardize_dtype(tensor.dtype)
    return ops.cast(tensor, keras.backend.result_type(dtype, "float32"))


def is_end(tokens: Any, eos: int | tuple[int, ...]) -> Any:
    """Marks end tokens.

    Args:
        tokens: Integer tensor of shape `(...)`.
        eos: Integer, the end token's id, or a tuple of several.

    Returns:
        Boolean tensor of shape `(...)`.

    Example:

    >>> print(tfcap._ops.is_end(np.array([7, 2, 3]), eos=(2, 3)).numpy())
    [False  True  True]
    """
    first, *others = eos if isinstance(eos, tuple | list) else (eos,)
    ended = ops.equal(tokens, first)
    for other in others:
        ended = ops.logical_or(ended, ops.equal(tokens, other))
    return ended


def sequence_mask(tokens: Any, eos: int | tuple[int, ...], pad: int = 0) -> Any:
    """Marks the words of a sequence, the end token included.

    Args:
        tokens: Integer tensor of shape `(..., T)`.
        eos: Integer, the end token's id, or a tuple of several.
        pad: Integer, the padding's id. Where it is one of `eos`, the first one
            is the end. Defaults to `0`.

    Returns:
        Float32 tensor of shape `(..., T)`: 1 up to and including the first
        end token and before the first padding, 0 elsewhere.

    Example:

    >>> tokens = np.array([[7, 5, 2, 0], [7, 5, 6, 7]])
    >>> print(tfcap._ops.sequence_mask(tokens, eos=2).numpy())
    [[1. 1. 1. 0.]
     [1. 1. 1. 1.]]
    """
    ended = is_end(tokens, eos)
    padded = ops.equal(tokens, pad)
    stops = ops.cast(ops.logical_or(ended, padded), "float32")
    before = ops.equal(ops.cumsum(stops, axis=-1) - stops, 0)
    words = ops.logical_or(ended, ops.logical_not(padded))
    return ops.cast(ops.logical_and(before, words), "float32")


def reference_mask(
    tokens: Any, eos: int | tuple[int, ...], pad: int = 0
) -> Any:
    """Marks the words of sequences of which some may be absent.

    A row that begins with padding is no sequence, also where `pad` is one of
    `eos`.

    Args:
        tokens, eos, pad: As of `sequence_mask()`.

    Returns:
        Float32 tensor of shape `(..., T)`.

    Example:

    >>> tokens = np.array([[7, 2, 2], [2, 2, 2]])
    >>> print(tfcap._ops.reference_mask(tokens, eos=2, pad=2).numpy())
    [[1. 1. 0.]
     [0. 0. 0.]]
    """
    present = ops.not_equal(tokens[..., :1], pad)
    return sequence_mask(tokens, eos, pad) * ops.cast(present, "float32")


def without_start(tokens: Any, reader: Any) -> Any:
    """Leaves out the start token that human captions may begin with.

    Speakers start from it and never say it: a caption that keeps it has a
    word that no caption of theirs can have.

    Args:
        tokens: Integer tensor of shape `(..., T)`.
        reader: Speaker, or another reader of its words, with the ids `bos`,
            `eos` and `pad`, 0 where it names none. Without a `bos`, nothing is
            left out.

    Returns:
        Integer tensor of shape `(..., T)`: sequences that begin with `bos` are
        moved one step ahead, and padded. Where `bos` also ends or pads
        sequences, it starts one only if a word follows.

    Example:

    >>> from types import SimpleNamespace
    >>> tokens = np.array([[1, 7, 5, 2], [7, 5, 2, 0]])
    >>> reader = SimpleNamespace(bos=1, eos=2)
    >>> print(tfcap._ops.without_start(tokens, reader).numpy())
    [[7 5 2 0]
     [7 5 2 0]]
    """
    bos, pad = getattr(reader, "bos", None), getattr(reader, "pad", 0)
    if bos is None:
        return tokens
    first = tokens[..., :1]
    moved = ops.concatenate(
        [tokens[..., 1:], ops.full_like(first, pad)], axis=-1
    )
    starts = ops.equal(first, bos)
    stops = (pad, *np.ravel(getattr(reader, "eos", ())).tolist())
    if bos in stops:
        word = ops.logical_not(is_end(moved[..., :1], stops))
        starts = ops.logical_and(starts, word)
    return ops.where(starts, moved, tokens)


def masked_softmax(logits: Any, mask: Any, axis: int = -1) -> Any:
    """Softmax over the unmasked entries.

    Args:
        logits: Float tensor.
        mask: Tensor that broadcasts to `logits`, nonzero where an entry
            counts, or `None` for a plain softmax.
        axis: Integer. Defaults to `-1`.

    Returns:
        Float tensor of the shape of `logits`: exactly 0 under the mask, all
        zeros where every entry is masked, with finite gradients throughout.

    Example:

    >>> weights = tfcap._ops.masked_softmax(np.zeros((2, 2)), [[1, 0], [0, 0]])
    >>> print(weights.numpy())
    [[1. 0.]
     [0. 0.]]
    """
    if mask is None:
        return ops.softmax(logits, axis=axis)
    dtype = logits.dtype
    keep = ops.cast(ops.cast(mask, "bool"), "float32")
    # Half precision has no room for a large negative constant, so the sum is
    # taken in float32 over shifted, zeroed exponentials.
    scores = ops.where(keep > 0, ops.cast(logits, "float32"), -1e9)
    top = ops.stop_gradient(ops.max(scores, axis=axis, keepdims=True))
    weights = ops.exp(scores - top) * keep
    total = ops.sum(weights, axis=axis, keepdims=True)
    return ops.cast(weights / ops.maximum(total, 1e-20), dtype)


def masked_logsumexp(scores: Any, mask: Any, axis=-1) -> Any:
    """Logarithm of the sum of exponentials of the unmasked entries.

    Args:
        scores: Float tensor.
        mask: Tensor that broadcasts with `scores`, nonzero where an entry
            counts, or `None` for a plain log-sum-exp.
        axis: Integer, or tuple of integers. Defaults to `-1`.

    Returns:
        Float tensor, at least float32, with `axis` reduced: -1e30 where every
        entry is masked, of which the exponential is 0 and with which
        differences are finite, as they are not with infinity. Gradients are
        finite throughout, and 0 under the mask.

    Example:

    >>> scores = np.log([[1.0, 2.0, 4.0], [1.0, 2.0, 4.0]])
    >>> mask = [[1, 1, 0], [0, 0, 0]]
    >>> print(np.exp(tfcap._ops.masked_logsumexp(scores, mask)).round(4))
    [3. 0.]
    """
    # Half precision has no room for a large negative constant, and rounds
    # logarithms of large scores to nothing.
    scores = at_least_float32(scores)
    if mask is not None:
        scores = ops.where(ops.cast(mask, "bool"), scores, LARGE_NEGATIVE)
    return ops.logsumexp(scores, axis=axis)


def masked_mean(values: Any, mask: Any, axis=None) -> Any:
    """Mean over the unmasked entries; 0 where there are none.

    Args:
        values: Float tensor.
        mask: Tensor that broadcasts to `values`, or `None` for a plain mean.
        axis: Integer, tuple of integers or `None` for all axes.

    Returns:
        Float tensor of the dtype of `values`, with `axis` reduced.

    Example:

    >>> float(tfcap._ops.masked_mean(np.array([1.0, 3.0, 50.0]), [1, 1, 0]))
    2.0
    """
    dtype = keras.backend.standardize_dtype(values.dtype)
    # Half precision can neither hold a long sum nor count far.
    values = at_least_float32(values)
    if mask is None:
        return ops.cast(ops.mean(values, axis=axis), dtype)
    keep = ops.broadcast_to(
        ops.cast(ops.cast(mask, "bool"), values.dtype), ops.shape(values)
    )
    # where() rather than a product: what is masked may be infinite.
    total = ops.sum(ops.where(keep > 0, values, 0), axis=axis)
    mean = total / ops.maximum(ops.sum(keep, axis=axis), 1)
    return ops.cast(mean, dtype)


def mean_of_positions(vectors: Any, mask: Any = None) -> Any:
    """Averages vectors `(B, P, D)` under a mask `(B, P)`, or all of them."""
    if mask is not None:
        mask = mask[..., None]
    return masked_mean(vectors, mask, axis=1)


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


def each_word(
    step: Callable,
    state: Any,
    words: Any,
    dtype: str = "float32",
    unroll: bool | None = None,
) -> Any:
    """Runs a recurrence over words, step by step or in a loop of the graph.

    Args:
        step, state, words, dtype: As of `scan_words()`. Step by step, the
            shapes of the state may change, and `dtype` does not matter.
        unroll: Boolean, whether every step is a part of the graph. Defaults to
            `None`: where there are at most 32, or a state changes its shapes.

    Returns:
        Tensor of shape `(n, T, ...)`, the outputs of all steps.

    Example:

    >>> from tfcap._ops.sequences import each_word
    >>> total = each_word(
    ...     lambda x, state: (state + x, state + x),
    ...     np.zeros(1, "float32"),
    ...     np.ones((1, 40), "float32"),
    ... )
    >>> print(total[0, ::13].numpy())
    [ 1. 14. 27. 40.]
    """
    length = words.shape[1]
    if length is None:
        return scan_words(step, state, words, dtype)
    if unroll is None:
        unroll = length <= LONGEST_UNROLLED
    columns, start = [], 0
    if not unroll:
        # The first step tells whether the state keeps its shapes.
        first, after = step(words[:, 0], state)
        if same_shapes(state, after):
            first = ops.cast(first, dtype)[:, None]
            rest = scan_words(step, after, words[:, 1:], dtype)
            return ops.concatenate([first, rest], axis=1)
        columns, start, state = [first], 1, after
    for word in ops.unstack(words, length, axis=1)[start:]:
        column, state = step(word, state)
        columns.append(column)
    return ops.stack(columns, axis=1)


def same_shapes(before: Any, after: Any, free: int = 0) -> bool:
    """Check whether two nests of tensors have the same static shapes.

    The first `free` axes may be of any size.
    """
    before, after = map(keras.tree.flatten_with_path, (before, after))
    if [path for path, _ in before] != [path for path, _ in after]:
        return False
    return all(
        len(x.shape) == len(y.shape)
        and all(
            m == n or None in (m, n)
            for m, n in zip(x.shape[free:], y.shape[free:])
        )
        for (_, x), (_, y) in zip(before, after)
    )


def scan_words(
    step: Callable, state: Any, words: Any, dtype: str = "float32"
) -> Any:
    """Runs a recurrence over words in a loop of the graph, with gradient.

    A step is traced once, and the number of words may be unknown.

    Args:
        step: Callable from the words of a step, `(n, ...)`, and the state to
            an output `(n, ...)` and the next state.
        state: Nest of tensors with leading axis `n`, whose shapes stay.
        words: Tensor of shape `(n, T, ...)`.
        dtype: String, of the output.

    Returns:
        Tensor of shape `(n, T, ...)`, the outputs of all steps.

    Raises:
        ValueError: If `step` returns a state of other shapes.

    Example:

    >>> from tfcap._ops.sequences import scan_words
    >>> total = scan_words(
    ...     lambda x, state: (state + x, state + x),
    ...     np.zeros(1, "float32"),
    ...     np.array([[1.0, 2.0, 3.0]], "float32"),
    ... )
    >>> print(total.numpy())
    [[1. 3. 6.]]
    """
    if keras.backend.backend() != "tensorflow":
        return _scan(step, state, words, dtype)
    import tensorflow as tf

    words = tf.convert_to_tensor(words)
    state = keras.tree.map_structure(tf.convert_to_tensor, state)
    length, first = tf.shape(words)[1], keras.tree.flatten(state)
    # Of every leaf, all axes but that of rows stay.
    shapes = [tf.TensorShape([None, *leaf.shape[1:]]) for leaf in first]
    columns = tf.TensorArray(words.dtype, length, infer_shape=False)
    columns = columns.unstack(tf.einsum("nt...->tn...", words))
    rows = tf.TensorShape([None, *words.shape[2:]])

    def body(t, leaves, outputs):
        word = tf.ensure_shape(columns.read(t), rows)
        before = keras.tree.pack_sequence_as(state, leaves)
        output, after = step(word, before)
        _check_kept(before, after)
        leaves = [
            tf.ensure_shape(tf.cast(leaf, old.dtype), shape)
            for leaf, old, shape in zip(
                keras.tree.flatten(after), first, shapes
            )
        ]
        return t + 1, leaves, outputs.write(t, tf.cast(output, dtype))

    _, _, outputs = tf.while_loop(
        lambda t, *_: t < length,
        body,
        (tf.constant(0), first, tf.TensorArray(dtype, length)),
        shape_invariants=(tf.TensorShape([]), shapes, tf.TensorShape(None)),
        maximum_iterations=length,
    )
    return tf.einsum("tn...->nt...", outputs.stack())


def _scan(step, state, words, dtype):
    """The same on backends that know the number of words."""

    def body(before, word):
        output, after = step(word, before)
        after = keras.tree.map_structure(
            lambda x, y: ops.cast(x, y.dtype), after, before
        )
        return after, ops.cast(output, dtype)

    state = keras.tree.map_structure(ops.convert_to_tensor, state)
    _, outputs = ops.scan(body, state, ops.moveaxis(words, 1, 0))
    return ops.moveaxis(outputs, 0, 1)


def dense(tensor: Any, pad: int = 0) -> Any:
    """Pads a ragged tensor of ids, such as one of `ragged_batch()`.

    Args:
        tensor: Any object; what is no `tf.RaggedTensor` stays as it is.
        pad: Integer.

    Returns:
        Tensor, or the object.

    Raises:
        TypeError: If it is a ragged tensor of floats.
    """
    if not hasattr(tensor, "ragged_rank"):
        return tensor
    if not tensor.dtype.is_integer:
        raise TypeError(
            "`inputs` must not hold ragged floats, whose padding nothing "
            f"would tell. Received: a RaggedTensor of {tensor.dtype.name}. "
            "Pad them by `padded_batch()`, with `image_mask` beside images."
        )
    return tensor.to_tensor(default_value=pad)


def _check_kept(before, after):
    """Refuses states whose shapes change from step to step."""
    if same_shapes(before, after):
        return
    shapes = [
        keras.tree.map_structure(lambda x: x.shape, tree)
        for tree in (before, after)
    ]
    raise ValueError(
        "`T`, the number of words, must be known while a graph is traced "
        "for a speaker whose state grows with every word. Received: "
        f"states of shapes {shapes[0]} and then {shapes[1]}. Pad to a "
        "fixed number, such as by `padded_shapes` of `padded_batch()`."
    )


def straight_through(hard: Any, soft: Any) -> Any:
    """Emits `hard` and differentiates as `soft`.

    ```
    output = hard + (soft - stop_gradient(soft))
    ```

    Args:
        hard: Float tensor, the value to emit. Its own gradient is kept, so
            wrap it in `keras.ops.stop_gradient()` if it should have none.
        soft: Float tensor of the same shape, the value to differentiate.

    Returns:
        Tensor of the shape of `hard`, exactly equal to it.

    Example:

    >>> hard, soft = np.array([0.0, 1.0]), np.array([0.4, 0.6])
    >>> print(tfcap._ops.straight_through(hard, soft).numpy())
    [0. 1.]

    Reference:

    - Bengio et al., Estimating or Propagating Gradients Through Stochastic
      Neurons for Conditional Computation, 2013, section 4
    """
    return hard + (soft - ops.stop_gradient(soft))
