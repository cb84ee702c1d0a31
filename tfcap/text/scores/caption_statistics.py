"""Statistics of captions that need no references."""

import itertools
from collections.abc import Iterable
from collections.abc import Sequence

import numpy as np

from tfcap.text.ngrams import check_order
from tfcap.text.ngrams import distinct_pairs
from tfcap.text.ngrams import number_ngrams
from tfcap.text.ngrams import row_of_word
from tfcap.text.scores.comparison import number_words
from tfcap.text.scores.scores import Scores
from tfcap.text.scores.scores import check_caption_sets
from tfcap.text.scores.scores import check_captions

#: Words that no caption ends with.
BAD_ENDINGS = (
    *("a", "an", "the", "in", "for", "at", "of", "with", "before", "after"),
    *("on", "upon", "near", "to", "is", "are", "am"),
)


def bad_ending_rate(captions: Sequence[Sequence]) -> Scores:
    """Share of captions that end with an article, a preposition or a copula.

    Models trained for n-gram scores that do not count the end of the caption
    break off: a third of their captions or more end like "with a".

    Args:
        captions: List of tokenized captions.

    Returns:
        `Scores`: `each` is 1 for a caption with a bad ending, 0 for others
        (an empty one too); `corpus` is their mean.

    Raises:
        ValueError: If there are no captions.
        TypeError: If captions are not tokenized.

    Example:

    >>> from tfcap.text.scores.caption_statistics import bad_ending_rate
    >>> bad_ending_rate([["a", "bus"], ["a", "bus", "with", "a"]])
    Scores(corpus=0.5, each=[0, 1])

    Reference:

    - `count_bad` of self-critical.pytorch, `captioning/utils/eval_utils.py`
    """
    check_captions(captions, "captions")
    each = np.array(
        [float(len(c) > 0 and c[-1] in BAD_ENDINGS) for c in captions]
    )
    return Scores(float(each.mean()), each)


def distinct_n(sets: list, order: int = 1) -> Scores:
    """Div-n: distinct n-grams of the captions of an image, per word.

    ```python
    Div_n = len(distinct n-grams of all captions) / (1e-6 + number of words)
    ```

    The denominator counts words for every order, so that Div-2 of one caption
    without repetition is a little below 1.

    Args:
        sets: List of lists of tokenized captions, one list for every image.
        order: Integer, length of the n-grams: 1 for Div-1, 2 for Div-2.
            Defaults to `1`.

    Returns:
        `Scores` in [0, 1] of the sets; `corpus` is their mean. A set of empty
        captions gets 0.

    Raises:
        ValueError: If a list is empty, or `order` is not positive.
        TypeError: If captions are not tokenized.

    Example:

    >>> from tfcap.text.scores.caption_statistics import distinct_n
    >>> sets = [[["a", "red", "bus"], ["a", "bus"]], [["two", "dogs"]]]
    >>> distinct_n(sets).each.round(4)
    array([0.6, 1. ])
    >>> distinct_n(sets, order=2).each.round(4)
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


def novelty(
    captions: Sequence[Sequence], training: Iterable[Sequence]
) -> Scores:
    """Share of captions that are not in the training set.

    ```python
    novelty = len(set(captions) - set(training)) / len(captions)
    ```

    A novel caption of several images counts once in the corpus score, so that
    repeating it does not raise novelty.

    Args:
        captions: List of tokenized captions.
        training: Iterable of the tokenized captions of the training set.

    Returns:
        `Scores`: `corpus` as above, in [0, 1]; `each` is 1 for a caption that
        is not in the training set, 0 for others.

    Raises:
        ValueError: If there are no captions.
        TypeError: If captions are not tokenized.

    Example:

    >>> from tfcap.text.scores.caption_statistics import novelty
    >>> scores = novelty(
    ...     [["a", "bus"], ["a", "red", "bus"], ["a", "red", "bus"]],
    ...     training=[["a", "bus"], ["two", "dogs"]],
    ... )
    >>> round(scores.corpus, 4), scores.each
    (0.3333, array([0., 1., 1.]))

    Reference:

    - Novel sentences of self-critical.pytorch, `language_eval`, the words of
      a caption joined by single spaces
    """
    check_captions(captions, "captions")
    sentences = [tuple(words) for words in captions]
    # Only generated captions are kept: training sets are large.
    unseen = set(sentences)
    unseen.difference_update(map(tuple, training))
    each = np.array([float(words in unseen) for words in sentences])
    return Scores(len(unseen) / len(sentences), each)


def repeated_ngrams(captions: Sequence[Sequence], order: int = 2) -> Scores:
    """Share of the n-grams of each caption that occurred in it before.

    ```
    each = 1 - distinct n-grams of the caption / n-grams of the caption
    ```

    A reward that does not judge sentences is hacked by repetition: "a black
    and brown dog on a black and brown".

    Args:
        captions: List of tokenized captions.
        order: Integer, length of the n-grams. Defaults to `2`.

    Returns:
        `Scores` in `[0, 1)`, 0 for a caption that has no n-gram; `corpus` is
        the mean of `each`.

    Raises:
        ValueError: If there are no captions, or `order` is not positive.
        TypeError: If captions are not tokenized.

    Example:

    >>> from tfcap.text.scores.caption_statistics import repeated_ngrams
    >>> said = "a red bus and a red bus".split()
    >>> repeated_ngrams([said, said[:4]])
    Scores(corpus=0.166667, each=[0.333333, 0])

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


def vocabulary_size(captions: Sequence[Sequence]) -> int:
    """Number of distinct words in captions.

    Compare it only between captions of the same images, because more captions
    have more words. Also called gDiv-1.

    Args:
        captions: List of tokenized captions.

    Returns:
        Integer.

    Raises:
        ValueError: If there are no captions.
        TypeError: If captions are not tokenized.

    Example:

    >>> from tfcap.text.scores.caption_statistics import vocabulary_size
    >>> vocabulary_size([["a", "red", "bus"], ["a", "bus"]])
    3
    """
    check_captions(captions, "captions")
    return len(set().union(*captions))
