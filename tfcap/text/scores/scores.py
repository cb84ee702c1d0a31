"""Results of score functions, weighted sums of them, and argument checks."""

import functools
from collections.abc import Callable
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tfcap._io.file_limits import limit
from tfcap._io.file_limits import raise_limit
from tfcap._printed import printed


class Scores(NamedTuple):
    """One score of a corpus and of each of its captions."""

    __repr__ = printed

    #: Score of the corpus, not always the mean of `each`: see the function.
    corpus: float
    #: Array of shape `(n,)`, dtype float64: score of each caption, or of each
    #: set of captions, in the order in which they were given.
    each: np.ndarray

    def resampled(self, weights: np.ndarray) -> np.ndarray:
        """Returns the scores of corpora drawn from this one.

        Captions without a score (NaN) are left out.

        Args:
            weights: Array of shape `(draws, n)`, how often each of n captions
                was drawn.

        Returns:
            Float array of shape `(draws,)`.
        """
        known = ~np.isnan(self.each)
        weights = weights[:, known]
        total = weights.sum(axis=1)
        means = weights @ self.each[known] / np.maximum(total, 1)
        return np.where(total > 0, means, np.nan)


class ResampledScores(Scores):
    """Scores whose corpus score is not the mean of its captions'.

    Args:
        resample: Callable that `resampled()` calls.
    """

    def __new__(cls, corpus: float, each: np.ndarray, resample: Callable):
        scores = super().__new__(cls, corpus, each)
        scores.resampled = resample
        return scores

    def __getnewargs__(self):
        return (*self, self.resampled)


def check_captions(captions, name: str):
    """Raises unless `captions` is a non-empty list of tokenized captions."""
    _check_sequence(captions, name, "tokenized captions")
    for i, caption in enumerate(captions):
        if isinstance(caption, str) or not hasattr(caption, "__len__"):
            raise TypeError(
                f"`{name}` must hold tokenized captions, lists of words. "
                f"Received: {name}[{i}]={caption!r}. Split it with "
                "`tfcap.text.caption_tokenize()`."
            )


def check_caption_sets(sets, name: str, least: int = 1):
    """Raises unless `sets` holds sequences of tokenized captions."""
    _check_sequence(sets, name, "lists of tokenized captions")
    for i, captions in enumerate(sets):
        check_captions(captions, f"{name}[{i}]")
        if len(captions) < least:
            raise ValueError(
                f"`{name}` must hold at least {least} captions in every set. "
                f"Received: {name}[{i}] with {len(captions)}. Sample more "
                "captions of an image."
            )


def check_aligned(candidates, references):
    """Raises unless there are references for every candidate."""
    check_captions(candidates, "candidates")
    check_caption_sets(references, "references")
    if len(candidates) != len(references):
        raise ValueError(
            "`candidates` and `references` must have the same length, with "
            "the references of `candidates[i]` in `references[i]`. Received: "
            f"{len(candidates)} candidates, {len(references)} lists of "
            "references."
        )


def check_lengths(candidates: Sequence[Sequence], references: list):
    """Raises if a caption is so long that scores of it take hours.

    METEOR's time grows nearly with the square of the length if the same few
    words are repeated: one word, 1,000 times in two captions, takes four
    seconds.
    """
    most = limit("TFCAP_MAX_WORDS")
    for i, (caption, several) in enumerate(zip(candidates, references)):
        if max(len(caption), *map(len, several), 0) <= most:
            continue
        name, words = f"captions[{i}]", caption
        for k, other in enumerate(several):
            if len(other) > len(words):
                name, words = f"references[{i}][{k}]", other
        start = " ".join(map(str, words[:5]))
        raise ValueError(
            f"`{name}` must have at most {most:,} words. Received: "
            f"{len(words):,} words, {start!r:.80} and so on. "
            f"{raise_limit('TFCAP_MAX_WORDS')}"
        )


def _check_sequence(value, name, content):
    constraint = f"`{name}` must be a non-empty list of {content}."
    if isinstance(value, str) or not isinstance(value, Sequence | np.ndarray):
        raise TypeError(f"{constraint} Received: {name}={value!r}.")
    if not len(value):
        raise ValueError(f"{constraint} Received: {name}={value!r}.")


#: Weights of BCMR, for BLEU-1 to BLEU-4 and the other scores.
BCMR_BLEU_WEIGHTS = (0.5, 0.5, 1.0, 1.0)
BCMR_WEIGHTS = {"cider_d": 1.0, "meteor": 5.0, "rouge_l": 2.0}
#: Weights of SPIDEr as a reward; the score is half of that.
SPIDER_WEIGHTS = {"cider_d": 1.0, "spice": 1.0}


def spider(cider_d: Scores, spice: Scores) -> Scores:
    """SPIDEr: the mean of CIDEr-D and SPICE.

    CIDEr-D rewards fluency, SPICE content. With a substitute for SPICE, it is
    another score.

    Args:
        cider_d: `Scores` of captions.
        spice: `Scores` of the same captions.

    Returns:
        `Scores`, in `[0, 5.5]`.

    Example:

    >>> from tfcap.text.scores.scores import Scores
    >>> from tfcap.text.scores.scores import spider
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

    The weights bring the scores to similar scales.

    Args:
        bleu: List of four `Scores`, BLEU-1 to BLEU-4, of captions.
        cider_d: `Scores` of the same captions.
        meteor: `Scores` of the same captions.
        rouge_l: `Scores` of the same captions.

    Returns:
        `Scores`, in `[0, 20]`.

    Example:

    >>> from tfcap.text.scores.scores import Scores
    >>> from tfcap.text.scores.scores import bcmr
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
