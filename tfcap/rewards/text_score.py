"""Scores of text, as an evaluation computes them, as functions of strings."""

import numpy as np

from tfcap.text import caption_tokenize


def text_score(score):
    """Makes a score of words a function of strings, for a `TextReward`.

    Captions and references are split as `tfcap.text.evaluate_captions()`
    splits them. A caption without words or without references gets 0, unasked.

    Args:
        score: Callable from a list of tokenized captions and a list, as long,
            of lists of tokenized captions to `tfcap.text.Scores`.

    Returns:
        Callable from a list of captions and a list, as long, of lists of
        captions to a float array.
    """

    def function(captions, references):
        # Many captions are of one image.
        texts = {*captions}.union(*references)
        words = {text: caption_tokenize(text) for text in texts}
        each = np.zeros(len(captions))
        rows = [
            i
            for i, caption in enumerate(captions)
            if words[caption] and references[i]
        ]
        if rows:
            each[rows] = score(
                [words[captions[i]] for i in rows],
                [[words[text] for text in references[i]] for i in rows],
            ).each
        return each

    return function
