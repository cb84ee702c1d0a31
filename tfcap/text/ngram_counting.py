"""Counts in how many documents of a corpus each n-gram occurs.

Captions go through in chunks of documents. Within a chunk the packed n-grams
of a document are one row of a matrix: a sort along the rows brings equal ones
together, each is kept once, and one more sort counts what is left. Nothing is
hashed and no n-gram becomes a Python object.
"""

import itertools
import sys

import numpy as np

from tfcap.text.ngrams import check_order
from tfcap.text.ngrams import pack_ngrams
from tfcap.text.ngrams import row_of_word

#: Documents of a chunk.
_CHUNK = 8192


def count_documents(
    references, vocabulary, max_order: int, count_eos: bool, progress: bool
):
    """Counts the documents that hold each n-gram.

    Args:
        references: Sequence of documents, each a sequence of captions, each a
            sequence of words or ids; or an integer array `(B, N, T)`.

    Returns:
        A pair `(keys, counts)` of int64 arrays of shape `(n,)`: packed
        n-grams, distinct and sorted, and the documents that hold each.
    """
    check_order(max_order, 4)
    found = []
    for start in range(0, len(references), _CHUNK):
        documents = references[start : start + _CHUNK]
        rows = _rows(documents, vocabulary, count_eos, start)
        found.append(_count(*rows, max_order))
        done = start + len(documents)
        _tell(progress, f"{done:,} of {len(references):,} documents")
    _tell(progress and found, "done\n")
    return _merge(found)


def _rows(documents, vocabulary, count_eos, start):
    """Captions of some documents as ragged rows of ids."""
    for captions in documents:
        if isinstance(captions, str) or any(
            isinstance(caption, str) for caption in captions
        ):
            raise TypeError(
                "`references` must hold, for every document, a sequence of "
                "captions that are sequences of words or ids. Received: "
                f"{captions!r:.80} as a document. Split captions with "
                "`tfcap.text.caption_tokenize()`, and put those of an image "
                "into a list."
            )
    captions = list(itertools.chain.from_iterable(documents))
    owners = np.repeat(np.arange(len(documents)), list(map(len, documents)))
    spelled = [isinstance(c[0], str) for c in captions if len(c)]
    if all(spelled):
        ids, splits = vocabulary.encode_ragged(captions, eos=count_eos)
        lengths = np.diff(splits)
    else:
        ids, lengths = _cut(captions, vocabulary, any(spelled))
        owners, lengths = owners[lengths >= 0], lengths[lengths >= 0]
        if count_eos:
            ids = np.insert(ids, np.cumsum(lengths), vocabulary.eos)
            lengths = lengths + 1
    sizes = np.bincount(owners, minlength=len(documents))
    if not sizes.all():
        number = start + int(np.argmin(sizes > 0))
        raise ValueError(
            "`references` must hold a caption of every document. Received: "
            f"none in references[{number}]. Leave the document out."
        )
    return ids, lengths, sizes


def _cut(captions, vocabulary, mixed):
    """Ids up to the first end or padding, and lengths; -1 for padding only."""
    lengths = np.array(list(map(len, captions)), np.int64)
    flat = np.array([] if mixed else list(itertools.chain(*captions)))
    if mixed or flat.ndim != 1 or flat.dtype.kind not in "iu":
        found = "both" if mixed else f"{flat.ndim} axes of {flat.dtype}"
        raise TypeError(
            "`references` must hold captions of words or of integer ids. "
            f"Received: {found}. Encode them all with the vocabulary."
        )
    if flat.min() < 0 or flat.max() >= vocabulary.size:
        raise ValueError(
            "`references` must hold ids of `vocabulary`, from 0 to "
            f"{vocabulary.size - 1}. Received: ids from {flat.min()} to "
            f"{flat.max()}. Encode the captions with this vocabulary."
        )
    rows = row_of_word(lengths)
    positions = np.arange(len(flat)) - np.repeat(
        np.cumsum(lengths) - lengths, lengths
    )
    stops = np.flatnonzero((flat == vocabulary.eos) | (flat == 0))[::-1]
    # From the last to the first, so that the first is what remains.
    lengths[rows[stops]] = positions[stops]
    ids = flat[positions < lengths[rows]].astype(np.int32)
    padding = np.flatnonzero((positions == 0) & (flat == 0))
    lengths[rows[padding]] = -1
    return ids, lengths


def _count(ids, lengths, sizes, max_order):
    """Distinct n-grams of one chunk, and the documents that hold each."""
    documents = np.repeat(np.arange(len(sizes)), sizes)
    words = np.bincount(documents, lengths, len(sizes)).astype(np.int64)
    filled = np.arange(words.max(initial=0)) < words[:, None]
    table = np.zeros(filled.shape, np.int64)
    kept = []
    for keys in pack_ngrams(ids, lengths, max_order):
        table[:] = 0
        table[filled] = keys
        table.sort(axis=1)
        first = table != 0
        first[:, 1:] &= table[:, 1:] != table[:, :-1]
        kept.append(table[first])
    keys = np.concatenate(kept)
    keys.sort()
    starts = _run_starts(keys)
    return keys[starts], np.diff(starts, append=len(keys))


def _merge(found):
    """Adds up the counts of all chunks."""
    if not found:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    if len(found) == 1:
        return found[0]
    keys, counts = (np.concatenate(parts) for parts in zip(*found))
    order = np.argsort(keys)
    keys, counts = keys[order], counts[order]
    starts = _run_starts(keys)
    if not len(starts):
        return keys, counts
    return keys[starts], np.add.reduceat(counts, starts)


def _run_starts(keys):
    """Indices at which a sorted array changes."""
    changes = np.ones(len(keys), bool)
    changes[1:] = keys[1:] != keys[:-1]
    return np.flatnonzero(changes)


def _tell(progress, message):
    if progress:
        sys.stderr.write(f"\r\033[Kdocument frequencies: {message}")
        sys.stderr.flush()
