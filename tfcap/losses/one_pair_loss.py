"""One-pair loss, the discriminant perceptual loss."""

from typing import Any

import keras
from keras import ops

from tfcap._ops import check_shape
from tfcap._ops.arguments import check_shapes
from tfcap.losses.masked_loss import MaskedLoss
from tfcap.losses.masked_loss import align
from tfcap.losses.masked_loss import at_least_float32
from tfcap.losses.masked_loss import reduce_loss


def one_pair_loss(
    anchor: Any, positive: Any, sample: Any, reduction=None
) -> Any:
    """Asks a generated sample to score above the truth, on embeddings.

    ```
    loss = log(1 + exp(dot(anchor, positive) - dot(anchor, sample)))
    ```

    The N-pair loss of one negative with the parts exchanged: the generator is
    told to be what the discriminator prefers.

    Args:
        anchor: Float tensor of shape `(..., D)`, what is spoken about: the
            embedding of image, question and history.
        positive: Float tensor of shape `(..., D)`, the human answer's.
        sample: Float tensor of shape `(..., D)`, the generated answer's.
        reduction: `None`, `"mean"` or `"sum"`. The mean is divided over the
            replicas of `tf.distribute`. Defaults to `None`.

    Returns:
        Float tensor of shape `(...)`, at least float32, or a scalar if
        reduced.

    Example:

    >>> a = np.array([[1.0, 0.0]])
    >>> loss = tfcap.losses.one_pair_loss(a, positive=a, sample=a)
    >>> print(np.exp(loss).round(4))
    [2.]

    Reference:

    - Lu et al., Best of Both Worlds, NIPS 2017, eq. 5
    """
    anchor, positive, sample = map(at_least_float32, (anchor, positive, sample))
    check_shapes(
        anchor=(anchor, "... D"),
        positive=(positive, "... D"),
        sample=(sample, "... D"),
    )
    # Scores are subtracted last: differences of embeddings would round worse.
    truth = ops.sum(anchor * positive, axis=-1)
    emitted = ops.sum(anchor * sample, axis=-1)
    return reduce_loss(ops.softplus(truth - emitted), reduction=reduction)


@keras.saving.register_keras_serializable(package="tfcap")
class OnePairLoss(MaskedLoss):
    """One-pair loss over two scores, for `compile()`.

    ```
    loss = log(1 + exp(score_of_truth - score_of_sample))
    ```

    The loss of G-DIS, called the discriminant perceptual loss: the generator
    is trained until the frozen discriminator prefers its sample to the human
    answer.

    Args:
        name: String. Defaults to `"one_pair_loss"`.
        reduction: As in Keras. Defaults to `"sum_over_batch_size"`, the mean
            over present rows.
        dtype: String, optional.

    Call arguments:
        y_true: Tensor of shape `(B, ...)` or `(B, ..., 1)`. A row of -1 is
            absent; any other value is not read, as the loss has no target.
        y_pred: Float tensor of shape `(B, ..., 2)`: score of the truth, score
            of the sample.

    Returns:
        Float scalar tensor; of shape `(B, ...)` if `reduction` is `None`.

    Example:

    >>> loss = tfcap.losses.OnePairLoss()
    >>> print(np.exp(loss(np.zeros(1), np.array([[3.0, 3.0]]))).round(4))
    2.0

    Reference:

    - Lu et al., Best of Both Worlds, NIPS 2017, eq. 5
    """

    def __init__(
        self,
        name: str = "one_pair_loss",
        reduction="sum_over_batch_size",
        dtype: str | None = None,
    ):
        super().__init__(name=name, reduction=reduction, dtype=dtype)

    def values_and_present(self, y_true, y_pred):
        check_shape(y_pred, "... 2", "y_pred")
        if len(y_true.shape) == len(y_pred.shape):
            check_shape(y_true, "... 1", "y_true")
            y_true = ops.squeeze(y_true, axis=-1)
        check_shapes(y_pred=(y_pred, "... 2"), y_true=(y_true, "..."))
        present = ops.not_equal(y_true, -1)
        margin = at_least_float32(y_pred[..., 0] - y_pred[..., 1])
        return ops.softplus(ops.where(present, margin, 0)), present

    def hide(self, y_true, mask):
        return ops.where(align(mask, len(y_true.shape), "mask"), y_true, -1)
