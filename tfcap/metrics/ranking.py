"""Ranks of the truth among candidates, and their metrics, in NumPy."""

import numpy as np


def candidate_ranks(scores, truth, valid=None):
    """Ranks the true candidate of each row by its score.

    ```
    better = number of candidates that score above the truth
    equal  = number of other candidates that score the same
    rank   = 1 + better + equal / 2
    ```

    A tie gets its mean rank, so that a scorer that gives all candidates one
    score is at chance level.

    Args:
        scores: Float array of shape `(..., N)`, higher is better.
        truth: Integer array of shape `(...)`, the true candidate's index; -1
            for an absent row.
        valid: Boolean array of shape `(..., N)`, false for candidates that
            take no part. Defaults to `None`, all do.

    Returns:
        Float64 array of shape `(...)`, 1 is best; NaN for absent rows.

    Raises:
        ValueError: If the score of a valid candidate is NaN, or if `truth` is
            not the index of a valid candidate.

    Example:

    >>> scores = np.array([[0.1, 0.9, 0.5], [0.3, 0.3, 0.3]])
    >>> from tfcap.metrics.ranking import candidate_ranks
    >>> print(candidate_ranks(scores, [2, 0]))
    [2. 2.]

    Reference:

    - Lu et al.'s evaluation code counts only strictly better candidates, so
      that equal scores for all would be a perfect ranking
    """
    scores, truth = np.asarray(scores), np.asarray(truth)
    if scores.shape[:-1] != truth.shape:
        raise ValueError(
            "`truth` must have the shape of the scores without their last "
            f"axis. Received: scores.shape={scores.shape}, "
            f"truth.shape={truth.shape}."
        )
    if truth.size and (truth.min() < -1 or truth.max() >= scores.shape[-1]):
        raise ValueError(
            f"`truth` must be in [-1, {scores.shape[-1]}). "
            f"Received: values from {truth.min()} to {truth.max()}."
        )
    present = truth >= 0
    valid = np.broadcast_to(True if valid is None else valid, scores.shape)
    takes_part = valid.astype(bool) & present[..., None]
    _refuse_nan(scores, takes_part)
    index = np.maximum(truth, 0)[..., None]
    if not np.take_along_axis(takes_part, index, -1)[..., 0][present].all():
        raise ValueError(
            "`valid` must include the truth of each row. "
            "Received: a row whose true candidate is invalid."
        )
    own = np.take_along_axis(scores, index, -1)
    better = (takes_part & (scores > own)).sum(-1)
    equal = (takes_part & (scores == own)).sum(-1) - 1
    return np.where(present, tied_rank(better, equal), np.nan)


def ordinal_ranks(scores, valid=None):
    """Ranks all candidates of each row by score, without ties.

    Challenges require this format: a permutation of 1..N for each question, 1
    for the best. Candidates with equal scores are ranked in the order of the
    list.

    Args:
        scores: Float array of shape `(..., N)`, higher is better.
        valid: Boolean array of shape `(..., N)`, false for candidates that
            take no part. Defaults to `None`, all do.

    Returns:
        Int32 array of shape `(..., N)`: the rank of each candidate among the
        valid ones of its row; 0 for the others.

    Raises:
        ValueError: If the score of a valid candidate is NaN.

    Example:

    >>> scores = np.array([[0.1, 0.9, 0.5, 0.9]])
    >>> print(tfcap.metrics.ordinal_ranks(scores))
    [[4 1 3 2]]
    """
    scores = np.asarray(scores)
    valid = np.broadcast_to(True if valid is None else valid, scores.shape)
    valid = valid.astype(bool)
    _refuse_nan(scores, valid)
    # Stable, and invalid candidates come after a valid one of minus infinity.
    # Reversed twice, since unsigned scores cannot be negated.
    ascending = np.lexsort((scores[..., ::-1], valid[..., ::-1]))
    order = scores.shape[-1] - 1 - ascending[..., ::-1]
    ranks = np.empty(scores.shape, np.int32)
    places = np.arange(1, scores.shape[-1] + 1, dtype=np.int32)
    np.put_along_axis(ranks, order, np.broadcast_to(places, order.shape), -1)
    return np.where(valid, ranks, np.int32(0))


def tied_rank(better, equal, truths=1):
    """Computes the expected rank of the first of several tied truths.

    ```
    rank = 1 + better + equal / (truths + 1)
    ```

    In a random order, the truths divide the `equal` wrong candidates into
    `truths + 1` parts of equal expected length; one part precedes the first
    truth.
    """
    return 1.0 + better + 1 / (1 + np.asarray(truths)) * equal


def ndcg(scores, relevance):
    """Normalized discounted cumulative gain of each row, as in VisDial v1.0.

    ```
    k    = number of candidates with relevance > 0
    dcg  = sum of relevance / log2(1 + rank) over the k best-scored candidates
    ndcg = dcg / (dcg of the candidates sorted by relevance)
    ```

    Candidates with equal scores share the mean discount of their ranks, the
    average over random orders. The challenge's code breaks ties by position.

    Args:
        scores: Float array of shape `(..., N)`, higher is better.
        relevance: Float array of shape `(..., N)`, at least 0; negative for a
            candidate to ignore.

    Returns:
        Float64 array of shape `(...)` in `[0, 1]`; NaN for rows without a
        relevant candidate.

    Raises:
        ValueError: If the score of a candidate that is not ignored is NaN.

    Example:

    >>> scores, relevance = np.array([[3, 2, 1]]), np.array([[0.0, 1.0, 0.5]])
    >>> from tfcap.metrics.ranking import ndcg
    >>> print(ndcg(scores, relevance).round(4))
    [0.4796]

    Reference:

    - Das et al., Visual Dialog, CVPR 2017, and the Visual Dialog Challenge
      2018, where the metric was introduced
    """
    scores = np.asarray(scores, "float64")
    relevance = np.asarray(relevance, "float64")
    if scores.shape != relevance.shape:
        raise ValueError(
            "`relevance` must have the shape of the scores. Received: "
            f"relevance.shape={relevance.shape}, scores.shape={scores.shape}."
        )
    _refuse_nan(scores, relevance >= 0)
    n = scores.shape[-1]
    rows = zip(scores.reshape(-1, n), relevance.reshape(-1, n))
    values = [_row_ndcg(*row) for row in rows]
    return np.array(values, "float64").reshape(scores.shape[:-1])


def _row_ndcg(scores, relevance):
    scores, relevance = scores[relevance >= 0], relevance[relevance >= 0]
    relevant = relevance > 0
    if not relevant.any():
        return np.nan
    k = np.count_nonzero(relevant)
    discounts = 1 / np.log2(np.arange(2, k + 2))
    gained = np.concatenate([[0], np.cumsum(discounts)])
    ordered = np.sort(-scores)
    scores, relevance = scores[relevant], relevance[relevant]
    first = np.searchsorted(ordered, -scores, "left")
    last = np.searchsorted(ordered, -scores, "right")
    share = gained[np.minimum(last, k)] - gained[np.minimum(first, k)]
    best = np.sort(relevance)[::-1][:k]
    return (relevance * share / (last - first)).sum() / (
        best @ discounts[: len(best)]
    )


def _refuse_nan(scores, takes_part):
    bad = np.isnan(scores) & takes_part
    if bad.any():
        raise ValueError(
            "`scores` must not be NaN: a NaN has no rank. Received: "
            f"{bad.sum()} NaN of {bad.size}, the first at index "
            f"{tuple(map(int, np.argwhere(bad)[0]))}."
        )
