"""Captions that say the same again."""

import numpy as np

from tfcap.text.ngrams import check_order
from tfcap.text.scores.checks import check_captions
from tfcap.text.scores.scores import Scores


def repeated_ngrams(captions, order=2):
    """Share of the n-grams of each caption that it has said before.

    ```
    each = 1 - distinct n-grams of the caption / n-grams of the caption
    ```

    A reward that does not read sentences is hacked by naming things again:
    "a black and brown dog on a black and brown".

    Args:
        captions: List of tokenized captions.
        order: Integer, words of an n-gram. Defaults to `2`.

    Returns:
        `Scores` in `[0, 1)`, 0 for a caption that has no n-gram; `corpus` is
        the mean of `each`.

    Raises:
        ValueError: If there are no captions, or for an `order` below 1.
        TypeError: If captions are not tokenized.

    Example:

    >>> said = "a red bus and a red bus".split()
    >>> tfcap.text.repeated_ngrams([said, said[:4]])
    Scores(corpus=0.1666..., each=array([0.3333..., 0. ]))

    Reference:

    - Welleck et al., Neural Text Generation with Unlikelihood Training, ICLR
      2020, section 6.1: seq-rep-n, there of 4-grams
    """
    check_order(order, name="order")
    check_captions(captions, "captions")
    each = np.array([_repeated(caption, order) for caption in captions])
    return Scores(float(each.mean()), each)


def _repeated(caption, order):
    ngrams = [*zip(*(caption[k:] for k in range(order)))]
    return 1 - len(set(ngrams)) / len(ngrams) if ngrams else 0.0
