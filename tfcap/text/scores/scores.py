"""What a score function returns."""

from typing import NamedTuple

import numpy as np


class Scores(NamedTuple):
    """One score of a corpus and of each of its captions."""

    #: Score of the whole. Not always the mean of `each`: see the function.
    corpus: float
    #: Array of shape `(n,)`, dtype float64: score of each caption, or of each
    #: set of captions, in the order in which they were given.
    each: np.ndarray
