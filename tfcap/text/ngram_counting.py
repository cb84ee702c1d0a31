"""Counts in how many documents of a corpus each n-gram occurs.

Documents are counted in chunks. Within a chunk, the packed n-grams of a
document are one row of a matrix: sorting the rows brings equal n-grams
together, each is kept once, and another sort counts them. Nothing is hashed,
and no n-gram becomes a Python object.
"""

import collections
import itertools
from collections.abc import Mapping

import numpy as np

from tfcap.text.caption_tokenization import caption_tokenize
from tfcap.text.ngrams import MAX_PACKED_ID
from tfcap.text.ngrams import WORD_BITS
from tfcap.text.ngrams import pack_ngrams
from tfcap.text.ngrams import ragged_arange
from tfcap.text.ngrams import row_of_word

#: Documents in a chunk.
_CHUNK = 8192


def as_documents(references):
    """Returns references as a sequence; of a dict, its values."""
    if isinstance(references, Mapping):
        references = references.values()
    if isinstance(references, np.ndarray) and references.dtype != object:
        return references
    # Ragged tensors and their rows have no length.
    return [
        row.to_list() if hasattr(row, "to_list") else row for row in references
    ]


def count_documents(references, vocabulary, count_eos: bool, codes):
    """Counts the documents that hold each n-gram.

    Args:
        references: Sequence of documents, each a sequence of captions, each a
            sequence of words or ids; or an integer array `(B, N, T)`.
        codes: Function from ids to the codes in keys. N-grams that contain
            the code `MAX_PACKED_ID` are left out.

    Returns:
        A pair `(keys, counts)` of int64 arrays of shape `(n,)`: distinct
        packed n-grams, sorted, and the number of documents that hold each.
    """
    found = []
    for start in range(0, len(references), _CHUNK):
        documents = references[start : start + _CHUNK]
        ids, lengths, sizes = _rows(documents, vocabulary, count_eos, start)
        found.append(_count(codes(ids), lengths, sizes))
    return _merge(found)


def words_of(references, vocabulary):
    """Captions as words, and the number of documents that hold each word.

    Args:
        references: See `count_documents()`; captions may also be strings,
            which are split as in an evaluation.
        vocabulary: Object that decodes captions of ids, or `None`.

    Returns:
        A list of documents, which are lists of captions, which are lists of
        words; and a `Counter`.
    """

    def words(caption):
        if not isinstance(caption, str):
            if not len(caption) or isinstance(caption[0], str):
                return list(caption)
            if vocabulary is None:
                raise TypeError(
                    "`vocabulary` must be given where captions are ids. "
                    f"Received: vocabulary=None for {caption!r:.80}."
                )
            caption = _without_start(caption, vocabulary)
            if not len(caption) or caption[0] == getattr(vocabulary, "pad", 0):
                return None  # No caption.
            caption = vocabulary.decode(caption)
        return caption_tokenize(caption)

    documents = []
    for number, captions in enumerate(references):
        if isinstance(captions, str | Mapping):
            raise TypeError(
                "`references` must hold a list of captions for every document. "
                f"Received: {captions!r:.80} in references[{number}]. Put the "
                "captions of an image into a list."
            )
        read = map(words, captions)
        documents.append([caption for caption in read if caption is not None])
    held = (set(itertools.chain(*captions)) for captions in documents)
    return documents, collections.Counter(itertools.chain.from_iterable(held))


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
    if all(isinstance(c[0], str) for c in captions if len(c)):
        ids, splits = vocabulary.encode_ragged(captions, eos=count_eos)
        lengths = np.diff(splits)
    else:
        captions = [_without_start(c, vocabulary) for c in captions]
        ids, lengths = _cut(captions, vocabulary)
        owners, lengths = owners[lengths >= 0], lengths[lengths >= 0]
        if count_eos:
            end = np.ravel(vocabulary.eos)[0]
            ids = np.insert(ids, np.cumsum(lengths), end)
            lengths = lengths + 1
    sizes = np.bincount(owners, minlength=len(documents))
    if not sizes.all():
        number = start + int(np.argmin(sizes > 0))
        raise ValueError(
            "`references` must hold a caption for every document. Received: "
            f"none in references[{number}]. Leave the document out."
        )
    return ids, lengths, sizes


def _without_start(caption, vocabulary):
    """Words of a caption without the start token, see `tfcap._ops`."""
    bos = getattr(vocabulary, "bos", None)
    if bos is None or not len(caption) or caption[0] != bos:
        return caption
    stops = (getattr(vocabulary, "pad", 0), *np.ravel(vocabulary.eos))
    if bos in stops and (len(caption) < 2 or caption[1] in stops):
        return caption
    return caption[1:]


def _cut(captions, vocabulary):
    """Ids before the first end or padding, and lengths; -1 for only padding."""
    lengths = np.array(list(map(len, captions)), np.int64)
    flat = np.array(list(itertools.chain.from_iterable(captions)))
    if flat.ndim != 1 or flat.dtype.kind not in "iu":
        raise TypeError(
            "`references` must hold captions of words or of integer ids. "
            f"Received: {flat.ndim} axes of {flat.dtype}. Encode them all with "
            "the vocabulary."
        )
    if flat.min() < 0 or flat.max() >= vocabulary.size:
        raise ValueError(
            "`references` must hold ids of `vocabulary`, from 0 to "
            f"{vocabulary.size - 1}. Received: ids from {flat.min()} to "
            f"{flat.max()}. Encode the captions with this vocabulary."
        )
    rows, positions = row_of_word(lengths), ragged_arange(lengths)
    pad = getattr(vocabulary, "pad", 0)
    ends = np.isin(flat, vocabulary.eos) | (flat == pad)
    stops = np.flatnonzero(ends)[::-1]
    # From the last to the first, so that the first one remains.
    lengths[rows[stops]] = positions[stops]
    ids = flat[positions < lengths[rows]].astype(np.int32)
    padding = np.flatnonzero((positions == 0) & (flat == pad))
    lengths[rows[padding]] = -1
    return ids, lengths


def _count(ids, lengths, sizes):
    """Distinct n-grams of one chunk, and the documents that hold each."""
    documents = np.repeat(np.arange(len(sizes)), sizes)
    words = np.bincount(documents, lengths, len(sizes)).astype(np.int64)
    filled = np.arange(words.max(initial=0)) < words[:, None]
    table = np.zeros(filled.shape, np.int64)
    kept = []
    unknown = np.any(ids == MAX_PACKED_ID)
    for keys in pack_ngrams(ids, lengths):
        if unknown:
            keys[_holds_unknown(keys)] = 0
        table[:] = 0
        table[filled] = keys
        table.sort(axis=1)
        first = table != 0
        first[:, 1:] &= table[:, 1:] != table[:, :-1]
        kept.append(table[first])
    return np.unique(np.concatenate(kept), return_counts=True)


def _holds_unknown(keys):
    """Returns whether a word of each key has the code `MAX_PACKED_ID`."""
    field = 2**WORD_BITS - 1
    words = [keys >> shift & field for shift in range(0, 64, WORD_BITS)]
    return np.any(np.equal(words, field), axis=0)


def _merge(found):
    """Adds up the counts of all chunks."""
    keys, counts = (np.concatenate(parts) for parts in zip(*found))
    keys, places = np.unique(keys, return_inverse=True)
    return keys, np.bincount(places, counts).astype(np.int64)
