"""What BLEU is made of: matches, guesses and lengths."""

from typing import NamedTuple

import numpy as np

from tfcap.text.scores.blocks import blocks
from tfcap.text.scores.blocks import earlier_occurrences
from tfcap.text.scores.smoothing import FLOOR
from tfcap.text.scores.smoothing import SMALL
from tfcap.text.scores.smoothing import TINY


class BLEUCounts(NamedTuple):
    """Counts that add up over captions."""

    correct: np.ndarray  # (K, m) clipped matches
    guess: np.ndarray  # (K, m) n-grams of the candidate
    length: np.ndarray  # (m,) words of the candidate
    reference_length: np.ndarray  # (m,) words of the closest reference

    def total(self):
        """The counts of the whole, each with a last axis of size 1."""
        return BLEUCounts(*(x.sum(axis=-1, keepdims=True) for x in self))


def count_matches(comparison, max_order):
    """Counts what BLEU needs for each caption of a comparison.

    Args:
        comparison: A `Comparison`.
        max_order: Integer, longest n-gram.

    Returns:
        `BLEUCounts` of each of `comparison.left`.
    """
    lengths = comparison.lengths[comparison.left]
    ranks = earlier_occurrences(comparison, max_order, comparison.left)
    correct = np.zeros((max_order, len(lengths)), np.int64)
    for block in blocks(comparison):
        counts = block.count_runs(max_order)
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
    """Length of the reference closest in length, of two the shorter one."""
    others = comparison.lengths[comparison.right]
    far = np.abs(others - np.repeat(lengths, comparison.sizes))
    base = others.max() + 1
    first = np.cumsum(comparison.sizes) - comparison.sizes
    return np.minimum.reduceat(far * base + others, first) % base


def bleu_of(counts, smoothing=None):
    """BLEU of orders 1 to K from their counts.

    Args:
        counts: `BLEUCounts`.
        smoothing: One of `SMOOTHINGS`.

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
    """Precisions without zeros, but where nothing at all matches."""
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
