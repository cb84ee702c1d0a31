"""Scores of text, as an evaluation computes them, as functions of strings."""

import functools
from collections.abc import Callable

from tfcap.text.rewards.score_texts import score_texts


def text_score(score: Callable) -> Callable:
    """Makes a score of words a function of strings, for a `TextReward`.

    Args:
        score: Callable, see `tfcap.text.rewards.score_texts.score_texts()`.

    Returns:
        Callable from a list of captions and a list, as long, of lists of
        captions to a float array.
    """
    return functools.partial(score_texts, score)
