"""How long captions are."""

from typing import NamedTuple

import numpy as np

from tfcap.text.scores.checks import check_captions


class LengthStatistics(NamedTuple):
    """Lengths of captions in words."""

    mean: float
    #: Of the captions themselves: divided by their number.
    standard_deviation: float
    shortest: int
    median: float
    longest: int
    #: Integer array of shape `(n,)`.
    each: np.ndarray


def length_statistics(captions):
    """Mean, spread and extremes of the lengths of captions.

    Args:
        captions: List of tokenized captions.

    Returns:
        `LengthStatistics`.

    Raises:
        ValueError: If there are no captions.
        TypeError: If captions are not tokenized.

    Example:

    >>> lengths = tfcap.text.length_statistics([["a", "bus"], ["a"], []])
    >>> lengths.mean, lengths.shortest, lengths.median, lengths.longest
    (1.0, 0, 1.0, 2)
    """
    check_captions(captions, "captions")
    each = np.array([len(words) for words in captions])
    return LengthStatistics(
        mean=float(each.mean()),
        standard_deviation=float(each.std()),
        shortest=int(each.min()),
        median=float(np.median(each)),
        longest=int(each.max()),
        each=each,
    )
