"""How many captions a model did not find in its training set."""

import numpy as np

from tfcap.text.scores.checks import check_captions
from tfcap.text.scores.scores import Scores


def novelty(captions, training):
    """Share of captions that are not those of the training set.

    ```python
    novelty = len(set(captions) - set(training)) / len(captions)
    ```

    A novel caption that is said of several images counts once in the corpus
    score, so that a model that repeats itself is not novel.

    Args:
        captions: List of tokenized captions.
        training: Iterable of tokenized captions, those of the training set.

    Returns:
        `Scores`: `corpus` as above, in [0, 1]; `each` is 1 for a caption that
        is not in the training set, 0 for others.

    Raises:
        ValueError: If there are no captions.
        TypeError: If captions are not tokenized.

    Example:

    >>> scores = tfcap.text.novelty(
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
    if isinstance(training, str):
        raise TypeError(
            "`training` must hold tokenized captions. Received: "
            f"training={training!r}."
        )
    said = [tuple(words) for words in captions]
    # Only what is said is kept: training sets are large.
    unseen = set(said)
    for words in training:
        if isinstance(words, str):
            raise TypeError(
                "`training` must hold tokenized captions, lists of words. "
                f"Received: {words!r} among them. Split it with "
                "`tfcap.text.caption_tokenize()`."
            )
        unseen.discard(tuple(words))
    each = np.array([float(words in unseen) for words in said])
    return Scores(len(unseen) / len(said), each)
