"""CIDEr, CIDEr-D, CIDEr-R, Self-CIDEr: similarity to the references."""

import functools
import re
from collections.abc import Callable
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tfcap.text.ngrams import distinct_pairs
from tfcap.text.ngrams import number_ngrams
from tfcap.text.ngrams import row_of_word
from tfcap.text.scores.comparison import blocks
from tfcap.text.scores.comparison import compare_with_references
from tfcap.text.scores.comparison import compare_within
from tfcap.text.scores.comparison import count_runs
from tfcap.text.scores.comparison import earlier_occurrences
from tfcap.text.scores.comparison import known_ids
from tfcap.text.scores.comparison import number_words
from tfcap.text.scores.comparison import word_ids
from tfcap.text.scores.scores import Scores
from tfcap.text.scores.scores import check_caption_sets

#: CIDEr counts n-grams of one to four words.
ORDERS = 4


def cider(
    candidates: Sequence[Sequence],
    references: Sequence[Sequence[Sequence]],
    document_frequencies=None,
) -> Scores:
    """Plain CIDEr: the mean cosine of a caption with its references.

    It has neither the clipping nor the length penalty of CIDEr-D, so that
    repeating a rare word can raise it. Papers report `cider_d()` as CIDEr.

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
        candidates, references, document_frequencies, clipped=False
    )


def cider_d(
    candidates: Sequence[Sequence],
    references: Sequence[Sequence[Sequence]],
    document_frequencies=None,
    sigma: float = 6.0,
) -> Scores:
    """CIDEr-D of captions against their references.

    Caption and references are vectors of n-grams of one to four words, each
    weighted by its count and its inverse document frequency. CIDEr-D is 10
    times their mean cosine, with counts of the candidate clipped to those of
    the reference, and a penalty for a different length:

    ```python
    idf = log(images) - log(max(images_with_n_gram, 1))
    c, r = idf * counts_of_candidate, idf * counts_of_reference
    similarity_n = sum(minimum(c, r) * r) / (norm(c) * norm(r))
    difference = bigrams_of_candidate - bigrams_of_reference
    similarity_n *= exp(-difference**2 / (2 * sigma**2))
    CIDEr_D = 10 * mean over references, mean over n (similarity_n)
    ```

    This is what pycocoevalcap calls CIDEr. By default, document frequencies are
    those of the evaluated references, so that the score of a caption depends on
    the other images. For a reward, or for few images, pass those of the
    training corpus.

    Args:
        candidates: List of tokenized captions.
        references: List of lists of tokenized captions: `references[i]` are
            those of `candidates[i]`. A list shared by several candidates (the
            same object) is read only once.
        document_frequencies: A `tfcap.text.DocumentFrequencies`, optional. If
            it was counted in strings, captions are lists of words; if it was
            counted in ids, they are lists of these ids, which end with EOS if
            the table counts it. Defaults to those of `references`, each list
            being one document.
        sigma: Float, difference in length that costs a factor `exp(-1/2)`.
            Defaults to `6.0`.

    Returns:
        `Scores` in [0, 10]; `corpus` is the mean of `each`.

    Raises:
        ValueError: If lists are empty or of different lengths, if there are
            references of only one image and no document frequencies, or if
            an id is not in their vocabulary.
        TypeError: If captions are not tokenized, or are words while document
            frequencies were counted in ids.

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
        candidates, references, document_frequencies, penalty=penalty
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
    clipped: bool = True,
    penalty: Callable | None = None,
) -> Scores:
    """10 times the mean similarity of captions to their references.

    Args:
        penalty: Function from a `Comparison` to an array of shape `(pairs,)`,
            a factor for every pair. Defaults to 1.
    """
    comparison = compare_with_references(
        candidates, references, _encoder(document_frequencies)
    )
    idf = inverse_document_frequencies(comparison, document_frequencies)
    pairs = similarities(comparison, idf, clipped).mean(axis=0)
    if penalty is not None:
        pairs *= penalty(comparison)
    first = np.cumsum(comparison.sizes) - comparison.sizes
    each = 10 * np.add.reduceat(pairs, first) / comparison.sizes
    return Scores(float(each.mean()), each)


def _encoder(document_frequencies):
    """The encoder of captions: with the ids of a table, or any ids."""
    if document_frequencies is None:
        return number_words
    if document_frequencies.words is None:
        return functools.partial(
            known_ids, document_frequencies.vocabulary_size
        )
    table = document_frequencies.vocabulary
    end = table.eos if document_frequencies.count_eos else None
    return functools.partial(word_ids, table, end)


def inverse_document_frequencies(
    comparison, document_frequencies=None
) -> NDArray:
    """log(documents / documents that hold the n-gram) at every word.

    An n-gram in no document counts as one in a single document.

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
        keys = document_frequencies.pack(ids, lengths)
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
            "`references` must describe at least 2 images if document "
            "frequencies are counted in them: with one image, every n-gram "
            f"is in all documents and has weight 0. Received: {total}. Pass "
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
            lowered to it in the product (not in the norm), so that repeating
            a word does not pay.

    Returns:
        Float array of shape `(4, pairs)`. 0 where a vector is 0.
    """
    ranks = earlier_occurrences(comparison, ORDERS)
    squares = idf**2
    norms = _norms(squares * (2.0 * ranks + 1), comparison.lengths)
    products = np.empty((ORDERS, len(comparison.right)))
    for block in blocks(comparison):
        counts = count_runs(block.equal, ORDERS).reshape(ORDERS, -1)
        size = len(block.pairs)
        # Most n-grams are not in the other caption; a longer one can only be
        # there if the shorter one is.
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


def cider_r(
    candidates: Sequence[Sequence],
    references: Sequence[Sequence[Sequence]],
    document_frequencies=None,
):
    """CIDEr-R: CIDEr-D that is lenient on length and strict on repetition.

    The Gaussian of CIDEr-D makes a long caption of slightly different length
    worthless, and models trained with it pad captions with repeated words.
    CIDEr-R measures the difference in length relative to the reference, and
    penalizes words that are more or less frequent than in the reference.

    ```python
    repetition = geometric mean over distinct words w of the candidate of
        1 / (1 + abs(count_r(w) - count_c(w))) if w in reference
        else 1 / count_c(w)
    length = exp(-((length_c - length_r) / length_r) ** 2)
    similarity_n *= repetition**0.8 * length**0.2    # of clipped cosines
    CIDEr_R = 10 * mean over references, mean over n (similarity_n)
    ```

    In the repetition penalty, words are runs of letters and digits, so that
    punctuation may repeat and "t-shirt" is two words; ids are used unchanged.

    Args:
        candidates: List of tokenized captions.
        references: List of lists of tokenized captions: `references[i]` are
            those of `candidates[i]`.
        document_frequencies: A `tfcap.text.DocumentFrequencies`, optional,
            see `cider_d()`. Defaults to those of `references`.

    Returns:
        `Scores` in [0, 10]; `corpus` is the mean of `each`. An empty caption
        gets 0.

    Raises:
        ValueError: If lists are empty or of different lengths, or if there
            are references of only one image and no document frequencies.
        TypeError: If captions are not tokenized.

    Example:

    >>> from tfcap.text.scores.cider import cider_r
    >>> candidates = [["two", "two", "dogs"], ["a", "bus"]]
    >>> references = [[["two", "dogs", "play"]], [["a", "red", "bus"]]]
    >>> cider_r(candidates, references).each.round(4)
    array([1.9257, 1.9964])

    Reference:

    - Dos Santos et al., CIDEr-R: Robust Consensus-based Image Description
      Evaluation, W-NUT 2021; equal to gabrielsantosrv/coco-caption
    """

    def penalty(comparison):
        words = compare_with_references(*_split(candidates, references))
        repetition = _repetition_penalty(words)
        length = _length_penalty(comparison)
        return repetition**0.8 * length**0.2

    return consensus(
        candidates, references, document_frequencies, penalty=penalty
    )


def _length_penalty(comparison):
    lengths = np.maximum(comparison.lengths, 1)
    ours = lengths[np.repeat(comparison.left, comparison.sizes)]
    theirs = lengths[comparison.right]
    return np.exp(-(((ours - theirs) / theirs) ** 2))


def _repetition_penalty(comparison):
    ids = comparison.ids
    words = row_of_word(comparison.lengths) * (ids.max(initial=0) + 1) + ids
    _, first, of_word, counts = np.unique(
        words, return_index=True, return_inverse=True, return_counts=True
    )
    counts = np.append(counts[of_word], 0).astype(float)
    first = np.isin(np.arange(len(counts)), first)
    penalty = np.ones(len(comparison.right))
    for block in blocks(comparison):
        ours = counts[block.words]
        theirs = count_runs(block.equal, 1)[0].astype(float)
        excess = np.where(theirs > 0, np.abs(theirs - ours), ours - 1)
        once = first[block.words]
        logs = (np.log1p(excess, where=once, out=np.zeros_like(ours))).sum(0)
        penalty[block.pairs] = np.exp(-logs / np.maximum(once.sum(0), 1))
    return penalty


def _split(candidates, references):
    """Captions of runs of letters and digits; shared lists stay shared."""

    @functools.cache
    def parts(word):
        return re.findall(r"\w+", word) if isinstance(word, str) else [word]

    def split(captions):
        return [[p for w in words for p in parts(w)] for words in captions]

    references = list(references)
    by_id = {id(captions): captions for captions in references}
    shared = {key: split(captions) for key, captions in by_id.items()}
    return split(candidates), [shared[id(x)] for x in references]


def self_cider(sets: list, references: Sequence[Sequence[Sequence]]) -> Scores:
    """Self-CIDEr: diversity of the captions of every image.

    The plain CIDEr of all pairs of captions, each with itself included, is a
    kernel matrix; the more evenly its eigenvalues are spread, the more the
    captions differ.

    ```python
    kernel[i, j] = mean over n (cosine(c_i, c_j))
    roots = sqrt(eigenvalues(kernel))
    diversity = -log(max(roots) / sum(roots)) / log(number of captions)
    ```

    Args:
        sets: List of lists of tokenized captions, one list of at least two for
            every image.
        references: List of lists of tokenized captions, in which document
            frequencies are counted: the references of all images of the
            split, in any order.

    Returns:
        `Scores` in [0, 1] of the sets: 0 if all captions are the same, 1 if no
        two share an n-gram. `corpus` is the mean of `each`.

    Raises:
        ValueError: If a list is empty, a set holds only one caption, or there
            are fewer than two documents.
        TypeError: If captions are not tokenized.

    Example:

    >>> sets = [
    ...     [["two", "dogs", "play"], ["two", "dogs", "play"]],
    ...     [["a", "red", "bus"], ["the", "bus"]],
    ... ]
    >>> references = [[["two", "dogs", "play"]], [["a", "bus"]]]
    >>> tfcap.text.self_cider(sets, references).each.round(4)
    array([0.   , 0.822])

    Reference:

    - Wang and Chan, Describing like Humans: on Diversity in Image Captioning,
      CVPR 2019; equal to `eval_self_cider` of self-critical.pytorch, except
      for captions without any n-gram of positive weight (0 here, NaN there)
    """
    check_caption_sets(sets, "sets", least=2)
    check_caption_sets(references, "references")
    comparison = compare_within(sets, itself=True, references=references)
    idf = inverse_document_frequencies(comparison)
    pairs = similarities(comparison, idf, clipped=False).mean(axis=0)
    each = _diversities(pairs, np.array([len(s) for s in sets]))
    return Scores(float(each.mean()), each)


def _diversities(pairs, sizes):
    """Diversities from the entries of kernels of several sizes."""
    each = np.empty(len(sizes))
    starts = np.cumsum(sizes**2) - sizes**2
    for size in np.unique(sizes):
        chosen = np.flatnonzero(sizes == size)
        entries = starts[chosen, None] + np.arange(size**2)
        values = np.linalg.eigvalsh(pairs[entries].reshape(-1, size, size))
        roots = np.sqrt(np.maximum(values, 0))
        total = roots.sum(axis=1)
        share = roots[:, -1] / np.where(total == 0, 1, total)
        share[total == 0] = 1
        each[chosen] = -np.log(share) / np.log(size)
    # Not -0.0 where all captions are the same.
    return np.maximum(each, 0.0)
