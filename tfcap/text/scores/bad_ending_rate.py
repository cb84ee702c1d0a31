"""Captions that break off."""

import numpy as np

from tfcap.text.scores.checks import check_captions
from tfcap.text.scores.scores import Scores

#: Words that no caption ends with.
BAD_ENDINGS = (
    *("a", "an", "the", "in", "for", "at", "of", "with", "before", "after"),
    *("on", "upon", "near", "to", "is", "are", "am"),
)


def bad_ending_rate(captions, endings=BAD_ENDINGS):
    """Share of captions that end with an article, a preposition or a copula.

    Models trained for n-gram scores that do not count the end of the caption
    break off: a third of captions and more then end in "with a".

    Args:
        captions: List of tokenized captions.
        endings: Collection of words. Defaults to 17 words, "a" to "am".

    Returns:
        `Scores`: `each` is 1 for a caption with a bad ending, 0 for others
        (an empty one too); `corpus` is their mean.

    Raises:
        ValueError: If there are no captions.
        TypeError: If captions are not tokenized.

    Example:

    >>> tfcap.text.bad_ending_rate([["a", "bus"], ["a", "bus", "with", "a"]])
    Scores(corpus=0.5, each=array([0., 1.]))

    Reference:

    - `count_bad` of self-critical.pytorch, `captioning/utils/eval_utils.py`
    """
    check_captions(captions, "captions")
    bad = set(endings)
    each = np.array([float(len(c) > 0 and c[-1] in bad) for c in captions])
    return Scores(float(each.mean()), each)
