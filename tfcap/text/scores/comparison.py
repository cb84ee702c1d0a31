"""Pairs of captions to be compared, as arrays of integers."""

import collections
import itertools
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tfcap.text.ngrams import flatten_rows
from tfcap.text.ngrams import ragged_arange
from tfcap.text.scores.scores import check_aligned


class Comparison(NamedTuple):
    """Captions as ragged rows of ids, and the pairs of rows to compare.

    Each of `left` is compared with a run of `right`: the first `sizes[0]` of
    `right` belong to `left[0]`, the next `sizes[1]` to `left[1]`.
    """

    ids: np.ndarray  # (n,) the words of all rows, one row after the other
    lengths: np.ndarray  # (rows,)
    left: np.ndarray  # (m,) rows
    right: np.ndarray  # (pairs,) rows
    sizes: np.ndarray  # (m,) at least 1
    documents: np.ndarray  # (rows,) which list of references; -1 outside
    repeats: np.ndarray  # (documents,) how often a list was given


def number_words(sentences):
    """Numbers hashable words from 0, as ragged rows of sentences."""
    numbers = collections.defaultdict(itertools.count().__next__)
    words = itertools.chain.from_iterable(sentences)
    lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
    try:
        ids = np.fromiter(map(numbers.__getitem__, words), np.int32)
    except TypeError as error:
        raise TypeError(
            "Captions must be lists of words. Received: a list of lists "
            f"where a caption was expected ({error}). Take one level off."
        ) from error
    return ids, lengths


def known_ids(size: int, sentences):
    """Ragged rows of sentences of ids below a size."""
    try:
        ids, lengths = flatten_rows(sentences)
    except ValueError as error:
        raise TypeError(
            "Captions must hold ids if `document_frequencies` were counted in "
            f"ids. Received: words ({error}). Encode them with the vocabulary "
            "of the document frequencies, or count these in strings."
        ) from error
    if len(ids) and not 0 <= ids.min() <= ids.max() < size:
        raise ValueError(
            "Captions must hold ids of the vocabulary that the document "
            f"frequencies were counted with, from 0 to {size - 1}. "
            f"Received: ids from {ids.min()} to {ids.max()}. Encode them "
            "with that vocabulary."
        )
    return ids, lengths


def word_ids(vocabulary, end: int | None, sentences):
    """Ragged rows of ids of words; unknown words get ids beyond the size.

    Args:
        vocabulary: A `tfcap.text.Vocabulary`.
        end: Integer, the id that ends every sentence, or `None`.
        sentences: Sequence of sequences of words.
    """
    beyond = itertools.count(vocabulary.size)
    numbers = collections.defaultdict(beyond.__next__)
    numbers |= vocabulary.word_ids
    last = () if end is None else (end,)
    return flatten_rows(
        [[*map(numbers.__getitem__, words), *last] for words in sentences]
    )


def compare_with_references(
    candidates: Sequence[Sequence],
    references: Sequence[Sequence[Sequence]],
    encode: Callable = number_words,
) -> Comparison:
    """Pairs every candidate with each of its references.

    Args:
        references: List of lists of tokenized captions, as long. A list that
            is given several times (the same object) is read only once.
    """
    check_aligned(candidates, references)
    # Kept, because an array or a lazy sequence makes a new object each time.
    references = list(references)
    distinct = {id(captions): captions for captions in references}
    number = {key: i for i, key in enumerate(distinct)}
    group = np.fromiter(
        (number[id(captions)] for captions in references),
        np.int64,
        len(references),
    )
    groups = list(distinct.values())
    group_sizes = np.fromiter(map(len, groups), np.int64, len(groups))
    sentences = [*candidates, *itertools.chain.from_iterable(groups)]
    ids, lengths = encode(sentences)
    starts = len(candidates) + _starts(group_sizes)
    sizes = group_sizes[group]
    outside = np.full(len(candidates), -1)
    return Comparison(
        ids=ids,
        lengths=lengths,
        left=np.arange(len(candidates)),
        right=np.repeat(starts[group], sizes) + ragged_arange(sizes),
        sizes=sizes,
        documents=np.append(outside, _owners(group_sizes)),
        repeats=np.bincount(group),
    )


def compare_within(
    sets: Sequence[Sequence[Sequence]],
    itself: bool = False,
    references: Sequence[Sequence[Sequence]] = (),
) -> Comparison:
    """Pairs every caption of a set with the others of its set.

    Args:
        sets: List of lists of tokenized captions, at least two in each.
    """
    set_sizes = np.fromiter(map(len, sets), np.int64, len(sets))
    group_sizes = np.fromiter(map(len, references), np.int64, len(references))
    ids, lengths = number_words(
        list(itertools.chain.from_iterable([*sets, *references]))
    )
    index = ragged_arange(set_sizes)
    sizes = np.repeat(set_sizes - (not itself), set_sizes)
    right = ragged_arange(sizes)
    if not itself:
        right += right >= np.repeat(index, sizes)
    right += np.repeat(np.repeat(_starts(set_sizes), set_sizes), sizes)
    return Comparison(
        ids=ids,
        lengths=lengths,
        left=np.arange(len(index)),
        right=right,
        sizes=sizes,
        documents=np.append(np.full(len(index), -1), _owners(group_sizes)),
        repeats=np.ones(len(group_sizes), np.int64),
    )


def _starts(sizes):
    return np.cumsum(sizes) - sizes


def _owners(sizes):
    return np.repeat(np.arange(len(sizes)), sizes)


#: Cells of the tables of one block.
_CELLS = 2**20


class Block(NamedTuple):
    """Some of `left` of a comparison, each with all of its `right`.

    Two captions are compared in a table that says which words are equal; an
    n-gram of both is a run on a diagonal of the table. This needs no hashing,
    and with the pairs on the last axis, every step is one pass over contiguous
    bytes. Captions of similar length form blocks that fit into the cache.
    """

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


def blocks(comparison) -> Iterator[Block]:
    """Cuts a comparison into blocks.

    Yields:
        `Block`s that together hold each of `left` exactly once.
    """
    ids, lengths, left, right, sizes = comparison[:5]
    ids = ids.astype(np.int16 if ids.max(initial=0) < 2**15 else np.int32)
    left_ids, right_ids = (np.append(ids, ids.dtype.type(x)) for x in (-1, -2))
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
        pairs = np.repeat(first[chosen], counts) + ragged_arange(counts)
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
    """Counts how often the n-gram at each word occurs earlier in its caption.

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
    lengths = comparison.lengths
    rows = np.arange(len(lengths)) if rows is None else rows
    alone = comparison._replace(
        left=rows, right=rows, sizes=np.ones(len(rows), np.int64)
    )
    dtype = np.uint8 if lengths.max(initial=0) < 2**8 else np.uint32
    counts = np.zeros((max_order, len(comparison.ids) + 1), dtype)
    for block in blocks(alone):
        steps = np.arange(len(block.ids))
        before = (steps < steps[:, None])[:, :, None]
        counts[:, block.words] = count_runs(block.equal & before, max_order)
    return counts
