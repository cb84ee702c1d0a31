"""N-grams as integers, and tables of their counts."""

import itertools

import numpy as np
from numpy.typing import NDArray

#: Longest n-gram that a packed key holds.
MAX_ORDER = 4
#: Bits of a word within a packed key.
WORD_BITS = 16
#: Largest id that can be packed: a word is stored as its id plus 1.
MAX_PACKED_ID = 2**WORD_BITS - 2


def flatten_rows(sentences, dtype=np.int32):
    """Flattens sentences of ids into ragged rows.

    Returns:
        A pair `(ids, lengths)` of integer arrays of shapes `(n,)`, the ids of
        all sentences in order, and `(rows,)`.

    Example:

    >>> ids, lengths = flatten_rows([[7, 8, 9], [], [5]])
    >>> ids.tolist(), lengths.tolist()
    ([7, 8, 9, 5], [3, 0, 1])
    """
    lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
    words = itertools.chain.from_iterable(sentences)
    return np.fromiter(words, dtype, int(lengths.sum())), lengths


def row_of_word(lengths):
    """Row that each word of ragged rows belongs to, shape `(n,)`."""
    return np.repeat(np.arange(len(lengths)), lengths)


def ragged_arange(lengths):
    """Position of each word of ragged rows within its row, shape `(n,)`."""
    starts = np.cumsum(lengths) - lengths
    return np.arange(lengths.sum()) - np.repeat(starts, lengths)


def words_left(lengths: NDArray) -> NDArray:
    """Number of words from each word to the end of its row, itself included.

    An n-gram of order `k` starts at a word when at least `k` words are left.

    Args:
        lengths: Integer array of shape `(rows,)`.

    Returns:
        Integer array of shape `(n,)`.
    """
    return np.repeat(lengths, lengths) - ragged_arange(lengths)


def pack_ngrams(ids: NDArray, lengths: NDArray, max_order: int = MAX_ORDER):
    """Packs the n-grams that start at each word into 64-bit integers.

    The first word takes the lowest 16 bits, the second the next 16, and so on;
    a word is stored as its id plus 1, so that 0 means "no word" and a key shows
    its order:

    ```python
    key = (i_1 + 1) | (i_2 + 1) << 16 | (i_3 + 1) << 32 | (i_4 + 1) << 48
    ```

    The integers are signed, as TensorFlow requires: a key of order 4 whose
    last id is 32,767 or more is negative.

    Args:
        ids: Integer array of shape `(n,)`, the ids of all sentences, each
            from 0 to 65,534.
        lengths: Integer array of shape `(rows,)`, their lengths.

    Returns:
        Integer array of shape `(max_order, n)`, dtype int64: at `[k - 1, i]`
        the n-gram of order `k` that starts at word `i`, or 0 where fewer than
        `k` words of the sentence are left.

    Raises:
        ValueError: If an id is negative or above 65,534. For larger
            vocabularies, `number_ngrams()` numbers the n-grams of one call.

    Example:

    >>> keys = pack_ngrams(np.array([0, 1, 4]), np.array([2, 1]), max_order=2)
    >>> keys.tolist()
    [[1, 2, 5], [131073, 0, 0]]
    """
    check_order(max_order, MAX_ORDER)
    if len(ids) and not 0 <= ids.min() <= ids.max() <= MAX_PACKED_ID:
        raise ValueError(
            f"`ids` must lie in 0..{MAX_PACKED_ID}, because four of them are "
            f"packed into 64 bits. Received: ids from {ids.min()} to "
            f"{ids.max()}. Keep fewer words in the vocabulary (a larger "
            "`min_count`)."
        )
    words = ids.astype(np.int64) + 1
    left = words_left(lengths)
    keys = np.zeros((max_order, len(ids)), np.int64)
    keys[0] = words
    for k in range(1, max_order):
        later = words[k:] << (k * WORD_BITS)
        starts = left[: len(later)] > k
        keys[k, : len(later)] = (keys[k - 1, : len(later)] | later) * starts
    return keys


def number_ngrams(ids: NDArray, lengths: NDArray, max_order: int = MAX_ORDER):
    """Numbers the distinct n-grams that start at each word.

    Args:
        ids: Integer array of shape `(n,)`, the ids of all sentences, not
            negative and below `2**31`.
        lengths: Integer array of shape `(rows,)`, their lengths.

    Returns:
        A pair `(numbers, sizes)`: an integer array of shape `(max_order, n)`,
        at `[k - 1, i]` the number of the n-gram of order `k` that starts at
        word `i`, counted from 0 within its order, or -1 where fewer than `k`
        words of the sentence are left; and a list with the largest number plus
        1 of every order.

    Example:

    >>> numbers, sizes = number_ngrams(
    ...     np.array([3, 4, 3, 4]), np.array([4]), max_order=2
    ... )
    >>> numbers.tolist(), sizes
    ([[3, 4, 3, 4], [0, 1, 0, -1]], [5, 2])
    """
    check_order(max_order)
    left = words_left(lengths)
    numbers = np.full((max_order, len(ids)), -1, np.int64)
    numbers[0] = ids
    sizes = [int(ids.max(initial=-1)) + 1]
    word_bits = sizes[0].bit_length()
    for k in range(1, max_order):
        starts = np.flatnonzero(left > k)
        pairs = numbers[k - 1, starts] << word_bits
        pairs |= numbers[0, starts + k]
        pairs, positions = sort_with_positions(pairs)
        ranks = np.cumsum(np.diff(pairs, prepend=-1) != 0)
        numbers[k, starts[positions]] = ranks - 1
        sizes.append(int(ranks[-1]) if len(ranks) else 0)
    return numbers, sizes


def distinct_pairs(numbers: NDArray, documents: NDArray):
    """Lists each n-gram once for every document that holds it.

    Args:
        numbers: Integer array of shape `(n,)`, n-grams as numbers from 0.
        documents: Integer array of shape `(n,)`, the document of each.

    Returns:
        A pair of integer arrays of shape `(distinct,)`, numbers and documents.

    Example:

    >>> numbers, documents = distinct_pairs(
    ...     np.array([5, 2, 5, 5]), np.array([0, 0, 0, 1])
    ... )
    >>> numbers.tolist(), documents.tolist()
    ([2, 5, 5], [0, 0, 1])
    """
    bits = int(documents.max(initial=0)).bit_length()
    pairs = np.sort(numbers << bits | documents)
    pairs = pairs[np.diff(pairs, prepend=-1) != 0]
    return pairs >> bits, pairs & ((1 << bits) - 1)


def sort_with_positions(keys: NDArray):
    """Sorts integers, and returns their former positions as well.

    Args:
        keys: Integer array of shape `(n,)`, dtype int64, not negative.

    Returns:
        A pair of int64 arrays of shape `(n,)`, the sorted keys and their former
        positions; the sort is stable.
    """
    bits = len(keys).bit_length()
    if int(keys.max(initial=0)).bit_length() + bits > 63:
        positions = np.argsort(keys, kind="stable")
        return keys[positions], positions
    # A sort of plain integers is several times faster than an argsort.
    joined = np.sort(keys << bits | np.arange(len(keys)))
    return joined >> bits, joined & ((1 << bits) - 1)


def check_order(order, largest=None, name="max_order"):
    """Raises unless `order` is an integer from 1 to `largest`."""
    if (
        isinstance(order, bool)
        or not isinstance(order, int | np.integer)
        or order < 1
        or (largest is not None and order > largest)
    ):
        expected = "above 0" if largest is None else f"from 1 to {largest}"
        raise ValueError(
            f"`{name}` must be an integer {expected}. Received: "
            f"{name}={order!r}."
        )


def word_positions(sentences: list):
    """Ids of all sentences in order, and positions within the sentences.

    Returns:
        A pair of int64 arrays of shape `(n,)`: the ids, and the position of
        each in its sentence, from 0.

    Example:

    >>> ids, positions = word_positions([[7, 8], [], [5]])
    >>> ids.tolist(), positions.tolist()
    ([7, 8, 5], [0, 1, 0])
    """
    ids, lengths = flatten_rows(sentences, np.int64)
    return ids, ragged_arange(lengths)


class NgramTables:
    """Numbers the n-grams of a corpus, order by order.

    The key of an n-gram of order `k` combines the number of its first `k - 1`
    words, among the n-grams of that order, with its last word: one integer for
    a vocabulary of any size.

    Args:
        ids: Int64 array of shape `(n,)`, of `word_positions()`.
        positions: Int64 array of shape `(n,)`, of `word_positions()`.
        size: Integer above all ids.
        order: Integer, length of the longest n-gram.

    Example:

    >>> ids, positions = word_positions([[1, 2, 1, 2]])
    >>> tables = NgramTables(ids, positions, size=3, order=2)
    >>> [numbers.tolist() for numbers in tables.numbers(ids, positions)]
    [[1, 2, 1, 2], [-1, 0, 1, 0]]
    >>> tables.numbers(ids[::-1], positions)[1].tolist()
    [-1, 1, 0, 1]
    """

    def __init__(self, ids: NDArray, positions: NDArray, size: int, order: int):
        check_order(order, name="order")
        self.size = size
        self._keys = []
        numbers = ids
        for k in range(2, order + 1):
            keys = self._joined(numbers, ids, positions, k)
            self._keys.append(np.unique(keys[keys >= 0]))
            numbers = _find(self._keys[-1], keys)

    def counts(self):
        """Number of n-grams of each order; of order 1, the number of ids."""
        return [self.size, *map(len, self._keys)]

    def contexts(self, order):
        """Numbers of the first `order - 1` words of each n-gram."""
        return self._keys[order - 2] // self.size

    def numbers(self, ids: NDArray, positions: NDArray):
        """Numbers of the n-grams that end at each word, order by order.

        Args:
            ids: Int64 array of shape `(n,)`, of this corpus or another.
            positions: Int64 array of shape `(n,)`.

        Returns:
            List of int64 arrays of shape `(n,)`; -1 where the corpus has no
            such n-gram, or too few words come before.
        """
        found = [ids]
        for k, table in enumerate(self._keys, 2):
            keys = self._joined(found[-1], ids, positions, k)
            found.append(_find(table, keys))
        return found

    def _joined(self, numbers, ids, positions, order):
        """Keys of the n-grams that end at each word; -1 where there is none."""
        before = np.concatenate([[-1], numbers[:-1]])[: len(ids)]
        valid = (before >= 0) & (positions >= order - 1)
        return np.where(valid, before * self.size + ids, -1)


def _find(table, keys):
    """Indices of keys in a sorted table; -1 for missing ones."""
    if not len(table):
        return np.full(len(keys), -1)
    found = np.minimum(np.searchsorted(table, keys), len(table) - 1)
    return np.where(table[found] == keys, found, -1)
