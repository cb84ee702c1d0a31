"""Logits of the next word."""

from collections.abc import Iterable
from typing import Any

import keras
import numpy as np
from keras import ops

from tfcap.layers._fast import Stepwise
from tfcap.layers._fast import StepwiseProduct


@keras.saving.register_keras_serializable(package="tfcap")
class VocabularyHead(Stepwise, keras.layers.Layer):
    """Logits of the next word, in float32.

    ```
    logits = scale * (hidden @ kernel + bias)      # -1e9 if suppressed
    ```

    Suppressed ids cost nothing: they are part of the bias.

    Args:
        vocabulary_size: Integer `V`.
        suppressed_ids: Tuple of integers, ids that are never said.
        scale: Float, factor on the logits. Defaults to `1.0`.

    Call arguments:
        hidden: Float tensor of shape `(..., D)`.

    Returns:
        Float32 tensor of shape `(..., V)`.
    """

    def __init__(
        self,
        vocabulary_size: int,
        suppressed_ids: tuple[int, ...],
        scale: float = 1.0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.vocabulary_size = vocabulary_size
        self.suppressed_ids = tuple(suppressed_ids)
        self.scale = scale
        self.supports_masking = True
        self.floor = np.zeros(vocabulary_size, "float32")
        self.floor[[*self.suppressed_ids]] = -1e9

    def build(self, input_shape):
        self.units = input_shape[-1]
        self.kernel = self.add_weight(
            shape=(self.units, self.vocabulary_size),
            initializer="glorot_uniform",
            name="kernel",
        )
        self.bias = self.add_weight(
            shape=(self.vocabulary_size,),
            initializer="zeros",
            autocast=False,
            name="bias",
        )
        self.built = True

    def call(self, hidden):
        # Two axes: TensorFlow's product of more is slower, the more so its
        # gradient.
        rows = ops.reshape(hidden, (-1, self.units))  # (n, D)
        rows = ops.cast(rows, self.compute_dtype) * self.scale
        logits = self.stepwise(rows, self._affine)
        shape = (-1, *ops.shape(hidden)[1:-1], self.vocabulary_size)
        return ops.reshape(logits, shape)

    def share(self, rows, steps):
        return StepwiseProduct(*self._weights(), rows, steps)

    def _affine(self, rows):
        kernel, bias = self._weights()
        return ops.cast(ops.matmul(rows, kernel), "float32") + bias

    def _weights(self):
        bias = ops.cast(self.bias, "float32") * self.scale + self.floor
        return ops.cast(self.kernel, self.compute_dtype), bias

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], self.vocabulary_size)

    def get_config(self):
        return {
            **super().get_config(),
            "vocabulary_size": self.vocabulary_size,
            "suppressed_ids": self.suppressed_ids,
            "scale": self.scale,
        }


def never_said(ids: Iterable[int], eos: Any) -> tuple[int, ...]:
    """Returns the ids, in order, that do not also end a sequence.

    Args:
        ids: Integers, such as those of padding and start.
        eos: Integer, or tuple or list of integers.
    """
    ends = eos if isinstance(eos, tuple | list) else (eos,)
    return tuple(sorted({*ids} - {*ends}))
