"""CIDEr-D, what everybody reports as CIDEr."""

import numpy as np

from tfcap.text.scores.consensus import consensus


def cider_d(
    candidates,
    references,
    document_frequencies=None,
    vocabulary=None,
    sigma=6.0,
):
    """CIDEr-D: how much a caption says what people say of its image.

    Caption and references are vectors of n-grams of one to four words, each
    weighted by its count and by how few images it is said of. CIDEr-D is
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
            Captions are then words, with `vocabulary`, or lists of ids.
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
