"""Controls of rankings, and statistics of answers."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from tfcap.text import word_tokenize


def other_images(features, dialogs: int, seed: int = 0):
    """Features in which every dialog has the image of another dialog.

    A network that uses images ranks worse with these. Each image is used once,
    and none by its own dialog.

    Args:
        dialogs: Integer, M, at least 2.

    Returns:
        Function from rows `(B,)` to features `(B, P, D)`.

    Example:

    >>> from reproduce.visdial.measures import other_images
    >>> features = np.arange(2.0)[:, None, None]
    >>> other_images(features, 2)(np.array([0, 1])).ravel()
    array([1., 0.], dtype=float32)
    """
    # One cycle through all dialogs in random order has no fixed point.
    order = np.random.default_rng(seed).permutation(dialogs)
    other = np.empty_like(order)
    other[order] = np.roll(order, 1)

    def others(rows):
        rows = other[np.asarray(rows)]
        chosen = features(rows) if callable(features) else features[rows]
        return np.asarray(chosen, "float32")

    return others


def answer_statistics(
    answers: Iterable[str], corpus: Iterable[str]
) -> dict[str, Any]:
    """Measures the diversity, novelty and length of generated answers.

    A generator trained for likelihood alone falls back on a few safe answers.
    Answers are compared word by word after tokenization, so that case and
    spacing do not count.

    Args:
        answers: Strings, the generated answers, at least one.
        corpus: Strings, the answers of the training split.

    Returns:
        Dict of `"count"`, `"distinct"` (number of different answers),
        `"distinct_share"` (of the count), `"corpus_share"` (share of answers
        that occur in the corpus), `"mean_length"` in words and
        `"yes_no_share"` (share of answers that are exactly "yes" or "no").

    Example:

    >>> from reproduce.visdial.measures import answer_statistics
    >>> answer_statistics(
    ...     ["yes", "Yes", "a red one", "two"], corpus=["yes", "no"]
    ... )
    {'count': 4, 'distinct': 3, 'distinct_share': 0.75, 'corpus_share': 0.5,
     'mean_length': 1.5, 'yes_no_share': 0.5}

    Reference:

    - Lu et al., Best of Both Worlds, NIPS 2017, section 5.1 and table 3,
      compare answers of generators by their variety and length
    """
    said = [tuple(word_tokenize(answer)) for answer in answers]
    known = {tuple(word_tokenize(answer)) for answer in corpus}
    count, distinct = len(said), len(set(said))
    return {
        "count": count,
        "distinct": distinct,
        "distinct_share": distinct / count,
        "corpus_share": sum(words in known for words in said) / count,
        "mean_length": sum(map(len, said)) / count,
        "yes_no_share": sum(x in (("yes",), ("no",)) for x in said) / count,
    }
