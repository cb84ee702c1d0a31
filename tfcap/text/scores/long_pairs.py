"""Compares long captions, in memory that grows with their length.

A table of all words of the one against all words of the other, as in
`tfcap.text.scores.blocks`, is fastest for captions of usual length. One of
20,000 words would need gigabytes. Here n-grams are numbered by sorting them,
and a longest common subsequence keeps one row of its table.
"""

import numpy as np

from tfcap.text.ngrams import number_ngrams
from tfcap.text.ngrams import sort_with_places


def count_long_runs(left, right, max_order):
    """Number of times that n-grams of one caption occur in the other.

    Args:
        left: Integer array of shape `(T, p)`, the words of p captions,
            negative where a caption has ended.
        right: Integer array of shape `(W, p)`, those of the others.
        max_order: Integer, longest n-gram.

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


def rank_long_runs(left, max_order):
    """Number of times that each n-gram came earlier in its caption.

    Args:
        left: Integer array of shape `(T, p)`, see `count_long_runs()`.
        max_order: Integer, longest n-gram.

    Returns:
        Integer array of shape `(max_order, T, p)`.
    """
    ranks = np.zeros((max_order, *left.shape), np.uint32)
    for pair, (words, _) in enumerate(_pairs(left, left)):
        numbers, _ = number_ngrams(words, np.array([len(words)]), max_order)
        for k in range(max_order):
            starts = np.flatnonzero(numbers[k] >= 0)
            ordered, places = sort_with_places(numbers[k, starts])
            counted = np.arange(len(ordered))
            first = np.diff(ordered, prepend=-1) != 0
            counted -= np.maximum.accumulate(np.where(first, counted, 0))
            ranks[k, starts[places], pair] = counted
    return ranks


def count_long_common(left, right):
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
