"""Div-1 and Div-2: how many of the words said of an image differ."""

import itertools

import numpy as np

from tfcap.text.ngrams import check_order
from tfcap.text.ngrams import distinct_pairs
from tfcap.text.ngrams import number_ngrams
from tfcap.text.ngrams import row_of_word
from tfcap.text.scores.checks import check_caption_sets
from tfcap.text.scores.comparison import number_words
from tfcap.text.scores.scores import Scores


def distinct_n(sets, order=1):
    """Div-n: distinct n-grams of the captions of an image, per word.

    ```python
    Div_n = len(distinct n-grams of all captions) / (1e-6 + number of words)
    ```

    The denominator counts words for every order, so that Div-2 of one caption
    without repetition is a little below 1.

    Args:
        sets: List with, for every image, the list of its tokenized captions.
        order: Integer, length of the n-grams: 1 for Div-1, 2 for Div-2.
            Defaults to `1`.

    Returns:
        `Scores` in [0, 1] of the sets; `corpus` is their mean. A set of empty
        captions gets 0.

    Raises:
        ValueError: If a list is empty, or `order` is not positive.
        TypeError: If captions are not tokenized.

    Example:

    >>> sets = [[["a", "red", "bus"], ["a", "bus"]], [["two", "dogs"]]]
    >>> tfcap.text.distinct_n(sets).each.round(4)
    array([0.6, 1. ])
    >>> tfcap.text.distinct_n(sets, order=2).each.round(4)
    array([0.6, 0.5])

    Reference:

    - Shetty et al., Speaking the Same Language, ICCV 2017; the formula of
      self-critical.pytorch, `captioning/utils/div_utils.py`
    """
    check_order(order, name="order")
    check_caption_sets(sets, "sets")
    ids, lengths = number_words(list(itertools.chain.from_iterable(sets)))
    numbers = number_ngrams(ids, lengths, order)[0][-1]
    set_of_row = np.repeat(np.arange(len(sets)), [len(s) for s in sets])
    set_of_word = set_of_row[row_of_word(lengths)]
    starts = numbers >= 0
    _, holders = distinct_pairs(numbers[starts], set_of_word[starts])
    distinct = np.bincount(holders, minlength=len(sets))
    words = np.bincount(set_of_word, minlength=len(sets))
    each = distinct / (1e-6 + words)
    return Scores(float(each.mean()), each)
