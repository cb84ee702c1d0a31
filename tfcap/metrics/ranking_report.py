"""Ranking metrics of a whole split, batch by batch."""

import numpy as np

from tfcap.metrics.ranking import candidate_ranks
from tfcap.metrics.ranking import check_ties
from tfcap.metrics.ranking import ndcg

RECALLS = (1, 5, 10)


class RankingReport:
    """Accumulates the table row that dialog papers print.

    Holds sums only, so a split of any size fits.

    Args:
        ties: `"mean"`, `"best"` or `"worst"`, see `candidate_ranks()`.
            Defaults to `"mean"`.

    Raises:
        ValueError: If `ties` is none of these.

    Example:

    >>> report = tfcap.metrics.RankingReport()
    >>> report.add(np.array([[0.1, 0.9], [0.8, 0.2]]), truth=[1, 1])
    >>> report.result()
    {'mrr': 0.75, 'r@1': 50.0, 'r@5': 100.0, 'r@10': 100.0, 'mean_rank': 1.5,
     'count': 2}
    """

    def __init__(self, ties="mean"):
        check_ties(ties)
        self.ties = ties
        self._sums = np.zeros(2 + len(RECALLS))
        self._count = 0
        self._ndcg_sum = 0.0
        self._ndcg_count = 0

    def add(self, scores, truth, relevance=None, valid=None):
        """Adds a batch.

        Args:
            scores: Float array of shape `(..., N)`.
            truth: Integer array of shape `(...)`, -1 for an absent row.
            relevance: Float array of shape `(..., N)`, optional; rows in which
                nothing is relevant have no NDCG.
            valid: Boolean array of shape `(..., N)`, optional.
        """
        ranks = candidate_ranks(scores, truth, self.ties, valid)
        ranks = ranks[~np.isnan(ranks)]
        hits = [np.sum(ranks <= k) for k in RECALLS]
        self._sums += [np.sum(1 / ranks), *hits, ranks.sum()]
        self._count += ranks.size
        if relevance is not None:
            if valid is not None:
                relevance = np.where(valid, relevance, -1)
            gains = ndcg(scores, relevance)
            gains = gains[~np.isnan(gains)]
            self._ndcg_sum += gains.sum()
            self._ndcg_count += gains.size

    def result(self):
        """Returns the metrics of everything added so far.

        Returns:
            Dict of `"mrr"` in `(0, 1]`, `"r@1"`, `"r@5"` and `"r@10"` in
            percent, `"mean_rank"`, `"ndcg"` in `[0, 1]` if any relevance was
            given, and `"count"`, the number of rows. Metrics of no rows are
            NaN.
        """
        means = self._sums / self._count if self._count else self._sums * np.nan
        names = ["mrr", *(f"r@{k}" for k in RECALLS), "mean_rank"]
        result = dict(zip(names, map(float, means)))
        for k in RECALLS:
            result[f"r@{k}"] *= 100
        if self._ndcg_count:
            result["ndcg"] = float(self._ndcg_sum / self._ndcg_count)
        result["count"] = self._count
        return result
