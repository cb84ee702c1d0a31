"""Normalized discounted cumulative gain, as a Keras metric."""

import keras
import numpy as np
from keras import ops

from tfcap.metrics.ranking_metric import RankingMetric


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

    def __init__(self, name="ndcg", dtype=None):
        super().__init__(name=name, dtype=dtype)

    def values_and_present(self, y_true, y_pred):
        takes_part = y_true >= 0
        relevance = ops.cast(ops.where(takes_part, y_true, 0), self.dtype)
        k = ops.sum(ops.cast(relevance > 0, "int32"), axis=-1, keepdims=True)
        first, last = _occupied(y_pred, takes_part)
        gained = self.gained(y_true.shape[-1])
        share = ops.take(gained, ops.minimum(last, k))
        share = share - ops.take(gained, ops.minimum(first, k))
        width = ops.cast(ops.maximum(last - first, 1), self.dtype)
        dcg = ops.sum(relevance * share / width, axis=-1)
        ordered = ops.flip(ops.sort(relevance, axis=-1), axis=-1)
        best = ops.sum(ordered * (gained[1:] - gained[:-1]), axis=-1)
        return ops.divide_no_nan(dcg, best), k[..., 0] > 0

    def gained(self, candidates):
        """Sum of the discounts of the first 0, 1, ... N ranks."""
        discounts = 1 / np.log2(np.arange(2, candidates + 2))
        sums = np.concatenate([[0], np.cumsum(discounts)])
        return ops.convert_to_tensor(sums, self.dtype)


def _occupied(scores, takes_part):
    """Ranks, from 0, at which each candidate's tie starts and stops."""
    other, own = scores[..., None, :], scores[..., :, None]
    takes_part = takes_part[..., None, :]
    better = ops.logical_and(takes_part, other > own)
    equal = ops.logical_and(takes_part, ops.equal(other, own))
    first = ops.sum(ops.cast(better, "int32"), axis=-1)
    return first, first + ops.sum(ops.cast(equal, "int32"), axis=-1)
