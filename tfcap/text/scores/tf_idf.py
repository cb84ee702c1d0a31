"""N-grams weighted by how rarely they are said: the ground of all CIDErs."""

import numpy as np

from tfcap.text.ngrams import distinct_pairs
from tfcap.text.ngrams import number_ngrams
from tfcap.text.ngrams import pack_ngrams
from tfcap.text.ngrams import row_of_word
from tfcap.text.scores.blocks import blocks
from tfcap.text.scores.blocks import earlier_occurrences
from tfcap.text.scores.comparison import number_words
from tfcap.text.scores.comparison import vocabulary_ids

#: CIDEr counts n-grams of one to four words.
ORDERS = 4


def encoder_for(document_frequencies, vocabulary):
    """How captions become ids: by the vocabulary of a table, or freely."""
    if document_frequencies is None:
        if vocabulary is not None:
            raise ValueError(
                "`vocabulary` must come with `document_frequencies`. "
                "Received: a vocabulary alone. Leave it out: words are "
                "compared as they are."
            )
        return number_words
    if vocabulary is not None:
        document_frequencies.check_vocabulary(vocabulary)
    return vocabulary_ids(
        vocabulary,
        document_frequencies.vocabulary_size,
        document_frequencies.count_eos,
    )


def inverse_document_frequencies(comparison, document_frequencies=None):
    """log(documents / documents that hold the n-gram) at every word.

    An n-gram of no document counts as one of a single document.

    Args:
        comparison: A `Comparison`.
        document_frequencies: A `tfcap.text.DocumentFrequencies`, optional.
            Defaults to those of the documents of the comparison.

    Returns:
        Float array of shape `(4, n + 1)`, 0 where no n-gram starts.

    Raises:
        ValueError: If there are fewer than two documents.
    """
    ids, lengths = comparison.ids, comparison.lengths
    values = np.zeros((ORDERS, len(ids) + 1))
    if document_frequencies is None:
        starts, counts, documents = _count_documents(comparison)
    else:
        keys = pack_ngrams(ids, lengths, ORDERS)
        starts = keys != 0
        counts = document_frequencies.lookup(keys[starts])
        documents = document_frequencies.num_documents
    rarity = np.log(float(documents)) - np.log(np.maximum(counts, 1.0))
    values[:, :-1][starts] = rarity
    return values


def _count_documents(comparison):
    """Of each n-gram, how many documents of the comparison hold it."""
    repeats = comparison.repeats
    total = int(repeats.sum())
    if total < 2:
        raise ValueError(
            "`references` must describe at least 2 images where document "
            "frequencies are counted in them: of one image every n-gram is "
            f"in all documents and weighs nothing. Received: {total}. Pass "
            "`document_frequencies` of a training corpus."
        )
    numbers, sizes = number_ngrams(comparison.ids, comparison.lengths, ORDERS)
    of_word = comparison.documents[row_of_word(comparison.lengths)]
    counts = []
    for numbers_k, size in zip(numbers, sizes):
        inside = (numbers_k >= 0) & (of_word >= 0)
        held, holders = distinct_pairs(numbers_k[inside], of_word[inside])
        holding = np.bincount(held, repeats[holders], size)
        counts.append(holding[numbers_k[numbers_k >= 0]])
    return numbers >= 0, np.concatenate(counts), total


def similarities(comparison, idf, clipped):
    """Cosine of the n-gram vectors of every pair, order by order.

    ```python
    vector[n_gram] = count[n_gram] * idf[n_gram]
    similarity = left @ right / (norm(left) * norm(right))
    ```

    Args:
        comparison: A `Comparison`.
        idf: Float array of shape `(4, n + 1)`.
        clipped: Boolean, whether a count of `left` above that of `right` is
            lowered to it in the product (not in the norm), so that saying a
            word again and again does not pay.

    Returns:
        Float array of shape `(4, pairs)`. 0 where a vector is 0.
    """
    ranks = earlier_occurrences(comparison, ORDERS)
    squares = idf**2
    norms = _norms(squares * (2.0 * ranks + 1), comparison.lengths)
    products = np.empty((ORDERS, len(comparison.right)))
    for block in blocks(comparison):
        counts = block.count_runs(ORDERS).reshape(ORDERS, -1)
        size = len(block.pairs)
        # Most n-grams are not in the other caption; a longer one is only
        # where a shorter one is.
        shared = np.flatnonzero(counts[0])
        for k in range(ORDERS):
            shared = shared[counts[k].take(shared) > 0]
            count = counts[k].take(shared)
            word = block.words.take(shared)
            weights = squares[k].take(word) * count
            if clipped:
                weights *= ranks[k].take(word) < count
            products[k, block.pairs] = np.bincount(shared % size, weights, size)
    left = np.repeat(comparison.left, comparison.sizes)
    scale = norms[:, left] * norms[:, comparison.right]
    return products / np.where(scale == 0, 1, scale)


def _norms(squares, lengths):
    """Euclidean norms of the rows from the terms of every word."""
    rows = row_of_word(lengths)
    sums = [np.bincount(rows, x[:-1], len(lengths)) for x in squares]
    return np.sqrt(sums)
