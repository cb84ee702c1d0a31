"""Base class of the losses some of whose rows are absent."""

import keras
from keras import ops

from tfcap.losses.reduction import reduce_loss
from tfcap.ops.shapes import row_weights


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

    def values_and_present(self, y_true, y_pred):
        """Returns one value per row, and 1 for each row that is present."""
        raise NotImplementedError

    def hide(self, y_true, mask):
        """Returns the labels with what a Keras mask hides marked absent."""
        raise NotImplementedError

    def call(self, y_true, y_pred):
        values, present = self.values_and_present(y_true, y_pred)
        return reduce_loss(values, present, reduction=None)

    def __call__(self, y_true, y_pred, sample_weight=None):
        mask = getattr(y_pred, "_keras_mask", None)
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


def align(weights, rank, name):
    """Appends axes until `weights` has `rank`, so that leading axes meet.

    Args:
        weights: Tensor of at most `rank` axes, or one more of size 1.
        rank: Integer.
        name: String, the argument's name, for the message.

    Returns:
        Tensor of `rank` axes.

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
