"""Ranking metrics for `compile(metrics=...)`."""

import math

import keras
from keras import ops

from tfcap._ops.arguments import row_weights
from tfcap._ops.sequences import check_shapes


class RankingMetric(keras.metrics.Metric):
    """Mean over the rows that are present, for `compile(metrics=...)`.

    Absent rows, those without a truth, are skipped. The two states are sums,
    so that replicas of `tf.distribute` add up. A NaN score makes the metric
    NaN: comparisons would call a NaN the best.

    To write one, override `value()`, from ranks, or `values_and_present()`.

    Args:
        name: String, optional.
        dtype: String, optional.

    Call arguments:
        y_true: Tensor of shape `(..., N)`: 1 for the truth, 0 for a wrong
            candidate, -1 for one that takes no part. Of several truths in a
            row the one with the best score counts; a row without a truth is
            absent.
        y_pred: Float tensor of shape `(..., N)`, scores.
        sample_weight: Float tensor, optional, of the rows' shape or of its
            leading axes.
    """

    def __init__(self, name: str | None = None, dtype: str | None = None):
        super().__init__(name=name, dtype=dtype)
        self.total = self.add_variable((), "zeros", name="total")
        self.count = self.add_variable((), "zeros", name="count")

    def value(self, ranks):
        """Maps mean-tie ranks of shape `(...)` to what is averaged."""
        raise NotImplementedError

    def values_and_present(self, y_true, y_pred):
        """Returns one value per row, and a boolean per row."""
        is_truth = ops.equal(y_true, 1)
        other = ops.equal(y_true, 0)
        truth = ops.where(is_truth, y_pred, -float("inf"))
        truth = ops.max(truth, axis=-1, keepdims=True)
        better = ops.logical_and(other, y_pred > truth)
        equal = ops.logical_and(other, ops.equal(y_pred, truth))
        best = ops.logical_and(is_truth, ops.equal(y_pred, truth))
        # As `tied_rank()` has it, which cannot be traced.
        ranks = self.number(equal) / (self.number(best) + 1)
        ranks = 1 + self.number(better) + ranks
        return self.value(ranks), ops.any(is_truth, axis=-1)

    def number(self, flags):
        return ops.sum(ops.cast(flags, self.dtype), axis=-1)

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_true = ops.cast(y_true, self.dtype)
        y_pred = ops.convert_to_tensor(y_pred)
        check_shapes(y_pred=(y_pred, "... N"), y_true=(y_true, "... N"))
        values, present = self.values_and_present(y_true, y_pred)
        unranked = ops.logical_and(ops.isnan(y_pred), y_true >= 0)
        values = ops.cast(values, self.dtype)
        values = ops.where(ops.any(unranked, axis=-1), float("nan"), values)
        weights = ops.cast(present, self.dtype)
        if sample_weight is not None:
            weights = weights * row_weights(sample_weight, weights)
        values = ops.where(weights > 0, values, 0) * weights
        self.total.assign_add(ops.sum(values))
        self.count.assign_add(ops.sum(weights))

    def result(self):
        return ops.divide_no_nan(self.total, self.count)


@keras.saving.register_keras_serializable(package="tfcap")
class RecallAtK(RankingMetric):
    """Share of rows whose truth ranks `k` or better, in `[0, 1]`.

    Ties count as their mean rank.

    Args:
        k: Integer, at least 1. Defaults to `1`.
        name: String. Defaults to `"recall_at_{k}"`.
        dtype: String, optional.

    Call arguments:
        y_true: Tensor of shape `(..., N)`: 1 truth, 0 wrong, -1 takes no part.
        y_pred: Float tensor of shape `(..., N)`, scores.

    Raises:
        ValueError: If `k` is less than 1.

    Example:

    >>> metric = tfcap.metrics.RecallAtK(2)
    >>> metric.update_state([[0, 1, 0]], [[0.9, 0.5, 0.1]])
    >>> metric.name, float(metric.result())
    ('recall_at_2', 1.0)
    """

    def __init__(
        self, k: int = 1, name: str | None = None, dtype: str | None = None
    ):
        if k < 1:
            raise ValueError(f"`k` must be at least 1. Received: k={k}.")
        super().__init__(name=name or f"recall_at_{k}", dtype=dtype)
        self.k = k

    def value(self, ranks):
        return ranks <= self.k

    def get_config(self):
        return {"k": self.k, **super().get_config()}


@keras.saving.register_keras_serializable(package="tfcap")
class MeanRank(RankingMetric):
    """Mean rank of the truth among the candidates; 1 is best.

    Ties count as their mean rank.

    Args:
        name: String. Defaults to `"mean_rank"`.
        dtype: String, optional.

    Call arguments:
        y_true: Tensor of shape `(..., N)`: 1 truth, 0 wrong, -1 takes no part.
        y_pred: Float tensor of shape `(..., N)`, scores.

    Example:

    >>> metric = tfcap.metrics.MeanRank()
    >>> metric.update_state([[0, 1, 0]], [[0.9, 0.5, 0.1]])
    >>> float(metric.result())
    2.0
    """

    def __init__(self, name: str = "mean_rank", dtype: str | None = None):
        super().__init__(name=name, dtype=dtype)

    def value(self, ranks):
        return ranks


@keras.saving.register_keras_serializable(package="tfcap")
class MeanReciprocalRank(RankingMetric):
    """Mean of `1 / rank` of the truth among the candidates, in `(0, 1]`.

    Ties count as their mean rank.

    Args:
        name: String. Defaults to `"mean_reciprocal_rank"`.
        dtype: String, optional.

    Call arguments:
        y_true: Tensor of shape `(..., N)`: 1 truth, 0 wrong, -1 takes no part.
        y_pred: Float tensor of shape `(..., N)`, scores.

    Example:

    >>> metric = tfcap.metrics.MeanReciprocalRank()
    >>> metric.update_state([[0, 1, 0]], [[0.9, 0.5, 0.1]])
    >>> float(metric.result())
    0.5
    """

    def __init__(
        self,
        name: str = "mean_reciprocal_rank",
        dtype: str | None = None,
    ):
        super().__init__(name=name, dtype=dtype)

    def value(self, ranks):
        return 1 / ranks


@keras.saving.register_keras_serializable(package="tfcap")
class NDCG(RankingMetric):
    """Normalized discounted cumulative gain, as VisDial v1.0 defines it.

    ```
    k    = number of candidates with relevance > 0
    dcg  = sum of relevance / log2(1 + rank) over the k best-scored candidates
    ndcg = dcg / (dcg of the candidates sorted by relevance)
    ```

    Candidates of one score share the mean discount of the ranks that they
    occupy. Rows in which nothing is relevant are skipped.

    Args:
        name: String. Defaults to `"ndcg"`.
        dtype: String, optional.

    Call arguments:
        y_true: Float tensor of shape `(..., N)`, relevance of at least 0;
            negative for a candidate that takes no part.
        y_pred: Float tensor of shape `(..., N)`, scores.

    Example:

    >>> metric = tfcap.metrics.NDCG()
    >>> metric.update_state([[0.0, 1.0, 0.5]], [[3.0, 2.0, 1.0]])
    >>> print(round(float(metric.result()), 4))
    0.4796
    """

    def __init__(self, name: str = "ndcg", dtype: str | None = None):
        super().__init__(name=name, dtype=dtype)

    def values_and_present(self, y_true, y_pred):
        takes_part = y_true >= 0
        relevance = ops.cast(ops.where(takes_part, y_true, 0), self.dtype)
        k = ops.sum(ops.cast(relevance > 0, "int32"), axis=-1, keepdims=True)
        first, last = _occupied(y_pred, takes_part)
        gained = self.gained(ops.shape(y_true)[-1])
        share = ops.take(gained, ops.minimum(last, k))
        share = share - ops.take(gained, ops.minimum(first, k))
        width = ops.cast(ops.maximum(last - first, 1), self.dtype)
        dcg = ops.sum(relevance * share / width, axis=-1)
        ordered = ops.flip(ops.sort(relevance, axis=-1), axis=-1)
        best = ops.sum(ordered * (gained[1:] - gained[:-1]), axis=-1)
        return ops.divide_no_nan(dcg, best), k[..., 0] > 0

    def gained(self, candidates):
        """Sum of the discounts of the first 0, 1, ... N ranks."""
        ranks = ops.cast(ops.arange(1, candidates + 1), self.dtype)
        discounts = math.log(2) / ops.log(1 + ranks)
        return ops.cumsum(ops.concatenate([ranks[:1] * 0, discounts]))


def _occupied(scores, takes_part):
    """Ranks, from 0, at which each candidate's tie starts and stops."""
    other, own = scores[..., None, :], scores[..., :, None]
    takes_part = takes_part[..., None, :]
    better = ops.logical_and(takes_part, other > own)
    equal = ops.logical_and(takes_part, ops.equal(other, own))
    first = ops.sum(ops.cast(better, "int32"), axis=-1)
    return first, first + ops.sum(ops.cast(equal, "int32"), axis=-1)
