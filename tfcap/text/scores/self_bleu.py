"""Self-BLEU: how alike the captions of a set are, caption by caption."""

import numpy as np

from tfcap.text.ngrams import check_order
from tfcap.text.scores.bleu_counts import bleu_of
from tfcap.text.scores.bleu_counts import count_matches
from tfcap.text.scores.checks import check_caption_sets
from tfcap.text.scores.comparison import compare_within
from tfcap.text.scores.scores import Scores
from tfcap.text.scores.smoothing import check_smoothing

NLTK = "nltk"


def self_bleu(sets, max_order=4, smoothing=None):
    """Self-BLEU: mean BLEU of each caption of a set against all the others.

    Where `mutual_bleu()` scores a corpus, this is the mean of the scores of
    single captions. A set may be the captions of one image, or everything a
    model says, as one set; the work grows with the square of its size, so
    take a thousand captions. The lower, the more diverse.

    Args:
        sets: List of lists of tokenized captions, at least two in each.
        max_order: Integer, longest n-gram. Defaults to `4`.
        smoothing: See `bleu()`; or `"nltk"`, its method 1, with which
            Self-BLEU is published: `"floor"`, but an order that a caption is
            too short for counts as 0.1 matches, too. Defaults to None, the
            constants of pycocoevalcap.

    Returns:
        List of `max_order` `Scores` in [0, 1], Self-BLEU-1 first; `corpus` is
        the mean of `each`.

    Raises:
        ValueError: If a list is empty or a set holds one caption only.
        TypeError: If captions are not tokenized.

    Example:

    >>> said = [["a", "red", "bus"], ["a", "red", "car"], ["two", "dogs"]]
    >>> scores = tfcap.text.self_bleu([said], max_order=2)
    >>> [round(score.corpus, 4) for score in scores]
    [0.4444, 0.3849]

    Reference:

    - Zhu et al., Texygen: A Benchmarking Platform for Text Generation Models,
      SIGIR 2018; its code and that of Chaffin et al., Distinctive Image
      Captioning, 2024, take `max_order=5`, `smoothing="nltk"` and, as one
      set, the first of all captions (1000 in the latter)
    """
    check_order(max_order)
    if smoothing != NLTK:
        check_smoothing(smoothing)
    check_caption_sets(sets, "sets", least=2)
    counts = count_matches(compare_within(sets), max_order)
    if smoothing == NLTK:
        counts = counts._replace(guess=np.maximum(counts.guess, 1))
        smoothing = "floor"
    sizes = np.array([len(captions) for captions in sets])
    sums = np.add.reduceat(
        bleu_of(counts, smoothing), np.cumsum(sizes) - sizes, axis=1
    )
    return [Scores(float(e.mean()), e) for e in sums / sizes]
