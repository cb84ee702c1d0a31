"""Pairs of captions to be compared, as arrays of integers."""

import collections
import itertools
from collections.abc import Callable
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tfcap.text.ngrams import flatten_rows
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
    """Ragged rows of sentences of any hashable words, numbered from 0."""
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


def vocabulary_ids(vocabulary, size: int, eos: bool = False) -> Callable:
    """Function that gives ragged rows of the ids of a vocabulary."""

    def encode(sentences):
        if vocabulary is not None:
            sentences = [vocabulary.encode(x, eos=eos) for x in sentences]
        try:
            ids, lengths = flatten_rows(sentences)
        except ValueError as error:
            raise TypeError(
                "`vocabulary` must be given where captions are words and "
                "`document_frequencies` are those of ids. Received: "
                f"vocabulary=None ({error}). Pass the vocabulary of the "
                "document frequencies."
            ) from error
        if len(ids) and not 0 <= ids.min() <= ids.max() < size:
            raise ValueError(
                "Captions must hold ids of the vocabulary that the document "
                f"frequencies were counted with, from 0 to {size - 1}. "
                f"Received: ids from {ids.min()} to {ids.max()}. Encode them "
                "with that vocabulary."
            )
        return ids, lengths

    return encode


def word_ids(vocabulary, end: int | None, sentences):
    """Ragged rows of sentences of words, unknown ones numbered beyond.

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
    # Held, since an array or a lazy sequence makes a new object each time.
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
    encode: Callable = number_words,
) -> Comparison:
    """Pairs every caption of a set with the others of its set.

    Args:
        sets: List of lists of tokenized captions, at least two in each.
    """
    set_sizes = np.fromiter(map(len, sets), np.int64, len(sets))
    group_sizes = np.fromiter(map(len, references), np.int64, len(references))
    ids, lengths = encode(
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


def ragged_arange(sizes):
    """`arange(size)` for each size, one after the other."""
    return np.arange(sizes.sum()) - np.repeat(_starts(sizes), sizes)


def _starts(sizes):
    return np.cumsum(sizes) - sizes


def _owners(sizes):
    return np.repeat(np.arange(len(sizes)), sizes)
