"""Base class of the Keras metrics of a ranking."""

import keras
from keras import ops

from tfcap.ops import check_shape
from tfcap.ops.arguments import check_labels
from tfcap.ops.arguments import row_weights


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
            candidate, -1 for one that takes no part. A row without a 1 is
            absent.
        y_pred: Float tensor of shape `(..., N)`, scores.
        sample_weight: Float tensor, optional, of the rows' shape or of its
            leading axes.
    """

    def __init__(self, name=None, dtype=None):
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
        # Summed, not maximized: a maximum may drop a NaN.
        truth = ops.sum(ops.where(is_truth, y_pred, 0), axis=-1, keepdims=True)
        better = ops.logical_and(other, y_pred > truth)
        equal = ops.logical_and(other, ops.equal(y_pred, truth))
        ranks = 1 + self.number(better) + self.number(equal) / 2
        return self.value(ranks), ops.any(is_truth, axis=-1)

    def number(self, flags):
        return ops.sum(ops.cast(flags, self.dtype), axis=-1)

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_true = ops.cast(y_true, self.dtype)
        y_pred = ops.convert_to_tensor(y_pred)
        check_shape(y_pred, "... N", "y_pred")
        check_labels(y_true, y_pred, "y_true", "y_pred")
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
