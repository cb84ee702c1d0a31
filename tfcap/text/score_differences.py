"""Differences of the scores of two sets of captions, with intervals."""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from tfcap._printed import printed
from tfcap.text.caption_report import TITLES
from tfcap.text.scores.scores import Scores

#: Number of draws, and entries of one block of their weights.
_SAMPLES, _CELLS = 1000, 2**22


class ScoreDifference(NamedTuple):
    """Difference of two corpus scores, and the bounds of its interval."""

    __repr__ = printed

    difference: float
    low: float
    high: float


def score_differences(
    ours: Mapping[str, Scores], theirs: Mapping[str, Scores]
) -> dict[str, ScoreDifference]:
    """Compares two sets of captions of the same images by paired bootstrap.

    Images are drawn with replacement, the same for both sets, and the corpus
    scores are computed on the drawn images: BLEU, METEOR and CHAIR-i from
    summed counts, others as means. Document frequencies remain those of all
    images.

    Args:
        ours: Dict of name to `Scores`, such as `CaptionReport.scores`.
        theirs: Dict of name to `Scores` of other captions of these images.

    Returns:
        Dict from the names in both to `ScoreDifference`, ours minus theirs,
        with the 2.5th and 97.5th percentiles of 1,000 draws as bounds. A
        difference is significant if 0 lies outside. If only one image has a
        score, the bounds are infinite. `"meteor_java"` is left out, because
        its corpus score cannot be resampled.

    Raises:
        ValueError: If the numbers of captions differ.

    Example:

    >>> references = [["A dog runs."], ["Two cats."], ["A red bus."]]
    >>> first, second = (
    ...     tfcap.text.evaluate_captions(said, references, ["rouge_l"]).scores
    ...     for said in (["A dog runs.", "Two cats.", "A bus."], ["A"] * 3)
    ... )
    >>> found = tfcap.text.score_differences(first, second)["rouge_l"]
    >>> print(np.round(found, 2))
    [0.62 0.31 1.  ]

    Reference:

    - Koehn, Statistical Significance Tests for Machine Translation
      Evaluation, EMNLP 2004
    """
    names = [x for x in ours if x in theirs and x != "meteor_java"]
    sizes = {len(x[name].each) for name in names for x in (ours, theirs)}
    if len(sizes) > 1:
        raise ValueError(
            "`ours` and `theirs` must be scores of the same images. Received: "
            f"scores of {sorted(sizes)} captions."
        )
    pairs = {name: (ours[name], theirs[name]) for name in names}
    if not pairs:
        return {}
    drawn = {name: [] for name in pairs}
    for weights in _draws(*sizes):
        for name, (first, second) in pairs.items():
            drawn[name].append(
                first.resampled(weights) - second.resampled(weights)
            )
    return {
        name: ScoreDifference(
            float(first.corpus - second.corpus),
            *_bounds(drawn[name], _known(first, second)),
        )
        for name, (first, second) in pairs.items()
    }


def _known(*scores):
    """Number of images with a score, the smaller of the two."""
    return min(np.count_nonzero(~np.isnan(x.each)) for x in scores)


def _bounds(drawn, images):
    """Percentiles of the draws with a score."""
    values = np.concatenate(drawn)
    values = values[~np.isnan(values)]
    if not len(values):
        return math.nan, math.nan
    if images == 1:
        # All draws are equal, and say nothing about other images.
        return -math.inf, math.inf
    return tuple(np.quantile(values, [0.025, 0.975]).tolist())


def differences_table(differences: Mapping[str, ScoreDifference]) -> str:
    """Formats differences as text, a line for each score.

    Args:
        differences: Result of `score_differences()`.

    Example:

    >>> from tfcap.text.score_differences import ScoreDifference
    >>> from tfcap.text.score_differences import differences_table
    >>> some = {"cider_d": ScoreDifference(0.02, -0.01, 0.05)}
    >>> print(differences_table(some))
              difference     95 % interval
    CIDEr-D      +0.0200   -0.0100  +0.0500
    """
    lines = [f"{'':8}  {'difference':>10}     95 % interval"]
    for name, title in TITLES.items():
        if name in differences:
            difference, low, high = differences[name]
            lines.append(
                f"{title:8}  {difference:+10.4f}  {low:+8.4f} {high:+8.4f}"
            )
    return "\n".join(lines)


def _draws(images):
    """Yields arrays `(d, images)`, how often each image is drawn."""
    rng, step = np.random.default_rng(0), max(1, _CELLS // images)
    for start in range(0, _SAMPLES, step):
        count = min(step, _SAMPLES - start)
        weights = np.empty((count, images))
        for row in weights:
            drawn = rng.integers(images, size=images)
            row[:] = np.bincount(drawn, minlength=images)
        yield weights
