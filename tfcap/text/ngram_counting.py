"""Counts in how many documents of a corpus each n-gram occurs.

Captions go through in chunks of documents. Within a chunk the packed n-grams
of a document are one row of a matrix: a sort along the rows brings equal ones
together, each is kept once, and one more sort counts what is left. Nothing is
hashed and no n-gram becomes a Python object.
"""

import sys

import numpy as np

from tfcap.text.ngrams import check_order
from tfcap.text.ngrams import flatten_rows
from tfcap.text.ngrams import pack_ngrams

#: Documents of a chunk.
_CHUNK = 8192


def count_documents(references, vocabulary, max_order, count_eos, progress):
    """Counts the documents that hold each n-gram.

    Args:
        references: Sequence of documents, each a sequence of captions, each a
            sequence of words or ids; or an integer array `(B, N, T)`.
        vocabulary: `tfcap.text.Vocabulary`.
        max_order: Integer, longest n-gram.
        count_eos: Boolean, whether an end token follows every caption.
        progress: Boolean, whether to tell on the standard error.

    Returns:
        A pair `(keys, counts)` of int64 arrays of shape `(n,)`: packed
        n-grams, distinct and sorted, and the documents that hold each.
    """
    check_order(max_order, 4)
    found = []
    for start in range(0, len(references), _CHUNK):
        documents = references[start : start + _CHUNK]
        rows, sizes = _rows(documents, vocabulary, count_eos, start)
        found.append(_count(*flatten_rows(rows), sizes, max_order))
        done = start + len(documents)
        _tell(progress, f"{done:,} of {len(references):,} documents")
    _tell(progress and found, "done\n")
    return _merge(found)


def _rows(documents, vocabulary, count_eos, start):
    """Captions of some documents as ids, and how many each document has."""
    end = [vocabulary.eos] if count_eos else []
    rows, sizes = [], []
    for number, captions in enumerate(documents):
        found = [_ids(caption, vocabulary) for caption in captions]
        found = [[*ids, *end] for ids in found if ids is not None]
        if not found:
            raise ValueError(
                "`references` must hold a caption of every document. "
                f"Received: none in references[{start + number}]. Leave the "
                "document out."
            )
        rows += found
        sizes.append(len(found))
    return rows, np.array(sizes)


def _ids(caption, vocabulary):
    """Ids of a caption without its end; None for a row of padding only."""
    if isinstance(caption, str):
        raise TypeError(
            "`references` must hold, for every document, a sequence of "
            "captions that are sequences of words or ids. Received: "
            f"{caption!r} where a caption was expected. Split it with "
            "`tfcap.text.caption_tokenize()`, and put the captions of an "
            "image into a list."
        )
    if not len(caption) or isinstance(caption[0], str):
        return vocabulary.encode(caption)
    ids = np.asarray(caption)
    if ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise TypeError(
            "`references` must hold captions of words or of integer ids. "
            f"Received: a caption of shape {ids.shape}, dtype {ids.dtype}."
        )
    if ids.min() < 0 or ids.max() >= vocabulary.size:
        raise ValueError(
            "`references` must hold ids of `vocabulary`, from 0 to "
            f"{vocabulary.size - 1}. Received: ids from {ids.min()} to "
            f"{ids.max()}. Encode the captions with this vocabulary."
        )
    stops = np.flatnonzero((ids == vocabulary.eos) | (ids == 0))
    if len(stops) and stops[0] == 0 and ids[0] != vocabulary.eos:
        return None
    return ids[: stops[0]].tolist() if len(stops) else ids.tolist()


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
    """Where a sorted array changes."""
    changes = np.ones(len(keys), bool)
    changes[1:] = keys[1:] != keys[:-1]
    return np.flatnonzero(changes)


def _tell(progress, message):
    if progress:
        sys.stderr.write(f"\r\033[Kdocument frequencies: {message}")
        sys.stderr.flush()
