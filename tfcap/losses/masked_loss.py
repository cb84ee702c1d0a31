"""The base class of losses with a mask, and the reduction of losses."""

from typing import Any

import keras
from keras import ops

from tfcap._ops import sum_over_replicas
from tfcap._ops.arguments import row_weights
from tfcap._ops.sequences import dense

MEANS = ("mean", "sum_over_batch_size")
REDUCTIONS = (None, "none", "sum", *MEANS, "mean_with_sample_weight")


class MaskedLoss(keras.losses.Loss):
    """A Keras loss whose mean runs over the rows that are present.

    Keras divides the sum of a loss by the number of rows, absent ones
    included, and takes it per replica. Dialogs have absent rounds, captions
    have padding: here a mean is over present rows, of all replicas.

    To write one, override `values_and_present()` and `hide()`.

    Args:
        name: String, optional.
        reduction: `"sum_over_batch_size"`, `"mean"`, `"sum"`,
            `"mean_with_sample_weight"` or `None`. Defaults to
            `"sum_over_batch_size"`, the mean over present rows.
        dtype: String, the dtype of the computation. Defaults to Keras'
            `floatx()`.

    Call arguments:
        y_true: Tensor, the labels.
        y_pred: Float tensor, the predictions. A Keras mask that it carries
            marks further rows as absent.
        sample_weight: Float tensor, optional, of shape `(B,)` or of the shape
            of the rows.

    Returns:
        Float scalar tensor, or one value per row if `reduction` is `None`.
    """

    #: What ragged labels are filled with.
    pad = 0

    def values_and_present(self, y_true, y_pred):
        """Returns one value per row, and 1 for each row that is present."""
        raise NotImplementedError

    def hide(self, y_true, mask):
        """Returns the labels with what a Keras mask hides marked absent."""
        raise NotImplementedError

    def call(self, y_true: Any, y_pred: Any):
        values, present = self.values_and_present(y_true, y_pred)
        return reduce_loss(values, present, reduction=None)

    def __call__(self, y_true, y_pred, sample_weight=None):
        mask = getattr(y_pred, "_keras_mask", None)
        y_true = dense(y_true, self.pad)
        y_true = ops.convert_to_tensor(y_true, dtype=self.dtype)
        y_pred = ops.convert_to_tensor(y_pred, dtype=self.dtype)
        if mask is not None:
            y_true = self.hide(y_true, ops.cast(mask, "bool"))
        return self.reduced(y_true, y_pred, sample_weight)

    def reduced(self, y_true, y_pred, sample_weight=None):
        """The loss of labels and predictions that are tensors already."""
        values, present = self.values_and_present(y_true, y_pred)
        if sample_weight is not None:
            sample_weight = row_weights(sample_weight, values)
        return reduce_loss(values, present, sample_weight, self.reduction)


def align(weights, rank: int, name: str):
    """Appends axes until `weights` has `rank`, so that leading axes meet.

    Args:
        weights: Tensor of at most `rank` axes, or one more of size 1.

    Raises:
        ValueError: If there are more axes than that.
    """
    extra = len(weights.shape) - rank
    if extra == 1 and weights.shape[-1] == 1:
        return ops.squeeze(weights, axis=-1)
    if extra > 0:
        raise ValueError(
            f"`{name}` must have at most {rank} axes here. "
            f"Received: {name}.shape={tuple(weights.shape)}."
        )
    for _ in range(-extra):
        weights = ops.expand_dims(weights, axis=-1)
    return weights


def reduce_loss(
    values: Any, present: Any = None, weights: Any = None, reduction="mean"
):
    """Reduces a loss over the entries that are present.

    ```
    sum                     = sum(weights * values)
    mean                    = sum(weights * values) / count(present)
    mean_with_sample_weight = sum(weights * values) / sum(weights)
    ```

    all over present entries. Under `tf.distribute` a mean's denominator is
    counted over all replicas and its numerator is this replica's share: summed
    over replicas, as Keras' optimizer sums gradients, the shares are the exact
    mean of the global batch, however absent entries fall on replicas.

    Args:
        reduction: `None`, `"none"`, `"sum"`, `"mean"`, its Keras synonym
            `"sum_over_batch_size"`, or `"mean_with_sample_weight"`.

    Returns:
        Float scalar tensor, 0 where nothing is present; without a reduction, a
        tensor of the shape of `values`, 0 where absent.

    Raises:
        ValueError: If `reduction` is none of these.
    """
    if reduction not in REDUCTIONS:
        raise ValueError(
            f"`reduction` must be one of {REDUCTIONS}. "
            f"Received: reduction={reduction!r}."
        )
    keep = ops.ones_like(values)
    if present is not None:
        keep = keep * ops.cast(ops.cast(present, "bool"), values.dtype)
    # where() rather than a product: what is absent may be infinite.
    values = ops.where(keep > 0, values, 0)
    if weights is not None:
        weights = ops.cast(weights, values.dtype)
        values = values * weights
    if reduction in (None, "none"):
        return values
    total = ops.sum(values)
    if reduction == "sum":
        return total
    if weights is not None and reduction not in MEANS:
        keep = keep * weights
    divisor = ops.stop_gradient(sum_over_replicas(ops.sum(keep)))
    return ops.divide_no_nan(total, divisor)


def at_least_float32(tensor):
    """Casts half precision and integers up; leaves float64 alone."""
    tensor = ops.convert_to_tensor(tensor)
    wide = keras.backend.result_type(tensor.dtype, "float32")
    return ops.cast(tensor, wide)
