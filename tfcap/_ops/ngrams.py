"""N-grams of captions as tensors, and a table to look them up in."""

from typing import Any

import keras
import numpy as np
from keras import ops
from numpy.typing import NDArray

#: Words of a sentence that the bits of an int32 stand for, its sign left out.
WORD_BITS = 31
#: Words of the longest n-gram of a table.
MAX_ORDER = 4
#: Largest id that a key holds; 65,534 stands for a word that no key has.
MAX_ID = 2**16 - 3
#: Slots that an n-gram may lie in, and how full the table may be for that.
_PROBES, _FULLEST = 2, 0.48


def words_only(tokens: Any, mask: Any) -> Any:
    """Ids of the words of sentences, -1 elsewhere.

    What the functions on n-grams read: an id below 0 is no word, and equals
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


def _runs(matches, max_order, axis, move):
    """Matches of n-grams from matches of words, stacked before `axis`.

    An n-gram matches where its first `n - 1` words do, and its last word does
    `n - 1` words further in both sentences: `move(later, n)` takes matches
    of later words of the other sentence `n` words ahead.
    """
    later = _append_zeros(matches, max_order - 1, axis)
    runs = [matches]
    for n in range(1, max_order):
        end = n - max_order + 1
        part = slice(n, end or None)
        part = later[..., part] if axis == -1 else later[..., part, :]
        runs.append(ops.bitwise_and(runs[-1], move(part, n)))
    return ops.stack(runs, axis=axis - 1)


def _move_ahead(matches, steps):
    """Drops the first columns of a matrix and appends columns of zeros."""
    return _append_zeros(matches, steps, -1)[..., steps:]


def _append_zeros(tensor, count, axis):
    widths = [[0, 0]] * len(tensor.shape)
    widths[axis] = [0, count]
    return ops.pad(tensor, widths)


class Resident:
    """A constant array, held once on every device that reads it.

    As a plain constant it would be copied into every graph that is traced; as
    a variable it could be read on its own device only.

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

    Built once with NumPy, read by a few gathers: no host call, no loop, and
    an XLA-compiled function may hold it (`searchsorted` compares everything
    with everything there). Each n-gram lies in one of two slots (cuckoo
    hashing), and a slot holds the whole key, so that a lookup is exact.

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
        """The table as a tensor, to be passed to a compiled function."""
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
