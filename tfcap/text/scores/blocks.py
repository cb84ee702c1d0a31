"""Word-by-word comparison of many pairs of captions at once.

Two captions are compared as a table that says which word of the one equals
which word of the other; an n-gram that both hold is a run on a diagonal of
the table. That needs no hashing of n-grams, and with the pairs on the last
axis every step is one pass over contiguous bytes. Captions of like length go
together into blocks that fit into the cache. Captions whose table would be
too large are compared by sorting instead, see `count_long_runs()`.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tfcap.text.ngrams import number_ngrams
from tfcap.text.ngrams import sort_with_positions

#: Cells of the tables of one block.
_CELLS = 2**20
#: Cells beyond which tables are not made, and those of a single pair below
#: which they are made all the same, since many short captions are no problem.
_MOST_CELLS, _SHORT = 2**24, 2**12


class Block(NamedTuple):
    """Some of `left` of a comparison, each with all of its `right`."""

    left: np.ndarray  # (m,) which of `left`
    pairs: np.ndarray  # (p,) which pairs
    starts: np.ndarray  # (m,) first pair of each `left`, within the block
    words: np.ndarray  # (T, p) index of each word of `left`, n for none
    ids: np.ndarray  # (T, p) these words, -1 for none
    others: np.ndarray  # (W, p) the words of `right`, -2 for none

    @property
    def equal(self):
        """Boolean `(T, W, p)`, whether word t equals word w of `right`."""
        return self.ids[:, None] == self.others[None]

    @property
    def is_long(self):
        """Check whether `equal` would be too large."""
        pair = len(self.ids) * len(self.others)
        return pair > _SHORT and pair * len(self.pairs) > _MOST_CELLS

    def count_runs(self, max_order):
        """Counts n-grams of `left` in `right`; see `count_runs()`."""
        if self.is_long:
            return count_long_runs(self.ids, self.others, max_order)
        return count_runs(self.equal, max_order)

    def rank_runs(self, max_order):
        """Counts n-grams in the words before, where `right` is `left`."""
        if self.is_long:
            return rank_long_runs(self.ids, max_order)
        steps = np.arange(len(self.ids))
        before = (steps < steps[:, None])[:, :, None]
        return count_runs(self.equal & before, max_order)

    def count_common(self):
        """Longest common subsequences; see `count_common()`."""
        if self.is_long:
            return count_long_common(self.ids, self.others)
        return count_common(self.equal)


def blocks(comparison) -> Iterator[Block]:
    """Cuts a comparison into blocks.

    Yields:
        `Block`s that hold every one of `left` exactly once.
    """
    ids, lengths, left, right, sizes = comparison[:5]
    ids = ids.astype(np.int16 if ids.max(initial=0) < 2**15 else np.int32)
    left_ids, right_ids = np.append(ids, ids.dtype.type(-1)), np.append(ids, -2)
    right_ids = right_ids.astype(ids.dtype)
    first = np.cumsum(sizes) - sizes
    row_starts = np.cumsum(lengths) - lengths
    width = np.maximum(
        np.maximum.reduceat(lengths[right], first), lengths[left]
    )
    order = np.argsort(width, kind="stable")
    cells = np.cumsum((sizes * width**2)[order])
    cuts = np.flatnonzero(np.diff(cells // _CELLS)) + 1
    for chosen in np.split(order, cuts):
        counts = sizes[chosen]
        starts = np.cumsum(counts) - counts
        pairs = np.arange(counts.sum())
        pairs += np.repeat(first[chosen] - starts, counts)
        rows = np.repeat(left[chosen], counts)
        words = _words(rows, row_starts, lengths, len(ids))
        others = _words(right[pairs], row_starts, lengths, len(ids))
        yield Block(
            chosen, pairs, starts, words, left_ids[words], right_ids[others]
        )


def _words(rows, row_starts, lengths, none):
    """Indices of the words of some rows, `(T, p)`, `none` where a row ends."""
    steps = np.arange(lengths[rows].max(initial=0))[:, None]
    return np.where(steps < lengths[rows], row_starts[rows] + steps, none)


def count_runs(equal: NDArray, max_order: int) -> NDArray:
    """Counts how often the n-grams of one caption occur in the other.

    Args:
        equal: Boolean array of shape `(T, W, p)`, see `Block`.

    Returns:
        Integer array of shape `(max_order, T, p)`: at `[k - 1, t]` the number
        of times that the n-gram of order `k` that starts at word `t` of the
        one caption occurs in the other.
    """
    steps, others, pairs = equal.shape
    dtype = np.uint8 if others < 2**8 else np.uint32
    counts = np.zeros((max_order, steps, pairs), dtype)
    runs = equal
    for k in range(min(max_order, steps, others)):
        if k:
            runs = runs[:-1, :-1] & equal[k:, k:]
        tally = runs.view(np.uint8)
        np.add.reduce(tally, axis=1, dtype=dtype, out=counts[k, : steps - k])
    return counts


def count_common(equal: NDArray) -> NDArray:
    """Length of the longest common subsequence of each pair.

    Args:
        equal: Boolean array of shape `(T, W, p)`, see `Block`.

    Returns:
        Integer array of shape `(p,)`.
    """
    steps, others, pairs = equal.shape
    dtype = np.uint8 if min(steps, others) < 2**8 else np.uint32
    # longest[w]: of the words so far and the first w words of the other.
    longest = np.zeros((others + 1, pairs), dtype)
    for t in range(steps):
        longer = longest[:-1] + equal[t]
        np.maximum(longest[1:], longer, out=longer)
        for w in range(others):
            np.maximum(longest[w], longer[w], out=longest[w + 1])
    return longest[-1]


def earlier_occurrences(
    comparison, max_order: int, rows: NDArray | None = None
) -> NDArray:
    """Counts how often the n-gram at each word came earlier in its caption.

    With these ranks, sums over the distinct n-grams of a caption become sums
    over its words: an n-gram that occurs `c` times has the ranks 0 to c - 1,
    so that `min(c, r)` is the number of its ranks below `r`, and `c**2` is
    the sum of `2 * rank + 1`.

    Args:
        rows: Integer array, optional. The rows to look at. Defaults to all;
            the ranks of other rows are 0.

    Returns:
        Integer array of shape `(max_order, n + 1)`; the last column stands
        for "no word".
    """
    return _occurrences(comparison, max_order, rows, Block.rank_runs)


def occurrences(comparison, max_order, rows=None):
    """Counts how often the n-gram at each word occurs in its caption.

    Args and returns: See `earlier_occurrences()`.
    """
    return _occurrences(comparison, max_order, rows, Block.count_runs)


def _occurrences(comparison, max_order, rows, count):
    """Compares every row with itself."""
    lengths = comparison.lengths
    rows = np.arange(len(lengths)) if rows is None else rows
    alone = comparison._replace(
        left=rows, right=rows, sizes=np.ones(len(rows), np.int64)
    )
    dtype = np.uint8 if lengths.max(initial=0) < 2**8 else np.uint32
    counts = np.zeros((max_order, len(comparison.ids) + 1), dtype)
    for block in blocks(alone):
        counts[:, block.words] = count(block, max_order)
    return counts


def count_long_runs(left: NDArray, right: NDArray, max_order: int) -> NDArray:
    """Number of times that n-grams of one caption occur in the other.

    Args:
        left: Integer array of shape `(T, p)`, the words of p captions,
            negative where a caption has ended.
        right: Integer array of shape `(W, p)`, those of the others.

    Returns:
        Integer array of shape `(max_order, T, p)`, see
        `tfcap.text.scores.blocks.count_runs()`.
    """
    counts = np.zeros((max_order, *left.shape), np.uint32)
    for pair, (ours, theirs) in enumerate(_pairs(left, right)):
        ids, lengths = np.append(ours, theirs), [len(ours), len(theirs)]
        numbers, sizes = number_ngrams(ids, np.array(lengths), max_order)
        for k, size in enumerate(sizes):
            mine, others = np.split(numbers[k], [len(ours)])
            tally = np.bincount(others[others >= 0], minlength=size)
            starts = np.flatnonzero(mine >= 0)
            counts[k, starts, pair] = tally[mine[starts]]
    return counts


def rank_long_runs(left: NDArray, max_order: int) -> NDArray:
    """Number of times that each n-gram came earlier in its caption.

    Args:
        left: Integer array of shape `(T, p)`, see `count_long_runs()`.

    Returns:
        Integer array of shape `(max_order, T, p)`.
    """
    ranks = np.zeros((max_order, *left.shape), np.uint32)
    for pair, (words, _) in enumerate(_pairs(left, left)):
        numbers, _ = number_ngrams(words, np.array([len(words)]), max_order)
        for k in range(max_order):
            starts = np.flatnonzero(numbers[k] >= 0)
            ordered, positions = sort_with_positions(numbers[k, starts])
            counted = np.arange(len(ordered))
            first = np.diff(ordered, prepend=-1) != 0
            counted -= np.maximum.accumulate(np.where(first, counted, 0))
            ranks[k, starts[positions], pair] = counted
    return ranks


def count_long_common(left: NDArray, right: NDArray) -> NDArray:
    """Length of the longest common subsequence of each pair.

    Args:
        left: Integer array of shape `(T, p)`, see `count_long_runs()`.
        right: Integer array of shape `(W, p)`.

    Returns:
        Integer array of shape `(p,)`.
    """
    return np.array([_common(*pair) for pair in _pairs(left, right)], int)


def _pairs(left, right):
    """The words of each pair, without what stands after their ends."""
    for ours, theirs in zip(left.T, right.T):
        yield ours[ours >= 0], theirs[theirs >= 0]


def _common(left, right):
    shorter, longer = sorted((left, right), key=len)
    # longest[w]: of the words so far and the first w words of the longer.
    longest = np.zeros(len(longer) + 1, np.int32)
    for word in shorter:
        longer_by_one = longest[:-1] + (longer == word)
        np.maximum(longest[1:], longer_by_one, out=longest[1:])
        np.maximum.accumulate(longest, out=longest)
    return int(longest[-1])
