"""BLEU of captions."""

from tfcap.text.ngrams import check_order
from tfcap.text.scores.bleu_counts import bleu_of
from tfcap.text.scores.bleu_counts import count_matches
from tfcap.text.scores.comparison import compare_with_references
from tfcap.text.scores.scores import Scores
from tfcap.text.scores.smoothing import check_smoothing


def bleu(candidates, references, max_order=4, smoothing=None):
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
            those of `candidates[i]`. Words are compared with `==`, so ids go
            as well.
        max_order: Integer, longest n-gram. Defaults to `4`.
        smoothing: How an order without a match is treated, which decides
            about single captions. None takes the tiny constants above, as
            pycocoevalcap does; `"add_one"` adds 1 to matches and guesses of
            the orders above 1; `"floor"` counts 0.1 matches instead of none;
            `"exponential"` counts 1/2 match for the first order without one,
            1/4 for the second, and so on. With the last three a caption
            without any matching word gets 0. Defaults to None.

    Returns:
        List of `max_order` `Scores` in [0, 1], BLEU-1 first.

    Raises:
        ValueError: If lists are empty or of different lengths, or for another
            `smoothing`.
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
    return bleu_scores(count_matches(comparison, max_order), smoothing)


def bleu_scores(counts, smoothing=None):
    """`Scores` of every order, from the counts of every caption."""
    each = bleu_of(counts, smoothing)
    corpus = bleu_of(counts.total(), smoothing)[:, 0]
    return [Scores(float(c), e) for c, e in zip(corpus, each)]
