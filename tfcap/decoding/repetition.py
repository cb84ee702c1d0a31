"""Captions that say nothing twice."""

from keras import ops

from tfcap.ops.arguments import checked_integer


def without_repeats(logits, told, size):
    """Logits under which no n-gram of a sequence comes again.

    Args:
        logits: Float tensor of shape `(n, V)`, of the next word.
        told: Integer tensor of shape `(n, t)`, the words so far.
        size: Integer, words of an n-gram; 0 allows everything.

    Returns:
        Float tensor of shape `(n, V)`, -1e9 for words that would end an n-gram
        that is in `told` already.

    Reference:

    - Paulus et al., A Deep Reinforced Model for Abstractive Summarization,
      ICLR 2018, section 2.5 (trigrams)
    """
    length = 0 if told is None else told.shape[1]
    if not size or length < size:
        return logits
    places = length - size + 1
    same = ops.ones_like(told[:, :places], "bool")
    for offset in range(size - 1):
        now = told[:, places + offset : places + offset + 1]
        same = ops.logical_and(
            same, ops.equal(told[:, offset : offset + places], now)
        )
    # One-hot of -1 is no word at all.
    ends = ops.where(same, told[:, size - 1 :], -1)
    vocabulary_size = logits.shape[-1]
    banned = ops.max(ops.one_hot(ends, vocabulary_size, dtype="int32"), axis=1)
    return ops.where(banned > 0, -1e9, ops.cast(logits, "float32"))


def checked_no_repeat_ngram(size):
    """Returns the size of an n-gram; refuses what is none."""
    return checked_integer(
        size, "no_repeat_ngram", "an integer, 0 for none", least=0
    )
