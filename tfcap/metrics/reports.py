"""Reports of rankings and retrievals, and the tables that papers print."""

from collections import Counter
from collections.abc import Iterable
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfcap.metrics.ranking import candidate_ranks
from tfcap.metrics.ranking import ndcg

RECALLS = (1, 5, 10)
#: Title and format of the columns of a printed `RetrievalReport`.
FORMATS = {
    **{f"r@{k}": (f"R@{k}", ".2f") for k in RECALLS},
    "median_rank": ("median", ".6g"),
    "mean_rank": ("mean", ".2f"),
    "mrr": ("MRR", ".4f"),
    "count": ("count", "d"),
}


class RankingReport:
    """Accumulates MRR, R@k, mean rank and NDCG.

    Only sums are kept, so a split may have any size. Ties get their mean rank.

    Example:

    >>> report = tfcap.metrics.RankingReport()
    >>> report.add(np.array([[0.1, 0.9], [0.8, 0.2]]), truth=[1, 1])
    >>> report.result()
    {'mrr': 0.75, 'r@1': 50.0, 'r@5': 100.0, 'r@10': 100.0, 'mean_rank': 1.5,
     'count': 2}
    """

    def __init__(self):
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
        ranks = candidate_ranks(scores, truth, valid)
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

    def __repr__(self):
        cells = [(k, f"{value:.4g}") for k, value in self.result().items()]
        return "\n".join(aligned(zip(*cells)))


class RetrievalReport:
    """Ranks of retrieval in both directions, printed as a table.

    `evaluate_retrieval()` returns it. The ranks of all queries are kept, for
    intervals and for finding failures. `tfcap.training.EvaluationCallback` adds
    its `result()` to the logs of a training run.

    Args:
        image_ranks: Float array of shape `(B,)`, each image's rank of its
            best text, 1 is best; NaN for an image without one.
        text_ranks: Float array of shape `(M,)`, each text's rank of its image.

    Example:

    >>> from tfcap.metrics.reports import RetrievalReport
    >>> report = RetrievalReport([1, 4], [1, 2])
    >>> print(report)
                     R@1     R@5    R@10  median  mean     MRR  count
    image -> text  50.00  100.00  100.00     2.5  2.50  0.6250      2
    text -> image  50.00  100.00  100.00     1.5  1.50  0.7500      2
    >>> report.result()["text_to_image_r@1"]
    50.0
    """

    def __init__(self, image_ranks, text_ranks):
        self.image_ranks = np.asarray(image_ranks, "float64")
        self.text_ranks = np.asarray(text_ranks, "float64")

    def rows(self):
        """Returns the metrics of each direction.

        Returns:
            Dict of `"image_to_text"` and `"text_to_image"`, each a dict of
            `"r@K"` in percent, `"median_rank"`, `"mean_rank"`, `"mrr"` in
            `(0, 1]`, and `"count"`, queries that have a truth.
        """
        return {
            "image_to_text": _row(self.image_ranks),
            "text_to_image": _row(self.text_ranks),
        }

    def result(self):
        """Returns them in one dict, with keys such as `"text_to_image_r@1"`."""
        return {
            f"{direction}_{name}": value
            for direction, row in self.rows().items()
            for name, value in row.items()
            if name != "count"
        }

    def __repr__(self):
        table = [["", *(title for title, _ in FORMATS.values())]]
        for direction, row in self.rows().items():
            cells = [
                format(row[name], style) for name, (_, style) in FORMATS.items()
            ]
            table.append([direction.replace("_to_", " -> "), *cells])
        return "\n".join(aligned(table))


def aligned(rows: Iterable[Sequence[str]]) -> list[str]:
    """Returns the lines of a table, its first column aligned to the left."""
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows)]
    return [
        first.ljust(widths[0])
        + "".join(f"  {c.rjust(w)}" for c, w in zip(cells, widths[1:]))
        for first, *cells in rows
    ]


def _row(ranks):
    known = ranks[~np.isnan(ranks)]
    # Metrics of no ranks are NaN.
    some = known if known.size else np.array([np.nan])
    hits = {k: np.where(np.isnan(some), np.nan, some <= k) for k in RECALLS}
    return {
        **{f"r@{k}": 100 * float(hits[k].mean()) for k in RECALLS},
        "median_rank": float(np.median(some)),
        "mean_rank": float(some.mean()),
        "mrr": float((1 / some).mean()),
        "count": known.size,
    }


def answer_prior(train: Any, test: Any) -> RankingReport:
    """Ranks the candidates of a split by their frequency as training answers.

    This baseline ignores image, question and history.

    Args:
        train: `tfcap.data.EncodedDialogs`, whose human answers are counted.
        test: `tfcap.data.EncodedDialogs` with candidates.

    Returns:
        `RankingReport`. Candidates that are not training answers tie.

    Example:

    >>> import types
    >>> dialogs = types.SimpleNamespace(
    ...     answers=np.array([[5, 2], [6, 2]]),
    ...     answer_index=np.array([[0]]),
    ...     options=np.array([[[0, 1]]]),
    ...     gt_index=np.array([[0]]),
    ...     relevance=None,
    ... )
    >>> tfcap.metrics.answer_prior(dialogs, dialogs).result()["mrr"]
    1.0

    Reference:

    - Das et al., Visual Dialog, CVPR 2017, section 5, "answer prior"
    """
    given = train.answers[train.answer_index[train.answer_index >= 0]]
    counts = Counter(tuple(answer[answer > 0]) for answer in given)
    scores = [
        1.0 * counts[tuple(answer[answer > 0])] for answer in test.answers
    ]
    report = RankingReport()
    report.add(
        np.array(scores)[test.options],
        np.where(test.answer_index >= 0, test.gt_index, -1),
        test.relevance,
        test.options >= 0,
    )
    return report
