"""Mean rank, as a Keras metric."""

import keras

from tfcap.metrics.ranking_metric import RankingMetric


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

    def __init__(self, name="mean_rank", dtype=None):
        super().__init__(name=name, dtype=dtype)

    def value(self, ranks):
        return ranks
