"""From similarities of pairs to the CIDEr of captions."""

import numpy as np

from tfcap.text.scores.comparison import compare_with_references
from tfcap.text.scores.scores import Scores
from tfcap.text.scores.tf_idf import encoder_for
from tfcap.text.scores.tf_idf import inverse_document_frequencies
from tfcap.text.scores.tf_idf import similarities


def consensus(
    candidates,
    references,
    document_frequencies=None,
    vocabulary=None,
    clipped=True,
    penalty=None,
):
    """10 times the mean similarity of captions to their references.

    Args:
        candidates, references, document_frequencies, vocabulary: See
            `cider_d()`.
        clipped: Boolean, see `similarities()`.
        penalty: Function from a `Comparison` to an array of shape `(pairs,)`,
            a factor for every pair. Defaults to 1.

    Returns:
        `Scores`; `corpus` is the mean of `each`.
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
