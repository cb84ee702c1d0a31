"""Dropout of whole conditions, by which a speaker learns to do without."""

from typing import Any

import keras
from keras import ops

from tfcap._ops import SeedGenerator
from tfcap._ops.arguments import check_choice
from tfcap._ops.arguments import checked_rate
from tfcap._ops.arguments import checked_seed

DROPPED = ("zeros", "learned")


@keras.saving.register_keras_serializable(package="tfcap")
class ConditionDropout(keras.layers.Layer):
    """Replaces all that is known of a row, in a share of the rows.

    A speaker that learns from such batches also learns what is said of no
    image in particular, `log p(w)` beside `log p(w | x)`, which decoders with
    `guidance` read. Unlike `keras.layers.Dropout`, it takes a row's features
    together, and scales none.

    Args:
        rate: Float in `[0, 1)`, share of the rows. Defaults to `0.1`.
        dropped: String, what stands in the place of a dropped condition:
            `"zeros"`, which is the mean of standardized features; or
            `"learned"`, a vector that is learned. Defaults to `"zeros"`.
        seed: Integer, optional seed of the choice of rows.

    Call arguments:
        inputs: Float tensor of shape `(B, ..., D)`.
        training: Boolean. If `False`, nothing is dropped.

    Returns:
        Tensor of the shape and dtype of `inputs`.

    Example:

    >>> layer = ConditionDropout(0.5, seed=3)
    >>> features = layer(np.ones((200, 4, 3)), training=True).numpy()
    >>> whole_rows = features.mean(axis=(1, 2))
    >>> sorted({float(value) for value in whole_rows})
    [0.0, 1.0]

    Reference:

    - Ho and Salimans, Classifier-Free Diffusion Guidance, 2022
    - Kornblith et al., Guiding Image Captioning Models Toward More Specific
      Captions, ICCV 2023
    """

    def __init__(
        self,
        rate: float = 0.1,
        dropped: str = "zeros",
        seed: int | None = None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.rate = checked_rate(rate, "rate")
        check_choice(dropped, "dropped", DROPPED)
        self.dropped = dropped
        self.seed = checked_seed(seed)
        self.seed_generator = SeedGenerator(self.seed)
        self.supports_masking = True

    def build(self, input_shape):
        self.units = input_shape[-1]
        self.vector = None
        if self.dropped == "learned":
            self.vector = self.add_weight(
                shape=(self.units,), initializer="zeros", name="vector"
            )
        self.built = True

    def dropped_rows(self, rows: Any, positions: int = 1) -> Any:
        """Makes the condition of rows of which nothing is known.

        Args:
            rows: Integer or scalar tensor `n`.
            positions: Integer `P`. Defaults to `1`.

        Returns:
            Float tensor of shape `(n, P, D)`.
        """
        shape = (rows, positions, self.units)
        if self.vector is None:
            return ops.zeros(shape, self.compute_dtype)
        vector = ops.cast(self.vector, self.compute_dtype)
        return ops.broadcast_to(vector, shape)

    def call(self, inputs, training=False):
        if not training or not self.rate:
            return inputs
        shape = (ops.shape(inputs)[0], *(1,) * (len(inputs.shape) - 1))
        drawn = keras.random.uniform(
            shape, dtype="float32", seed=self.seed_generator
        )
        other = 0.0 if self.vector is None else self.vector
        other = ops.cast(other, inputs.dtype)
        return ops.where(drawn < self.rate, other, inputs)

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        return {
            **super().get_config(),
            "rate": self.rate,
            "dropped": self.dropped,
            "seed": self.seed,
        }
