"""Tensors of words: checks, masks, log probabilities and n-grams."""

import inspect
import math
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import ops
from numpy.typing import NDArray

#: Below every score; exp() of it is 0 in float32, and differences with it stay
#: finite.
LARGE_NEGATIVE = -1e30
#: Logit of an impossible word: its probability is 0, and differences with it
#: are finite, as they are not with minus infinity.
IMPOSSIBLE = -1e9

#: Words of the longest n-gram of a table.
MAX_ORDER = 4
#: Largest id that a key holds; 65,534 stands for a word that no key has.
MAX_ID = 2**16 - 3
#: Slots that an n-gram may lie in, and how full the table may be for that.
_PROBES, _FULLEST = 2, 0.48


def check_shape(tensor: Any, axes: str, name: str):
    """Rejects a tensor whose static shape does not match named axes.

    It costs nothing when a graph runs: only static shapes are checked, and an
    axis of unknown size matches everything.

    Args:
        tensor: Tensor, array or `KerasTensor`.
        axes: String, one word an axis, such as `"B S T"`. A number is the
            size; a repeated letter must have one size. A leading `"..."`
            stands for any number of axes.
        name: String, the argument's name, for the message.

    Raises:
        ValueError: If the shape does not match.

    Example:

    >>> tfcap._ops.check_shape(np.zeros((2, 5, 7)), "B S T", "log_probs")
    >>> tfcap._ops.check_shape(np.zeros((2, 7)), "B S T", "log_probs")
    Traceback (most recent call last):
    ValueError: `log_probs` must have shape (B, S, T). Received: shape=(2, 7).
    """
    check_shapes(**{name: (tensor, axes)})


def check_shapes(**tensors):
    """Rejects tensors whose shapes do not match each other.

    A letter, and the axes of `"..."`, must have one size in all of them.

    Args:
        **tensors: Pairs `(tensor, axes)` by name, axes as in `check_shape()`.

    Raises:
        ValueError: If a shape does not match its axes, or those before it.

    Example:

    >>> from tfcap._ops.sequences import check_shapes
    >>> labels, scores = np.zeros((4, 1)), np.zeros((4, 5))
    >>> check_shapes(labels=(labels, "B N"), scores=(scores, "B N"))
    Traceback (most recent call last):
    ValueError: `scores` must have the N of `labels`. Received: \
labels.shape=(4, 1), scores.shape=(4, 5).
    """
    known = {}
    for name, (tensor, axes) in tensors.items():
        shape = tuple(tensor.shape)
        sizes = _sizes(shape, axes.split())
        if sizes is None:
            raise ValueError(
                f"`{name}` must have shape ({', '.join(axes.split())}). "
                f"Received: shape={shape}."
            )
        for letter, size in sizes.items():
            expected, first = known.setdefault(letter, (size, name))
            if expected is None:
                known[letter] = size, name
            elif size not in (None, expected):
                what = "axes" if letter.startswith(".") else letter
                raise ValueError(
                    f"`{name}` must have the {what} of `{first}`. Received: "
                    f"{first}.shape={tuple(tensors[first][0].shape)}, "
                    f"{name}.shape={shape}."
                )


def _sizes(shape, letters):
    """Sizes by letter, those of `"..."` by dots; `None` where they differ."""
    sizes = {}
    if letters[0] == "...":
        lead = len(shape) - len(letters) + 1
        letters = [*(f"...{i}" for i in range(lead)), *letters[1:]]
        sizes["..."] = lead
    if len(letters) != len(shape):
        return None
    for letter, size in zip(letters, shape):
        expected = int(letter) if letter.isdigit() else sizes.get(letter)
        if None not in (size, expected) and size != expected:
            return None
        sizes[letter] = size if expected is None else expected
    return sizes


def batch_entry(inputs, key: str, what: str, remedy: str = "", pad: int = 0):
    """Looks up an entry of a batch by its key.

    Args:
        inputs: Dict of tensors, or of their shapes.
        key: String.
        what: String, what it is, for the message.
        remedy: String, for the message.
        pad: Integer, by which ragged ids are filled. Defaults to `0`.

    Raises:
        ValueError: If there is no such entry.
    """
    if isinstance(inputs, dict) and key in inputs:
        return dense(inputs[key], pad)
    received = type(inputs).__name__
    if isinstance(inputs, dict):
        received = f"inputs with {', '.join(sorted(inputs))}"
    message = (
        f"`inputs` must hold {key!r}, {what}. Received: {received}. {remedy}"
    )
    raise ValueError(message.rstrip())


def mask_for(function: Callable, mask: Any) -> dict:
    """Returns a mask as a keyword argument, for a function that takes one.

    The `embed_images(image, training)` of a user's network need not.

    Args:
        function: Callable.
        mask: Tensor, or `None` where nothing is masked.

    Returns:
        Dict of `mask`, or an empty one.

    Example:

    >>> from tfcap._ops.sequences import mask_for
    >>> mask_for(lambda image, mask=None: image, 1), mask_for(len, 1)
    ({'mask': 1}, {})
    """
    if mask is None or "mask" not in inspect.signature(function).parameters:
        return {}
    return {"mask": mask}


def check_values(holds: Any, message: str, value: Any = None) -> Any:
    """Rejects values for which a condition does not hold.

    Unlike shapes and types, values are checked whenever a graph runs. Only
    TensorFlow can do so in a graph, unless XLA compiles it: there, and on
    other backends, nothing is checked.

    Args:
        holds: Boolean tensor, the condition.
        message: String.
        value: Tensor, optional.

    Returns:
        `value`; in a graph, what is computed from it waits for the check.

    Raises:
        ValueError: If it does not hold, in eager execution. In a TensorFlow
            graph it is a `tf.errors.InvalidArgumentError`.

    Example:

    >>> from tfcap._ops.sequences import check_values
    >>> check_values(keras.ops.any([0, 1] == 2), "`x` must hold a 2.")
    Traceback (most recent call last):
    ValueError: `x` must hold a 2.
    """
    if keras.backend.backend() != "tensorflow":
        return value
    import tensorflow as tf

    if isinstance(holds, keras.KerasTensor):
        return value
    holds = tf.convert_to_tensor(holds)
    if tf.executing_eagerly():
        if not bool(holds):
            raise ValueError(message)
        return value
    check = tf.debugging.Assert(holds, [message])
    if value is None:
        return None
    with tf.control_dependencies([check]):
        return tf.identity(value)


def at_least_float32(tensor):
    """Casts half precision and integers to float32; keeps float64."""
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

    A row that begins with padding is absent, even if `pad` is one of `eos`.

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

    Speakers start from it and never generate it.

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
        entry is masked, so that its exponential is 0 and differences are
        finite. Gradients are finite throughout, and 0 under the mask.

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
    """Returns whether both are TensorFlow's, with the same leading axes."""
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
    words = tf.where(words < 0, words + ops.shape(logits)[-1], words)

    @tf.custom_gradient
    def scores(logits):
        # One softmax, kept for the gradient, and in a graph the same one as
        # of a channel that draws the words.
        chances = tf.nn.softmax(logits)
        best = likeliest_words(logits)
        known = tf.math.log(entry_of_rows(chances, best))
        most = entry_of_rows(logits, best)

        def slopes(upstream):
            indices = tf.stack([tf.range(tf.size(words)), words], axis=-1)
            own = upstream * (1.0 - entry_of_rows(chances, words))
            others = chances * -upstream[:, None]
            return tf.tensor_scatter_nd_update(others, indices, own)

        own = tf.maximum(
            entry_of_rows(logits, words) - most + known, IMPOSSIBLE
        )
        return tf.where(most > IMPOSSIBLE, own, math.nan), slopes

    return scores(logits)


def entry_of_rows(tensor: Any, index: Any) -> Any:
    """Takes one entry of each row: `(n, K, ...)` at `(n,)` to `(n, ...)`.

    Keras' `take_along_axis()` transposes the whole tensor on TensorFlow.
    """
    if keras.backend.backend() != "tensorflow":
        return tensor[ops.arange(index.shape[0]), index]
    import tensorflow as tf

    return tf.gather(tensor, index, batch_dims=1)


def likeliest_words(logits: Any) -> Any:
    """The word of the largest entry of every row; of equal ones the first.

    Keras' argmax distinguishes -0 from 0. The tensors that it makes for that
    cost more on CPU than finding the word.

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
    """Gives a tensor the static leading sizes of another.

    Estimators read static sizes, which a network may have lost.

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

    Candidate answers repeat ("yes" is in almost every list), and a network
    need not read the same answer twice. Whole rows are compared, so that the
    result is exact. Backends without a sorted-unique operation pass every row.

    Args:
        function: Callable from an integer tensor of shape `(U, T)` to a tensor
            of shape `(U, ...)`, independent for each row.
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


def dense(tensor: Any, pad: int = 0) -> Any:
    """Pads a ragged tensor of ids, such as one of `ragged_batch()`.

    Args:
        tensor: Any object; what is not a `tf.RaggedTensor` stays as it is.
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
            "`inputs` must not hold ragged floats, whose padding would be "
            f"unknown. Received: a RaggedTensor of {tensor.dtype.name}. "
            "Pad them by `padded_batch()`, and add an `image_mask`."
        )
    return tensor.to_tensor(default_value=pad)


def straight_through(hard: Any, soft: Any) -> Any:
    """Returns `hard` with the gradient of `soft`.

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


def words_only(tokens: Any, mask: Any) -> Any:
    """Returns the ids of the words of sentences, -1 elsewhere.

    The functions on n-grams read these: an id below 0 is not a word and equals
    no word, so that nothing under a mask can change a result.

    Args:
        tokens: Integer tensor of shape `(..., T)`.
        mask: Tensor of the same shape, nonzero where a word counts.

    Returns:
        Int32 tensor of shape `(..., T)`.

    Example:

    >>> print(tfcap._ops.words_only(np.array([7, 5, 9]), [1, 1, 0]).numpy())
    [ 7  5 -1]
    """
    tokens = ops.cast(tokens, "int32")
    return ops.where(ops.cast(mask, "bool"), tokens, -1)


def sentence_lengths(words: Any) -> Any:
    """Number of words of sentences.

    Args:
        words: Integer tensor of shape `(..., T)`, below 0 where there is none.

    Returns:
        Float32 tensor of shape `(...)`.

    Example:

    >>> print(tfcap._ops.sentence_lengths(np.array([[7, 5, -1]])).numpy())
    [2.]
    """
    return ops.sum(ops.cast(ops.greater_equal(words, 0), "float32"), axis=-1)


def ngram_counts(words: Any, others: Any, max_order: int = 4) -> Any:
    """Counts the n-grams that start at each word in another sentence.

    With `others=words`, counts them in their own sentence.

    Args:
        words: Integer tensor of shape `(..., T)`, below 0 where there is no
            word.
        others: Integer tensor of shape `(..., U)`, as `words`. Leading axes
            broadcast.
        max_order: Positive integer. Defaults to `4`.

    Returns:
        Float32 tensor of shape `(..., max_order, T)`: at `[..., n - 1, i]`
        how often the n-gram of order `n` that starts at word `i` occurs in
        the other sentence; 0 where fewer than `n` words are left.

    Example:

    >>> words, others = np.array([[5, 6, 5]]), np.array([[5, 6, 7, 5, 6]])
    >>> print(tfcap._ops.ngram_counts(words, others, max_order=2).numpy())
    [[[2. 2. 2.]
      [2. 0. 0.]]]
    """
    # Absent words equal none of the other's.
    words = _with_words_ahead(ops.maximum(words, -1), max_order, -1)
    others = ops.where(ops.less(others, 0), -2, others)
    others = _with_words_ahead(others, max_order, -2)
    counts, same = [], True
    for word, other in zip(words, others):
        # An n-gram matches where the one before does, and its last word.
        last = ops.equal(word[..., :, None], other[..., None, :])  # (T, U)
        same = ops.logical_and(same, last)
        counts.append(ops.sum(ops.cast(same, "float32"), axis=-1))
    return ops.stack(counts, axis=-2)


def _with_words_ahead(words, max_order, absent):
    """The words, those after them, those after these, and so on."""
    length, before = ops.shape(words)[-1], [(0, 0)] * (len(words.shape) - 1)
    padded = ops.pad(
        words, [*before, (0, max_order - 1)], constant_values=absent
    )
    return [padded[..., n : n + length] for n in range(max_order)]


class Resident:
    """A constant array, held once on every device that reads it.

    A plain constant would be copied into every traced graph; a variable could
    be read on its own device only.

    Args:
        array: NumPy array.

    Example:

    >>> tfcap._ops.Resident(np.arange(3.0)).tensor().shape
    TensorShape([3])
    """

    def __init__(self, array: NDArray):
        self.array = np.asarray(array)
        self._tensors = {}

    def tensor(self):
        """The array on the device of the caller."""
        if keras.backend.backend() != "tensorflow":
            return ops.convert_to_tensor(self.array)
        import tensorflow as tf

        device = tf.zeros(()).device
        if device not in self._tensors:
            # Lifted out of any graph, so that all graphs share it.
            with tf.init_scope(), tf.device(device or None):
                self._tensors[device] = tf.constant(self.array)
        return self._tensors[device]


class NGramTable:
    """A read-only hash table from n-grams to numbers.

    It is built once with NumPy and read by a few gathers, without a host call
    or a loop, also in an XLA-compiled function (where `searchsorted` compares
    all pairs). Each n-gram lies in one of two slots (cuckoo hashing), and a
    slot holds the whole key, so that a lookup is exact.

    Args:
        keys: Int64 array of shape `(n,)`, distinct n-grams of one to four
            ids from 0 to 65,533, packed as `tfcap.text.ngrams.pack_ngrams()`
            does: 16 bits a word, its id plus 1, the first word lowest.
        values: Float array of shape `(n,)`.
        default: Float, value of an n-gram that is not in the table.

    Attributes:
        nbytes: Integer, memory of the table.

    Example:

    >>> key = 8 | 6 << 16  # The ids 7 and 5.
    >>> table = tfcap._ops.NGramTable(np.array([key]), [0.5], default=3.0)
    >>> print(table.lookup(np.array([[7, 5, 9]]), max_order=2).numpy())
    [[[3.  3.  3. ]
      [0.5 3.  3. ]]]

    Reference:

    - Pagh and Rodler, Cuckoo Hashing, 2004
    """

    def __init__(self, keys: NDArray, values: NDArray, default: float = 0.0):
        halves = np.ascontiguousarray(keys, "<i8").view("<i4").reshape(-1, 2)
        self.default = float(default)
        self._multipliers, slots = _build_slots(*halves.T)
        rows = np.zeros((slots.size, 3), np.int32)
        taken = slots >= 0
        rows[taken, :2] = halves[slots[taken]]
        values = np.asarray(values, np.float32)
        rows[taken, 2] = values.view(np.int32)[slots[taken]]
        # As floating point, since integers of 32 bits stay on the host when
        # TensorFlow computes on a GPU.
        self._rows = Resident(rows.view(np.float32))
        self._bits = slots.size.bit_length() - 1
        self.nbytes = rows.nbytes

    def rows(self):
        """Returns the table as a tensor, to pass to a compiled function."""
        return self._rows.tensor()

    def lookup(self, words: Any, max_order: int = MAX_ORDER, rows=None) -> Any:
        """Values of the n-grams that start at each word.

        Args:
            words: Integer tensor of shape `(..., T)`, below 0 where there is
                no word.
            max_order: Integer, from 1 to 4. Defaults to `4`.
            rows: What `rows()` returned, for a compiled function. Defaults to
                a call of it.

        Returns:
            Float32 tensor of shape `(..., max_order, T)`. The default where
            an n-gram is not in the table, or fewer than `n` words are left.
        """
        rows = self.rows() if rows is None else rows
        low, high = _keys(ops.cast(words, "int32"), max_order)
        values = self.default
        for multipliers in self._multipliers:
            slots = ops.take(rows, self._slot(low, high, multipliers), axis=0)
            match = ops.equal(as_integers(slots[..., 0]), low)
            match = ops.logical_and(
                match, ops.equal(as_integers(slots[..., 1]), high)
            )
            values = ops.where(match, slots[..., 2], values)
        return values

    def _slot(self, low, high, multipliers):
        """`_slot()` in tensors."""
        first, second = (int(x) for x in multipliers)
        mixed = ops.right_shift(low * first + high * second, 32 - self._bits)
        return ops.bitwise_and(mixed, 2**self._bits - 1)


def as_integers(floats: Any) -> Any:
    """Int32 tensor of the bits of a float32 tensor."""
    if keras.backend.backend() != "tensorflow":
        return ops.view(floats, "int32")
    import tensorflow as tf

    # Keras' needs the size of the last axis.
    return tf.bitcast(floats, tf.int32)


def _keys(words, max_order):
    """Lower and upper halves of the keys that start at each word."""
    known = ops.logical_and(
        ops.greater_equal(words, 0), ops.less_equal(words, MAX_ID)
    )
    fields = [ops.where(known, words + 1, 0xFFFF)]
    for _ in range(1, MAX_ORDER):
        last = fields[-1]
        none = ops.full_like(last[..., :1], 0xFFFF)
        fields.append(ops.concatenate([last[..., 1:], none], axis=-1))
    first, second, third, fourth = fields
    low = ops.bitwise_or(first, ops.left_shift(second, 16))
    high = ops.bitwise_or(third, ops.left_shift(fourth, 16))
    zero = ops.zeros_like(first)
    lows = [first, low, low, low][:max_order]
    highs = [zero, zero, third, high][:max_order]
    return ops.stack(lows, axis=-2), ops.stack(highs, axis=-2)


def _slot(low, high, multipliers, bits):
    """Slot of a key: the top bits of a random linear function of its halves.

    Integers of 32 bits wrap around, in NumPy as in every backend.
    """
    first, second = multipliers
    mixed = low * first + high * second
    return (mixed >> (32 - bits)) & (2**bits - 1)


def _build_slots(low, high):
    """Finds a slot for every key.

    Returns:
        Pairs of multipliers, one pair a probe, and an integer array of shape
        `(slots,)` with the number of the key that lies there, or -1.
    """
    rng = np.random.default_rng(0)
    bits = max(int(np.ceil(np.log2(max(len(low), 1) / _FULLEST))), 1)
    for attempt in range(1, 17):
        multipliers = [tuple(pair) for pair in _multipliers(rng)]
        target = [_slot(low, high, pair, bits) for pair in multipliers]
        slots = _fill_slots(np.array(target), 2**bits)
        if slots is not None:
            return multipliers, slots
        # Bad luck with the multipliers goes away with others, as a rule.
        bits += attempt % 4 == 0
    raise ValueError(
        "`keys` must be distinct. Received: keys that find no room in a table "
        f"of {2**bits} slots. Pass each n-gram once."
    )


def _multipliers(rng):
    random = rng.integers(-(2**31), 2**31, (_PROBES, 2), np.int32)
    return random | np.int32(1)


def _fill_slots(target, size):
    """Moves keys between their slots until none shares one; else None."""
    slots = np.full(size, -1, np.int32)
    choice = np.zeros(target.shape[1], np.int8)
    pending = np.arange(target.shape[1], dtype=np.int32)
    for _ in range(1000):
        if not len(pending):
            return slots
        at = target[choice[pending], pending]
        driven_out = np.unique(slots[at])
        slots[at] = pending
        beaten = pending[slots[at] != pending]
        pending = np.concatenate([beaten, driven_out[driven_out >= 0]])
        choice[pending] = (choice[pending] + 1) % len(target)
    return None
