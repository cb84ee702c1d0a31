"""Every n-gram of a corpus, as sorted integers to look others up in."""

import numpy as np

from tfcap.text.ngrams import check_order
from tfcap.text.ngrams import flatten_rows


def word_places(sentences):
    """Ids of all sentences one after the other, and places within them.

    Args:
        sentences: List of lists of ids.

    Returns:
        A pair of int64 arrays of shape `(n,)`: the ids, and how many words of
        the sentence come before each.

    Example:

    >>> ids, places = word_places([[7, 8], [], [5]])
    >>> ids.tolist(), places.tolist()
    ([7, 8, 5], [0, 1, 0])
    """
    ids, lengths = flatten_rows(sentences, np.int64)
    begins = np.cumsum(lengths) - lengths
    return ids, np.arange(len(ids)) - np.repeat(begins, lengths)


class NgramTables:
    """Numbers the n-grams of a corpus, order by order.

    An n-gram is the number of its first `k - 1` words among the n-grams of
    that order, and its last word: one integer a row, however large the
    vocabulary is.

    Args:
        ids: Int64 array of shape `(n,)`, of `word_places()`.
        places: Int64 array of shape `(n,)`, of `word_places()`.
        size: Integer, all ids are below it.
        order: Integer, words of the longest n-gram.

    Example:

    >>> ids, places = word_places([[1, 2, 1, 2]])
    >>> tables = NgramTables(ids, places, size=3, order=2)
    >>> [found.tolist() for found in tables.numbers(ids, places)]
    [[1, 2, 1, 2], [-1, 0, 1, 0]]
    >>> [found.tolist() for found in tables.numbers(ids[::-1], places)][1]
    [-1, 1, 0, 1]
    """

    def __init__(self, ids, places, size, order):
        check_order(order, name="order")
        self.size = size
        self._keys = []
        numbers = ids
        for k in range(2, order + 1):
            keys = self._joined(numbers, ids, places, k)
            self._keys.append(np.unique(keys[keys >= 0]))
            numbers = _find(self._keys[-1], keys)

    def counts(self):
        """Number of n-grams of each order, the ids for those of one word."""
        return [self.size, *map(len, self._keys)]

    def contexts(self, order):
        """Numbers of the first `order - 1` words of each n-gram."""
        return self._keys[order - 2] // self.size

    def numbers(self, ids, places):
        """Numbers of the n-grams that end at each word, order by order.

        Args:
            ids: Int64 array of shape `(n,)`, of this corpus or another.
            places: Int64 array of shape `(n,)`.

        Returns:
            List of int64 arrays of shape `(n,)`; -1 where the corpus has no
            such n-gram, or too few words come before.
        """
        found = [ids]
        for k, table in enumerate(self._keys, 2):
            keys = self._joined(found[-1], ids, places, k)
            found.append(_find(table, keys))
        return found

    def _joined(self, numbers, ids, places, order):
        """Keys of the n-grams that end at each word; -1 where there is none."""
        before = np.concatenate([[-1], numbers[:-1]])[: len(ids)]
        there = (before >= 0) & (places >= order - 1)
        return np.where(there, before * self.size + ids, -1)


def _find(table, keys):
    """Places of keys in a sorted table; -1 for those that are not there."""
    if not len(table):
        return np.full(len(keys), -1)
    found = np.minimum(np.searchsorted(table, keys), len(table) - 1)
    return np.where(table[found] == keys, found, -1)
