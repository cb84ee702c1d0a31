"""Weighted sums of scores that have a name of their own."""

import functools

import numpy as np

from tfcap.text.scores.scores import ResampledScores
from tfcap.text.scores.scores import Scores

#: Weights of BCMR; those of BLEU are of BLEU-1 to BLEU-4.
BCMR_BLEU_WEIGHTS = (0.5, 0.5, 1.0, 1.0)
BCMR_WEIGHTS = {"cider_d": 1.0, "meteor": 5.0, "rouge_l": 2.0}
#: Weights of SPIDEr as a reward; the score is half of that.
SPIDER_WEIGHTS = {"cider_d": 1.0, "spice": 1.0}


def spider(cider_d: Scores, spice: Scores) -> Scores:
    """SPIDEr: the mean of CIDEr-D and SPICE.

    CIDEr-D asks for fluency, SPICE for the content. There is no
    SPIDEr without SPICE: what takes its place elsewhere is another score.

    Args:
        cider_d: `Scores` of captions.
        spice: `Scores` of the same captions.

    Returns:
        `Scores`, in `[0, 5.5]`.

    Example:

    >>> from tfcap.text.scores.scores import Scores
    >>> from tfcap.text.scores.mixtures import spider
    >>> cider_d = Scores(1.0, np.array([0.5, 1.5]))
    >>> spice = Scores(0.2, np.array([0.1, 0.3]))
    >>> print(spider(cider_d, spice).each)
    [0.3 0.9]

    Reference:

    - Liu et al., Improved Image Captioning via Policy Gradient Optimization
      of SPIDEr, ICCV 2017. The paper trains on the sum; as a metric it is
      reported as the mean (aac-metrics and the DCASE challenges).
    """
    weights = SPIDER_WEIGHTS["cider_d"] / 2, SPIDER_WEIGHTS["spice"] / 2
    return _mix(zip((cider_d, spice), weights))


def bcmr(
    bleu: list, cider_d: Scores, meteor: Scores, rouge_l: Scores
) -> Scores:
    """BCMR: a weighted sum of the scores of the COCO caption evaluation.

    ```
    0.5 * BLEU-1 + 0.5 * BLEU-2 + BLEU-3 + BLEU-4
        + CIDEr-D + 5 * METEOR + 2 * ROUGE-L
    ```

    The weights bring scores of unlike size to like size.

    Args:
        bleu: List of four `Scores`, BLEU-1 to BLEU-4, of captions.
        cider_d: `Scores` of the same captions.
        meteor: `Scores` of the same captions.
        rouge_l: `Scores` of the same captions.

    Returns:
        `Scores`, in `[0, 20]`.

    Example:

    >>> from tfcap.text.scores.scores import Scores
    >>> from tfcap.text.scores.mixtures import bcmr
    >>> one = Scores(1.0, np.array([1.0, 0.5]))
    >>> print(bcmr([one] * 4, one, one, one).each)
    [11.   5.5]

    Reference:

    - Liu et al., Improved Image Captioning via Policy Gradient Optimization
      of SPIDEr, ICCV 2017, who call the sum BCMR
    """
    parts = *bleu, cider_d, meteor, rouge_l
    return _mix(zip(parts, (*BCMR_BLEU_WEIGHTS, *BCMR_WEIGHTS.values())))


def _mix(parts):
    """Weighted sum of parts, pairs of `Scores` and a weight."""
    parts = list(parts)
    return ResampledScores(
        float(sum(weight * part.corpus for part, weight in parts)),
        np.sum([weight * part.each for part, weight in parts], axis=0),
        functools.partial(_resample, parts),
    )


def _resample(parts, weights):
    """Mixtures of drawn corpora; see `Scores.resampled()`."""
    return sum(weight * part.resampled(weights) for part, weight in parts)
