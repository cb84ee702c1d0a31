"""How often the n-grams of one sentence occur in another.

Sentences are compared word by word, not by hashes of n-grams: for each word,
an integer holds one bit for each word of the other sentence, set where the two
are equal. The n-grams of order `n` that start at a word are then found by
shifting and intersecting these integers, and counted by counting bits:

```
M_1[i] = bits {j : word_i == other_j}
M_n[i] = M_(n-1)[i] & (M_1[i + n - 1] >> (n - 1))
```

Exact for any vocabulary. An int32 holds 31 words; where the other sentence is
longer, or its length is not known when a graph is traced, a Boolean matrix
takes the place of the bits: as exact, several times as slow.
"""

import keras
from keras import ops

#: Words of a sentence that the bits of an int32 stand for, its sign left out.
WORD_BITS = 31


def words_only(tokens, mask):
    """Ids of the words of sentences, -1 elsewhere.

    What the functions on n-grams read: an id below 0 is no word, and equals
    no word, so that nothing under a mask can change a result.

    Args:
        tokens: Integer tensor of shape `(..., T)`.
        mask: Tensor of the same shape, nonzero where a word counts.

    Returns:
        Int32 tensor of shape `(..., T)`.

    Example:

    >>> print(tfcap.ops.words_only(np.array([7, 5, 9]), [1, 1, 0]).numpy())
    [ 7  5 -1]
    """
    tokens = ops.cast(tokens, "int32")
    return ops.where(ops.cast(mask, "bool"), tokens, -1)


def sentence_lengths(words):
    """Number of words of sentences.

    Args:
        words: Integer tensor of shape `(..., T)`, below 0 where there is none.

    Returns:
        Float32 tensor of shape `(...)`.

    Example:

    >>> print(tfcap.ops.sentence_lengths(np.array([[7, 5, -1]])).numpy())
    [2.]
    """
    return ops.sum(ops.cast(ops.greater_equal(words, 0), "float32"), axis=-1)


def ngram_counts(words, others, max_order=4):
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
    >>> print(tfcap.ops.ngram_counts(words, others, max_order=2).numpy())
    [[[2. 2. 2.]
      [2. 0. 0.]]]

    Reference:

    - Allison and Dix, A Bit-String Longest-Common-Subsequence Algorithm, 1986,
      for sentences as bits
    """
    if fits_bits(others):
        runs = _runs(
            match_bits(words, others),
            max_order,
            axis=-1,
            move=ops.right_shift,
        )
        return count_bits(runs)
    words, others = _apart(words, others)
    same = ops.equal(words[..., :, None], others[..., None, :])
    runs = _runs(
        ops.cast(same, "int32"),
        max_order,
        axis=-2,
        move=_move_ahead,
    )
    return ops.cast(ops.sum(runs, axis=-1), "float32")


def match_bits(words, others):
    """Where each word occurs in another sentence, as bits of an integer.

    Args:
        words: Integer tensor of shape `(..., T)`, below 0 where there is no
            word.
        others: Integer tensor of shape `(..., U)`, as `words`, U at most 31
            and known. Leading axes broadcast.

    Returns:
        Int32 tensor of shape `(..., T)`; bit `j` is set where word `j` of the
        other sentence is the same.
    """
    words, others = _apart(words, others)
    same = ops.equal(words[..., :, None], others[..., None, :])
    bits = ops.left_shift(1, ops.arange(others.shape[-1], dtype="int32"))
    return ops.sum(ops.cast(same, "int32") * bits, axis=-1)


def fits_bits(others):
    """Whether the words of a sentence have room in the bits of an integer."""
    return others.shape[-1] is not None and others.shape[-1] <= WORD_BITS


def count_bits(integers):
    """Number of bits set: int32, not negative, to float32."""
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        count = tf.raw_ops.PopulationCount(x=integers)
        return ops.cast(count, "float32")
    both = ops.bitwise_and

    def shift(x, places):
        return ops.right_shift(x, places)

    pairs = integers - both(shift(integers, 1), 0x55555555)
    fours = both(pairs, 0x33333333) + both(shift(pairs, 2), 0x33333333)
    eights = both(fours + shift(fours, 4), 0x0F0F0F0F)
    return ops.cast(shift(eights * 0x01010101, 24), "float32")


def _apart(words, others):
    """Gives absent words of either side a number of their own."""
    return ops.maximum(words, -1), ops.where(ops.less(others, 0), -2, others)


def _runs(matches, max_order, axis, move):
    """Matches of n-grams from matches of words, stacked before `axis`.

    An n-gram matches where its first `n - 1` words do, and its last word does
    `n - 1` places further in both sentences: `move(later, n)` takes matches
    of later words of the other sentence `n` places ahead.
    """
    later = _append_zeros(matches, max_order - 1, axis)
    runs = [matches]
    for n in range(1, max_order):
        end = n - max_order + 1
        part = slice(n, end or None)
        part = later[..., part] if axis == -1 else later[..., part, :]
        runs.append(ops.bitwise_and(runs[-1], move(part, n)))
    return ops.stack(runs, axis=axis - 1)


def _move_ahead(matches, places):
    """Drops the first columns of a matrix and appends columns of zeros."""
    return _append_zeros(matches, places, -1)[..., places:]


def _append_zeros(tensor, count, axis):
    widths = [[0, 0]] * len(tensor.shape)
    widths[axis] = [0, count]
    return ops.pad(tensor, widths)
