"""BLEU against references, and among the captions of an image."""

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tfcap.text.ngrams import check_order
from tfcap.text.scores.comparison import blocks
from tfcap.text.scores.comparison import compare_with_references
from tfcap.text.scores.comparison import compare_within
from tfcap.text.scores.comparison import count_runs
from tfcap.text.scores.comparison import earlier_occurrences
from tfcap.text.scores.scores import ResampledScores
from tfcap.text.scores.scores import Scores
from tfcap.text.scores.scores import check_caption_sets

NLTK = "nltk"
#: How an order without a match is treated: as pycocoevalcap does, or smoothed.
SMOOTHINGS = (None, "add_one", "floor", "exponential")
#: The constants of pycocoevalcap.
TINY, SMALL = 1e-15, 1e-9
#: What stands for zero matches with "floor".
FLOOR = 0.1


def bleu(
    candidates: Sequence[Sequence],
    references: Sequence[Sequence[Sequence]],
    max_order: int = 4,
    smoothing=None,
) -> list[Scores]:
    """BLEU-1 to BLEU-4 of captions against their references.

    BLEU-k is the geometric mean of the n-gram precisions of orders 1 to k,
    where an n-gram counts no more often than in the reference that holds it
    most often, times a penalty for being shorter than the reference closest
    in length (of two equally close, the shorter).

    ```python
    precision_k = (correct_k + 1e-15) / (guess_k + 1e-9)
    ratio = (length + 1e-15) / (closest_length + 1e-9)
    BLEU_k = prod(precision_1..k) ** (1 / k) * exp(min(1 - 1 / ratio, 0))
    ```

    The corpus score adds up the counts and lengths of all captions first; it
    is not the mean of the captions' scores.

    Args:
        candidates: List of tokenized captions.
        references: List of lists of tokenized captions: `references[i]` are
            those of `candidates[i]`. Words are compared with `==`, so they
            may be ids.
        max_order: Integer, longest n-gram. Defaults to `4`.
        smoothing: How an order without a match is treated, which matters for
            single captions. None uses the tiny constants above, as
            pycocoevalcap does; `"add_one"` adds 1 to matches and guesses of
            the orders above 1; `"floor"` counts 0.1 matches instead of none;
            `"exponential"` counts 1/2 match for the first order without one,
            1/4 for the second, and so on. With the last three, a caption
            without any matching word gets 0. With the last two, BLEU-k of a
            caption of fewer than k words is 0, even if it is perfect. Defaults
            to None.

    Returns:
        List of `max_order` `Scores` in [0, 1], BLEU-1 first.

    Raises:
        ValueError: If lists are empty or of different lengths, or `smoothing`
            is unknown.
        TypeError: If captions are not tokenized.

    Example:

    >>> candidates = [["two", "dogs", "play"], ["a", "red", "bus"]]
    >>> references = [
    ...     [["two", "dogs", "play"], ["dogs", "playing", "on", "grass"]],
    ...     [["a", "bus", "on", "the", "street"]],
    ... ]
    >>> scores = tfcap.text.bleu(candidates, references, max_order=2)
    >>> [round(score.corpus, 4) for score in scores]
    [0.5971, 0.4625]
    >>> scores[1].each.round(4)
    array([1., 0.])

    Reference:

    - Papineni et al., BLEU, ACL 2002; constants of pycocoevalcap, equal to it
    - Chen and Cherry, A Systematic Comparison of Smoothing Techniques for
      Sentence-Level BLEU, WMT 2014: its methods 2, 1 and 3 in this order
    """
    check_order(max_order)
    check_smoothing(smoothing)
    comparison = compare_with_references(candidates, references)
    counts = count_matches(comparison, max_order)
    each = bleu_of(counts, smoothing)
    total = BLEUCounts(*(x.sum(axis=-1, keepdims=True) for x in counts))
    corpus = bleu_of(total, smoothing)[:, 0]
    return [
        ResampledScores(
            float(corpus[k]),
            each[k],
            functools.partial(_resample, counts, smoothing, k),
        )
        for k in range(len(each))
    ]


def _resample(counts, smoothing, k, weights):
    """BLEU of order k + 1 of drawn corpora; see `Scores.resampled()`."""
    drawn = BLEUCounts(*(x @ weights.T for x in counts))
    return bleu_of(drawn, smoothing)[k]


def mutual_bleu(sets: list, max_order: int = 4, smoothing=None) -> list[Scores]:
    """mBLEU: BLEU of each caption of an image against the image's others.

    The first captions of all images are scored as one corpus, with the other
    captions of each image as references; then the second ones, and so on.
    mBLEU is the mean of these corpus scores. The lower, the more diverse.

    Args:
        sets: List of lists of tokenized captions, one list for every image,
            all of the same length of at least two.
        max_order: Integer, longest n-gram. Defaults to `4`.
        smoothing: See `bleu()`. Defaults to None, the constants of
            pycocoevalcap.

    Returns:
        List of `max_order` `Scores` in [0, 1], mBLEU-1 first. `each` is the
        mean BLEU of the single captions of every image; `corpus` is not its
        mean.

    Raises:
        ValueError: If a list is empty, or a set holds only one caption.
        TypeError: If captions are not tokenized.

    Example:

    >>> from tfcap.text.scores.bleu import mutual_bleu
    >>> sets = [
    ...     [["a", "man", "rides"], ["a", "man", "walks"]],
    ...     [["two", "dogs", "play"], ["dogs", "run"]],
    ... ]
    >>> scores = mutual_bleu(sets, max_order=2)
    >>> [round(score.corpus, 4) for score in scores]
    [0.4956, 0.3599]

    Reference:

    - Shetty et al., Speaking the Same Language, ICCV 2017; equal to
      `eval_div_stats` of self-critical.pytorch
    """
    check_order(max_order)
    check_smoothing(smoothing)
    check_caption_sets(sets, "sets", least=2)
    captions = len(sets[0])
    counts = count_matches(compare_within(sets), max_order)
    each = bleu_of(counts, smoothing).reshape(max_order, -1, captions)
    # The first captions of all images, then the second ones, and so on.
    corpora = BLEUCounts(
        *(x.reshape(*x.shape[:-1], -1, captions).sum(axis=-2) for x in counts)
    )
    corpus = bleu_of(corpora, smoothing).mean(axis=1)
    return [Scores(float(c), e) for c, e in zip(corpus, each.mean(axis=2))]


def self_bleu(
    sets: Sequence[Sequence[Sequence]], max_order: int = 4, smoothing=None
) -> list[Scores]:
    """Self-BLEU: mean BLEU of each caption of a set against all the others.

    Unlike `mutual_bleu()`, which scores a corpus, it is the mean of the scores
    of single captions. A set may be the captions of one image, or all captions
    of a model; time grows with the square of its size, so use about a thousand
    captions. The lower, the more diverse.

    Args:
        sets: List of lists of tokenized captions, at least two in each.
        max_order: Integer, longest n-gram. Defaults to `4`.
        smoothing: See `bleu()`; or `"nltk"`, NLTK's method 1, with which
            Self-BLEU is published: like `"floor"`, but an order for which a
            caption is too short also counts as 0.1 matches. Defaults to None,
            the constants of pycocoevalcap.

    Returns:
        List of `max_order` `Scores` in [0, 1], Self-BLEU-1 first; `corpus` is
        the mean of `each`.

    Raises:
        ValueError: If a list is empty, or a set holds only one caption.
        TypeError: If captions are not tokenized.

    Example:

    >>> from tfcap.text.scores.bleu import self_bleu
    >>> said = [["a", "red", "bus"], ["a", "red", "car"], ["two", "dogs"]]
    >>> scores = self_bleu([said], max_order=2)
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


class BLEUCounts(NamedTuple):
    """Counts that add up over captions."""

    correct: np.ndarray  # (K, m) clipped matches
    guess: np.ndarray  # (K, m) n-grams of the candidate
    length: np.ndarray  # (m,) words of the candidate
    reference_length: np.ndarray  # (m,) words of the closest reference


def count_matches(comparison, max_order: int) -> BLEUCounts:
    """Counts what BLEU needs for each caption of a comparison."""
    lengths = comparison.lengths[comparison.left]
    ranks = earlier_occurrences(comparison, max_order, comparison.left)
    correct = np.zeros((max_order, len(lengths)), np.int64)
    for block in blocks(comparison):
        counts = count_runs(block.equal, max_order)
        most = np.maximum.reduceat(counts, block.starts, axis=2)
        kept = ranks[:, block.words[:, block.starts]] < most
        correct[:, block.left] = kept.sum(axis=1)
    orders = np.arange(max_order)[:, None]
    return BLEUCounts(
        correct=correct,
        guess=np.maximum(lengths - orders, 0),
        length=lengths,
        reference_length=_closest_lengths(comparison, lengths),
    )


def _closest_lengths(comparison, lengths):
    """Length of the reference closest in length, the shorter one of two."""
    others = comparison.lengths[comparison.right]
    far = np.abs(others - np.repeat(lengths, comparison.sizes))
    base = others.max() + 1
    first = np.cumsum(comparison.sizes) - comparison.sizes
    return np.minimum.reduceat(far * base + others, first) % base


def bleu_of(counts: BLEUCounts, smoothing=None) -> NDArray:
    """BLEU of orders 1 to K from their counts.

    Returns:
        Float array of shape `(K, m)`.
    """
    correct, guess = counts.correct.astype(float), counts.guess.astype(float)
    if smoothing is None:
        precisions = (correct + TINY) / (guess + SMALL)
    else:
        precisions = _smoothed(correct, guess, smoothing)
    powers = 1.0 / np.arange(1, len(correct) + 1)[:, None]
    means = np.cumprod(precisions, axis=0) ** powers
    ratio = (counts.length + TINY) / (counts.reference_length + SMALL)
    return means * np.exp(np.minimum(1 - 1 / ratio, 0))


def _smoothed(correct, guess, smoothing):
    """Smoothed precisions, 0 only if no word matches or no n-gram exists."""
    matched = correct[0] > 0
    if smoothing == "add_one":
        correct[1:] += 1
        guess[1:] += 1
    elif smoothing == "floor":
        correct = np.where(correct == 0, FLOOR, correct)
    else:
        zeros = np.cumsum(correct == 0, axis=0)
        correct = np.where(correct == 0, 0.5**zeros, correct)
    precisions = correct / np.maximum(guess, 1)
    return precisions * (guess > 0) * matched


def check_smoothing(smoothing):
    """Raises unless `smoothing` is known."""
    if smoothing not in SMOOTHINGS:
        raise ValueError(
            f"`smoothing` must be one of {SMOOTHINGS}. Received: "
            f"smoothing={smoothing!r}."
        )
