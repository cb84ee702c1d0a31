"""BLEU of single sentences from counts of their n-grams."""

from keras import ops

from tfcap.text.scores.bleu import FLOOR
from tfcap.text.scores.bleu import SMALL
from tfcap.text.scores.bleu import TINY

#: More than any two sentences differ in length.
_LONGEST = 4096.0


def sentence_bleu(
    own, counts, lengths, others, smoothing=None, effective_order: bool = False
):
    """BLEU-1 to BLEU-K.

    Args:
        own: Float tensor of shape `(..., K, T)`, how often the n-grams at each
            word are in the sentence itself.
        counts: Float tensor of the same shape, how often at most in one of
            the references.
        lengths: Float tensor of shape `(...)`, words of the sentence.
        others: Float tensor of shape `(...)`, words of the reference.

    Returns:
        Float tensor of shape `(..., K)`.
    """
    shares = ops.minimum(own, counts) / ops.maximum(own, 1.0)
    correct = ops.sum(shares, axis=-1)
    orders = ops.arange(correct.shape[-1], dtype="float32")
    guess = ops.maximum(lengths[..., None] - orders, 0.0)
    there = ops.cast(guess > 0, "float32")
    if smoothing is None:
        logs = ops.log(correct + TINY) - ops.log(guess + SMALL)
        scale = 1.0
    else:
        logs, possible = _smoothed(correct, guess, orders, smoothing)
        possible = ops.maximum(possible, 1.0 - there if effective_order else 0)
        scale = ops.cast(correct[..., :1] > 0, "float32")
        scale = scale * ops.cumprod(possible, axis=-1)
    if effective_order:
        used = ops.maximum(ops.cumsum(there, axis=-1), 1.0)
        logs = ops.where(there > 0, logs, 0.0)
    else:
        used = orders + 1.0
    means = ops.exp(ops.cumsum(logs, axis=-1) / used)
    ratio = (lengths + TINY) / (others + SMALL)
    brevity = ops.exp(ops.minimum(1.0 - 1.0 / ratio, 0.0))
    return scale * means * brevity[..., None]


def _smoothed(correct, guess, orders, smoothing):
    """Logarithms of precisions, and 1 where there can be one."""
    # Sums of shares such as 1/3 + 1/3 + 1/3.
    missed = correct < 0.5
    if smoothing == "add_one":
        more = ops.cast(orders > 0, "float32")
        correct, guess = correct + more, guess + more
    elif smoothing == "floor":
        correct = ops.where(missed, FLOOR, correct)
    else:
        zeros = ops.cumsum(ops.cast(missed, "float32"), axis=-1)
        correct = ops.where(missed, ops.power(0.5, zeros), correct)
    possible = ops.cast(guess > 0, "float32")
    logs = ops.log(ops.maximum(correct, 1e-30))
    return logs - ops.log(ops.maximum(guess, 1.0)), possible


def closest_length(lengths, others, present):
    """Length of the reference closest in length, of two the shorter.

    Args:
        lengths: Float tensor of shape `(B, S)`.
        others: Float tensor of shape `(B, S, N)`, or one that broadcasts.
        present: Float tensor of the shape of `others`, 0 where there is none.

    Returns:
        Float tensor of shape `(B, S)`.
    """
    away = ops.absolute(lengths[:, :, None] - others)
    keys = ops.where(present > 0, away * _LONGEST + others, _LONGEST**2 - 1.0)
    return ops.mod(ops.min(keys, axis=-1), _LONGEST)
