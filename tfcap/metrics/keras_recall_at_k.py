"""Recall at k, as a Keras metric."""

import keras

from tfcap.metrics.ranking_metric import RankingMetric


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

    def __init__(self, k=1, name=None, dtype=None):
        if k < 1:
            raise ValueError(f"`k` must be at least 1. Received: k={k}.")
        super().__init__(name=name or f"recall_at_{k}", dtype=dtype)
        self.k = k

    def value(self, ranks):
        return ranks <= self.k

    def get_config(self):
        return {"k": self.k, **super().get_config()}
