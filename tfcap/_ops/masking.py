"""Masks over sequences, and reductions that see nothing under them."""

from typing import Any

import keras
import numpy as np
from keras import ops

# Below every score; exp() of it is 0 in float32, and differences with it stay
# finite.
LARGE_NEGATIVE = -1e30


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
    dtype = keras.backend.standardize_dtype(scores.dtype)
    scores = ops.cast(scores, keras.backend.result_type(dtype, "float32"))
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
    values = ops.cast(values, keras.backend.result_type(dtype, "float32"))
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
