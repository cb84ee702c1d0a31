"""Common subsequences and edit distances of sentences of words.

Both are found by dynamic programming. Where the other sentence has at most 31
words, a row of the table of the program is the bits of an integer, and each
word takes a few operations on it; a longer one takes whole rows.
"""

from typing import Any

import keras
from keras import ops

from tfcap._ops.ngrams import sentence_lengths

#: Words of a sentence that the bits of an int32 stand for, its sign left out.
WORD_BITS = 31
_ALL = 2**WORD_BITS - 1


def common_subsequence(words: Any, others: Any) -> Any:
    """Length of the longest common subsequence of pairs of sentences.

    Args:
        words: Integer tensor of shape `(..., T)`, below 0 where there is no
            word, T known.
        others: Integer tensor of shape `(..., U)`, as `words`. Leading axes
            broadcast.

    Returns:
        Float32 tensor of shape `(...)`.

    Example:

    >>> words, others = np.array([[5, 6, 7, 8]]), np.array([[6, 9, 8, 5]])
    >>> print(tfcap._ops.common_subsequence(words, others).numpy())
    [2.]

    Reference:

    - Hyyro, Bit-Parallel LCS-length Computation Revisited, 2004
    """
    steps = _length(words, "words")
    if not fits_bits(others):
        return _common_by_rows(words, others, steps)
    matches = match_bits(words, others)
    # Bit j is 0 where row and column j + 1 of the table differ by one more
    # common word than the row before; bits above the words stay 1.
    open_ = ops.full_like(matches[..., 0], _ALL)
    for step in range(steps):
        hit = ops.bitwise_and(open_, matches[..., step])
        carried = ops.bitwise_and(open_ + hit, _ALL)
        open_ = ops.bitwise_or(carried, open_ - hit)
    return WORD_BITS - count_bits(open_)


def edit_distance(words: Any, others: Any) -> Any:
    """Fewest insertions, deletions and substitutions between sentences.

    Args:
        words: Integer tensor of shape `(..., T)`, below 0 where there is no
            word, T known; words first, then none.
        others: Integer tensor of shape `(..., U)`, as `words`, U known.
            Leading axes broadcast.

    Returns:
        Float32 tensor of shape `(...)`.

    Example:

    >>> words, others = np.array([[5, 6, 7, 8]]), np.array([[5, 7, 9, -1]])
    >>> print(tfcap._ops.edit_distance(words, others).numpy())
    [2.]

    Reference:

    - Myers, A Fast Bit-Vector Algorithm for Approximate String Matching Based
      on Dynamic Programming, 1999; in the form of Hyyro, 2003
    """
    steps = _length(words, "words")
    _length(others, "others")
    if not fits_bits(others):
        return _edits_by_rows(words, others, steps)
    matches = match_bits(words, others)
    sizes = ops.cast(sentence_lengths(others), "int32")
    sizes = ops.broadcast_to(sizes, ops.shape(matches)[:-1])
    valid = ops.cast(ops.greater_equal(words, 0), "int32")
    last = ops.left_shift(1, ops.maximum(sizes - 1, 0))
    # Bits where the next column is one more (up) or one less (down).
    up, down = ops.full_like(sizes, _ALL), ops.zeros_like(sizes)
    distance = sizes
    for step in range(steps):
        distance, up, down = _edit_step(
            matches[..., step], valid[..., step], last, distance, up, down
        )
    # Against nothing, every word is an insertion.
    inserted = sentence_lengths(words)
    return ops.where(
        ops.greater(sizes, 0), ops.cast(distance, "float32"), inserted
    )


def _edit_step(match, valid, last, distance, up, down):
    """One word more: the distance to the whole other sentence, and its row."""
    both, either = ops.bitwise_and, ops.bitwise_or

    def invert(bits):
        return _ALL - bits

    match = either(match, down)
    hit = both(match, up)
    carried = both(up + hit, _ALL)
    diagonal = either(ops.bitwise_xor(carried, up), match)
    ahead = either(down, invert(either(diagonal, up)))
    behind = both(up, diagonal)
    change = ops.cast(ops.not_equal(both(ahead, last), 0), "int32")
    change = change - ops.cast(ops.not_equal(both(behind, last), 0), "int32")
    ahead = both(ops.left_shift(ahead, 1) + 1, _ALL)
    behind = both(ops.left_shift(behind, 1), _ALL)
    up = either(behind, invert(either(ahead, diagonal)))
    return distance + change * valid, up, both(ahead, diagonal)


def _common_by_rows(words, others, steps):
    same = _same(words, others)
    row = ops.zeros_like(same[..., 0, :])
    for step in range(steps):
        diagonal = _after(0.0, row[..., :-1])
        row = _running_max(ops.maximum(row, diagonal + same[..., step, :]))
    return row[..., -1]


def _edits_by_rows(words, others, steps):
    same = _same(words, others)
    columns = ops.arange(1, others.shape[-1] + 1, dtype="float32")
    row = ops.zeros_like(same[..., 0, :]) + columns
    first = ops.zeros_like(row[..., :1])
    valid = ops.cast(ops.greater_equal(words, 0), "float32")
    for step in range(steps):
        diagonal = ops.concatenate([first, row[..., :-1]], axis=-1)
        first = first + 1.0
        best = ops.minimum(diagonal + 1.0 - same[..., step, :], row + 1.0)
        # From the left: each column further costs one more.
        whole = ops.concatenate([first, best - columns], axis=-1)
        best = -_running_max(-whole)[..., 1:] + columns
        row = ops.where(valid[..., step, None] > 0, best, row)
    sizes = ops.cast(sentence_lengths(others), "int32")[..., None]
    chosen = ops.equal(ops.cast(columns, "int32"), sizes)
    selected = ops.sum(ops.where(chosen, row, 0.0), axis=-1)
    return ops.where(sizes[..., 0] > 0, selected, sentence_lengths(words))


def _same(words, others):
    """1 where two words are the same, of shape `(..., T, U)`."""
    words, others = words[..., :, None], others[..., None, :]
    same = ops.logical_and(ops.equal(words, others), words >= 0)
    return ops.cast(same, "float32")


def _after(value, tensor):
    widths = [[0, 0]] * (len(tensor.shape) - 1) + [[1, 0]]
    return ops.pad(tensor, widths, constant_values=value)


def _running_max(tensor):
    """Largest entry so far along the last axis, by doubling."""
    reach, width = 1, tensor.shape[-1]
    if width is None:
        places = ops.arange(ops.shape(tensor)[-1])
        earlier = places <= places[:, None]
        return ops.max(ops.where(earlier, tensor[..., None, :], -1.0), axis=-1)
    while reach < width:
        earlier = tensor[..., :-reach]
        rest = ops.maximum(tensor[..., reach:], earlier)
        tensor = ops.concatenate([tensor[..., :reach], rest], axis=-1)
        reach *= 2
    return tensor


def _length(words, name):
    if words.shape[-1] is None:
        raise ValueError(
            f"`{name}` must have a known number of words when a graph is "
            f"traced. Received: shape={tuple(words.shape)}. Pad sentences to "
            "a fixed length."
        )
    return words.shape[-1]


def match_bits(words: Any, others: Any) -> Any:
    """Positions of each word in another sentence, as bits of an integer.

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
    """Check whether the words of a sentence fit into the bits of an integer."""
    return others.shape[-1] is not None and others.shape[-1] <= WORD_BITS


def count_bits(integers):
    """Number of bits set: int32, not negative, to float32."""
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        count = tf.raw_ops.PopulationCount(x=integers)
        return ops.cast(count, "float32")
    both = ops.bitwise_and

    def shift(x, steps):
        return ops.right_shift(x, steps)

    pairs = integers - both(shift(integers, 1), 0x55555555)
    fours = both(pairs, 0x33333333) + both(shift(pairs, 2), 0x33333333)
    eights = both(fours + shift(fours, 4), 0x0F0F0F0F)
    return ops.cast(shift(eights * 0x01010101, 24), "float32")


def _apart(words, others):
    """Gives absent words of either side a number of their own."""
    return ops.maximum(words, -1), ops.where(ops.less(others, 0), -2, others)
