"""CIDEr as first defined."""

from tfcap.text.scores.consensus import consensus


def cider(candidates, references, document_frequencies=None, vocabulary=None):
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

    >>> candidates = [["two", "dogs", "play"], ["a", "bus"]]
    >>> references = [[["two", "dogs", "play"]], [["a", "red", "bus"]]]
    >>> tfcap.text.cider(candidates, references).each.round(4)
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
