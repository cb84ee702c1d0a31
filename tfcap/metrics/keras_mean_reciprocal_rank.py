"""Mean reciprocal rank, as a Keras metric."""

import keras

from tfcap.metrics.ranking_metric import RankingMetric


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

    def __init__(self, name="mean_reciprocal_rank", dtype=None):
        super().__init__(name=name, dtype=dtype)

    def value(self, ranks):
        return 1 / ranks
