"""CIDEr and CIDEr-D: TF-IDF weighted n-gram similarity to the references."""

import functools
from collections.abc import Callable
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tfcap.text.ngrams import distinct_pairs
from tfcap.text.ngrams import number_ngrams
from tfcap.text.ngrams import row_of_word
from tfcap.text.scores.blocks import blocks
from tfcap.text.scores.blocks import earlier_occurrences
from tfcap.text.scores.comparison import compare_with_references
from tfcap.text.scores.comparison import number_words
from tfcap.text.scores.comparison import vocabulary_ids
from tfcap.text.scores.comparison import word_ids
from tfcap.text.scores.scores import Scores
from tfcap.text.tokenizers import as_vocabulary

#: CIDEr counts n-grams of one to four words.
ORDERS = 4


def cider(
    candidates: Sequence[Sequence],
    references: Sequence[Sequence[Sequence]],
    document_frequencies=None,
    vocabulary=None,
) -> Scores:
    """Plain CIDEr: the mean cosine of a caption with its references.

    Without the clipping and without the length penalty of CIDEr-D, so that
    repeating a telling word can raise it; what papers report as CIDEr is
    `cider_d()`.

    ```python
    c, r = idf * counts_of_candidate, idf * counts_of_reference
    CIDEr = 10 * mean over references, mean over n (cosine(c, r))
    ```

    Args:
        candidates: List of tokenized captions.
        references: List of lists of tokenized captions: `references[i]` are
            those of `candidates[i]`.
        document_frequencies: A `tfcap.text.DocumentFrequencies`, optional,
            see `cider_d()`. Defaults to those of `references`.
        vocabulary: The `Vocabulary` of the document frequencies, for captions
            given as words.

    Returns:
        `Scores` in [0, 10]; `corpus` is the mean of `each`.

    Raises:
        ValueError: If lists are empty or of different lengths, or if there
            are references of only one image and no document frequencies.
        TypeError: If captions are not tokenized.

    Example:

    >>> from tfcap.text.scores.cider import cider
    >>> candidates = [["two", "dogs", "play"], ["a", "bus"]]
    >>> references = [[["two", "dogs", "play"]], [["a", "red", "bus"]]]
    >>> cider(candidates, references).each.round(4)
    array([7.5   , 2.0412])

    Reference:

    - Vedantam et al., CIDEr, CVPR 2015, equations 1 to 3, without stemming;
      equal to the plain CIDEr of ruotianluo/cider, times 10 as there
    """
    return consensus(
        candidates,
        references,
        document_frequencies,
        vocabulary,
        clipped=False,
    )


def cider_d(
    candidates: Sequence[Sequence],
    references: Sequence[Sequence[Sequence]],
    document_frequencies=None,
    vocabulary=None,
    sigma: float = 6.0,
) -> Scores:
    """CIDEr-D: how much a caption says what people say of its image.

    Caption and references are vectors of n-grams of one to four words, each
    weighted by its count and by how few images have it. CIDEr-D is
    their mean cosine, with counts of the candidate clipped to those of the
    reference and a penalty for another length, times 10:

    ```python
    idf = log(images) - log(max(images_with_n_gram, 1))
    c, r = idf * counts_of_candidate, idf * counts_of_reference
    similarity_n = sum(minimum(c, r) * r) / (norm(c) * norm(r))
    difference = bigrams_of_candidate - bigrams_of_reference
    similarity_n *= exp(-difference**2 / (2 * sigma**2))
    CIDEr_D = 10 * mean over references, mean over n (similarity_n)
    ```

    This is what pycocoevalcap calls CIDEr. The document frequencies come from
    the evaluated references unless they are given, so that the same caption
    scores differently in another set of images; as a reward, or for a few
    images, take those of the training corpus.

    Args:
        candidates: List of tokenized captions.
        references: List of lists of tokenized captions: `references[i]` are
            those of `candidates[i]`. A list shared by several candidates (the
            same object) is read only once.
        document_frequencies: A `tfcap.text.DocumentFrequencies`, optional.
            Captions are then words, with `vocabulary` unless words were
            counted in strings, or lists of ids.
            Defaults to those of `references`, each list being one document.
        vocabulary: The `Vocabulary` of the document frequencies, for captions
            given as words. Words that it lacks are all one word, UNK. Where
            the table counts EOS it is added; captions of ids are scored as
            they are given.
        sigma: Float, difference in length that costs a factor `exp(-1/2)`.
            Defaults to `6.0`.

    Returns:
        `Scores` in [0, 10]; `corpus` is the mean of `each`.

    Raises:
        ValueError: If lists are empty or of different lengths, if there are
            references of only one image and no document frequencies, or if
            the vocabulary or an id is not theirs.
        TypeError: If captions are not tokenized.

    Example:

    >>> candidates = [["two", "dogs", "play"], ["a", "bus"]]
    >>> references = [
    ...     [["two", "dogs", "play"], ["dogs", "playing", "on", "grass"]],
    ...     [["a", "red", "bus"], ["the", "bus", "is", "red"]],
    ... ]
    >>> scores = tfcap.text.cider_d(candidates, references)
    >>> round(scores.corpus, 4), scores.each.round(4)
    (2.7652, array([4.1059, 1.4246]))

    Reference:

    - Vedantam et al., CIDEr, CVPR 2015, equation 12 for CIDEr-D; equal to
      pycocoevalcap, whose length is the number of bigrams
    """
    check_sigma(sigma)

    def penalty(comparison):
        bigrams = np.maximum(comparison.lengths - 1, 0)
        left = np.repeat(comparison.left, comparison.sizes)
        difference = bigrams[left] - bigrams[comparison.right]
        return np.exp(-(difference**2) / (2 * sigma**2))

    return consensus(
        candidates,
        references,
        document_frequencies,
        vocabulary,
        penalty=penalty,
    )


def check_sigma(sigma):
    """Raises unless `sigma` is positive."""
    if not sigma > 0:
        raise ValueError(
            f"`sigma` must be positive. Received: sigma={sigma!r}."
        )


def consensus(
    candidates,
    references,
    document_frequencies=None,
    vocabulary=None,
    clipped: bool = True,
    penalty: Callable | None = None,
) -> Scores:
    """10 times the mean similarity of captions to their references.

    Args:
        penalty: Function from a `Comparison` to an array of shape `(pairs,)`,
            a factor for every pair. Defaults to 1.
    """
    comparison = compare_with_references(
        candidates, references, encoder_for(document_frequencies, vocabulary)
    )
    idf = inverse_document_frequencies(comparison, document_frequencies)
    pairs = similarities(comparison, idf, clipped).mean(axis=0)
    if penalty is not None:
        pairs *= penalty(comparison)
    first = np.cumsum(comparison.sizes) - comparison.sizes
    each = 10 * np.add.reduceat(pairs, first) / comparison.sizes
    return Scores(float(each.mean()), each)


def encoder_for(document_frequencies, vocabulary):
    """The encoder of captions: by the vocabulary of a table, or freely."""
    if document_frequencies is None:
        if vocabulary is not None:
            raise ValueError(
                "`vocabulary` must come with `document_frequencies`. "
                "Received: a vocabulary alone. Leave it out: words are "
                "compared as they are."
            )
        return number_words
    if document_frequencies.words is not None:
        table = document_frequencies.vocabulary
        end = table.eos if document_frequencies.count_eos else None
        return functools.partial(word_ids, table, end)
    if vocabulary is not None:
        vocabulary = as_vocabulary(vocabulary)
        document_frequencies.check_vocabulary(vocabulary)
    return vocabulary_ids(
        vocabulary,
        document_frequencies.vocabulary_size,
        document_frequencies.count_eos,
    )


def inverse_document_frequencies(
    comparison, document_frequencies=None
) -> NDArray:
    """log(documents / documents that hold the n-gram) at every word.

    An n-gram of no document counts as one of a single document.

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
        keys = document_frequencies.pack(ids, lengths, ORDERS)
        starts = keys != 0
        counts = document_frequencies.lookup(keys[starts])
        documents = document_frequencies.num_documents
    rarity = np.log(float(documents)) - np.log(np.maximum(counts, 1.0))
    values[:, :-1][starts] = rarity
    return values


def _count_documents(comparison):
    """Number of documents of the comparison that hold each n-gram."""
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


def similarities(comparison, idf: NDArray, clipped: bool) -> NDArray:
    """Cosine of the n-gram vectors of every pair, order by order.

    ```python
    vector[n_gram] = count[n_gram] * idf[n_gram]
    similarity = left @ right / (norm(left) * norm(right))
    ```

    Args:
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
