"""Standardization of image features as a layer."""

from typing import Any

import keras
import numpy as np
from keras import ops

from tfcap._ops import check_shape
from tfcap._ops.arguments import config_of


@keras.saving.register_keras_serializable(package="tfcap")
class ImageStandardization(keras.layers.Layer):
    """Standardizes image features by the training mean and deviation.

    ```
    y = (image - mean) / deviation                        # pooled=False
    y = (mean over positions of image - mean) / deviation    # pooled=True
    ```

    As the `image_preprocessing` of a speaker or a listener, the layer is saved
    with it, so that training, evaluation and inference all take features as
    they are in their file. `tfcap.data.StandardizedFeatures` computes the mean
    and the deviation.

    Args:
        mean: Sequence of D floats.
        deviation: Sequence of D floats, positive: standard deviations.
        pooled: Boolean, whether positions are averaged first, for a mean and
            deviation of averages. Defaults to `False`.
        positions: Integer P, number of positions of an image, if they are not
            averaged. Defaults to `None`, any.

    Call arguments:
        image: Float tensor of shape `(B, P, D)`.

    Returns:
        Float tensor of shape `(B, P, D)`, or `(B, 1, D)` if pooled, in the
        compute dtype; computed in float32.

    Raises:
        ValueError: If the shape differs from the training features'.

    Example:

    >>> ready = tfcap.layers.ImageStandardization([2.0], [0.5], pooled=True)
    >>> print(ready(np.array([[[1.0], [4.0]]])).numpy())
    [[[1.]]]
    """

    def __init__(
        self,
        mean: Any,
        deviation: Any,
        pooled: bool = False,
        positions: int | None = None,
        **kwargs,
    ):
        # Half precision would round what is large beside its deviation.
        super().__init__(**{"autocast": False, **kwargs})
        self.mean = np.asarray(mean, "float32").ravel()
        self.deviation = np.asarray(deviation, "float32").ravel()
        self.pooled = pooled
        self.positions = positions
        numbers = np.isfinite([*self.mean, *self.deviation])
        same = len(self.mean) == len(self.deviation) > 0
        if not (same and numbers.all() and (self.deviation > 0).all()):
            raise ValueError(
                "`mean` and `deviation` must hold one finite number for each "
                "feature, and deviations must be positive. Received: "
                f"mean={self.mean}, deviation={self.deviation}. Use a "
                "deviation of 1 for a constant feature."
            )

    def call(self, image):
        check_shape(image, "B P D", "image")
        self._check(image.shape)
        image = ops.cast(image, "float32")
        if self.pooled:
            image = ops.mean(image, axis=1, keepdims=True)
        mean = ops.convert_to_tensor(self.mean)
        deviation = ops.convert_to_tensor(self.deviation)
        return ops.cast((image - mean) / deviation, self.compute_dtype)

    def compute_output_shape(self, image_shape):
        batch, positions, size = image_shape
        return batch, 1 if self.pooled else positions, size

    def _check(self, shape):
        """Rejects features whose shape differs from the training features'."""
        _, positions, size = shape
        if size not in (None, len(self.mean)):
            raise ValueError(
                f"`image` must have {len(self.mean)} features, as in "
                f"training. Received: image.shape={tuple(shape)}. Use the "
                "features of the same backbone."
            )
        fixed = None if self.pooled else self.positions
        if None not in (fixed, positions) and positions != fixed:
            raise ValueError(
                f"`image` must have {fixed} positions, as in training. "
                f"Received: image.shape={tuple(shape)}. Use the features of "
                "the same layer, with all positions."
            )

    def get_config(self):
        return {
            **super().get_config(),
            **config_of(self, "pooled positions"),
            # As JSON holds them, every digit.
            "mean": self.mean.tolist(),
            "deviation": self.deviation.tolist(),
        }
