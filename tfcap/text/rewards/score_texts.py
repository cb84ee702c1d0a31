"""Scores of captions that are strings, each text split once."""

from collections.abc import Callable
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tfcap._io.file_limits import limit
from tfcap.text.caption_tokenization import caption_tokenize


def score_texts(
    score: Callable, captions: Sequence[str], references: Sequence
) -> NDArray:
    """Scores captions by their references.

    Captions and references are split as `tfcap.text.evaluate_captions()`
    splits them. A caption without words, without references, or of more words
    than `TFCAP_MAX_WORDS` gets 0, unasked.

    Args:
        score: Callable from a list of tokenized captions and a list, as long,
            of lists of tokenized captions to `Scores`.
        captions: List of n strings.
        references: List of n sequences of strings.

    Returns:
        Float64 array of shape `(n,)`.

    Example:

    >>> from tfcap.text.rewards.score_texts import score_texts
    >>> score_texts(tfcap.text.rouge_l, ["A cat.", ""], [["a cat"], ["a dog"]])
    array([1., 0.])
    """
    words = {
        text: caption_tokenize(text) for text in {*captions}.union(*references)
    }
    # Many captions are of one image, whose references are then one list.
    several = {tuple(texts): [] for texts in references}
    for texts, split in several.items():
        split += [words[text] for text in texts]
    most, each = limit("TFCAP_MAX_WORDS"), np.zeros(len(captions))
    rows = [
        i
        for i, caption in enumerate(captions)
        if 0 < len(words[caption]) <= most and len(references[i])
    ]
    if rows:
        each[rows] = score(
            [words[captions[i]] for i in rows],
            [several[tuple(references[i])] for i in rows],
        ).each
    return each
