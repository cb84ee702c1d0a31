"""Self-CIDEr: how many different things the captions of an image say."""

from collections.abc import Sequence

import numpy as np

from tfcap.text.scores.cider import encoder_for
from tfcap.text.scores.cider import inverse_document_frequencies
from tfcap.text.scores.cider import similarities
from tfcap.text.scores.comparison import compare_within
from tfcap.text.scores.scores import Scores
from tfcap.text.scores.scores import check_caption_sets


def self_cider(
    sets: list,
    references: Sequence[Sequence[Sequence]] | None = None,
    document_frequencies=None,
    vocabulary=None,
) -> Scores:
    """Self-CIDEr diversity of the captions of every image.

    The plain CIDEr of each caption with each other one, itself included, is a
    kernel matrix; the more its weight is spread over many directions, the
    more the captions differ.

    ```python
    kernel[i, j] = mean over n (cosine(c_i, c_j))
    roots = sqrt(eigenvalues(kernel))
    diversity = -log(max(roots) / sum(roots)) / log(number of captions)
    ```

    Args:
        sets: List with, for every image, the list of its tokenized captions,
            at least two.
        references: List of lists of tokenized captions, the documents that
            say how rare an n-gram is: the references of all images of the
            split, in any order.
        document_frequencies: A `tfcap.text.DocumentFrequencies`, instead of
            `references`.
        vocabulary: The `Vocabulary` of the document frequencies, for captions
            given as words.

    Returns:
        `Scores` in [0, 1] of the sets: 0 where all captions say the same, 1
        where no two share an n-gram. `corpus` is the mean of `each`.

    Raises:
        ValueError: If a list is empty, a set holds one caption only, there
            are fewer than two documents, or not exactly one of `references`
            and `document_frequencies` is given.
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
      CVPR 2019; equal to `eval_self_cider` of self-critical.pytorch, but for
      captions without any n-gram that weighs something (0 here, nan there)
    """
    check_caption_sets(sets, "sets", least=2)
    if (references is None) == (document_frequencies is None):
        raise ValueError(
            "`references` or `document_frequencies` must be given, and not "
            "both: they say how rare an n-gram is. Received: "
            f"{'neither' if references is None else 'both'}."
        )
    if references is not None:
        check_caption_sets(references, "references")
    comparison = compare_within(
        sets,
        itself=True,
        references=() if references is None else references,
        encode=encoder_for(document_frequencies, vocabulary),
    )
    idf = inverse_document_frequencies(comparison, document_frequencies)
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
