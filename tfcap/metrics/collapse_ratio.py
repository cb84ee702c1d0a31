"""Ratio of a retrieval loss to that of a collapsed network."""

import keras
from keras import ops

from tfcap.losses import HingeRetrievalLoss


@keras.saving.register_keras_serializable(package="tfcap")
class CollapseRatio(keras.metrics.Metric):
    """Ratio of a retrieval loss to that of a collapsed network.

    ```
    ratio = sum(loss) / (2 * margin * B)
    ```

    Training with hardest negatives can collapse: all images and texts get one
    embedding, each hinge equals the margin, and the loss stays at
    `2 * margin * B`. A ratio of 1 for some epochs indicates a collapse;
    `tfcap.training.CollapseWarning` reports it. With summed or blended
    negatives the denominator is their collapsed loss, the margin for every
    negative.

    Args:
        loss: `tfcap.losses.HingeRetrievalLoss`, the training loss.
        name: String. Defaults to `"collapse_ratio"`.
        dtype: String, optional.

    Call arguments:
        y_true: As for the loss.
        y_pred: As for the loss.

    Example:

    >>> loss = tfcap.losses.HingeRetrievalLoss(negatives="sum")
    >>> metric = tfcap.metrics.CollapseRatio(loss)
    >>> metric.update_state(None, np.ones((5, 2, 1)))
    >>> print(metric.result().numpy().round(4))
    1.0

    Reference:

    - Faghri et al., VSE++, BMVC 2018; users of the released code report a loss
      that stays at `2 * margin * B`
    """

    def __init__(
        self,
        loss: HingeRetrievalLoss,
        name: str = "collapse_ratio",
        dtype: str | None = None,
    ):
        super().__init__(name=name, dtype=dtype)
        if not isinstance(loss, HingeRetrievalLoss):
            raise TypeError(
                "`loss` must be a `tfcap.losses.HingeRetrievalLoss`. "
                f"Received: loss={loss!r}."
            )
        self.loss = loss
        # Sums can be added over replicas.
        self.total = self.add_variable((), "zeros", name="total")
        self.collapsed = self.add_variable((), "zeros", name="collapsed")

    def update_state(self, y_true, y_pred, sample_weight=None):
        losses, collapsed, present = self.loss.hinges(y_true, y_pred)
        for state, values in (
            (self.total, losses),
            (self.collapsed, collapsed),
        ):
            values = ops.where(present, ops.cast(values, self.dtype), 0)
            state.assign_add(ops.sum(values))

    def result(self):
        return ops.divide_no_nan(self.total, self.collapsed)

    def get_config(self):
        return {
            **super().get_config(),
            "loss": keras.saving.serialize_keras_object(self.loss),
        }

    @classmethod
    def from_config(cls, config):
        loss = keras.saving.deserialize_keras_object(config["loss"])
        return cls(**{**config, "loss": loss})
