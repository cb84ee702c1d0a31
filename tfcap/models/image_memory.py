"""Attention to image positions, at every word."""

from typing import Any

import keras

from tfcap._ops import masked_mean
from tfcap.layers.dialog_encoder import QueryAttention


class ImageMemory(keras.layers.Layer):
    """Projects image positions once, and attends to them word after word.

    ```
    positions = dropout(relu(image @ W + b))
    z = tanh(positions @ Wm + query @ Wq + bq) @ wa
    output = softmax(z) @ positions
    ```

    Args:
        units: Integer, size of a projected position.
        attention_units: Integer, size of the hidden layer of the score.
        dropout: Float, rate on the projected positions.

    Call arguments:
        query: Float tensor of shape `(B, Dq)`.
        memory: Dict, from `remember()`.

    Returns:
        Float tensor of shape `(B, units)`; zeros where there is no position.
    """

    def __init__(
        self, units: int, attention_units: int, dropout: float = 0.0, **kwargs
    ):
        super().__init__(**kwargs)
        self.units = units
        options = {"dtype": self.dtype_policy}
        self.project = keras.layers.Dense(
            units, activation="relu", name="project", **options
        )
        self.dropout = keras.layers.Dropout(dropout, **options)
        self.attention = QueryAttention(
            attention_units, name="attention", **options
        )

    def build(self, query_shape, image_shape):
        self.project.build(image_shape)
        memory = (*image_shape[:-1], self.units)
        self.attention.build((None, 1, query_shape[-1]), memory)
        self.built = True

    def remember(
        self, image: Any, mask: Any, training: bool = False
    ) -> dict[str, Any]:
        """Computes the part of an image that does not depend on the words.

        Args:
            image: Float tensor of shape `(B, P, D)`.
            mask: Tensor of shape `(B, P)` or `None`.
            training: Boolean.

        Returns:
            Dict of tensors with leading axis `B`.
        """
        positions = self.dropout(self.project(image), training=training)
        memory = {
            "positions": positions,
            "projected": self.attention.project_memory(positions),
        }
        return memory if mask is None else {**memory, "mask": mask}

    def mean(self, memory: dict[str, Any]) -> Any:
        """Averages positions: `(B, units)`."""
        mask = memory.get("mask")
        if mask is not None:
            mask = mask[..., None]
        return masked_mean(memory["positions"], mask, axis=1)

    def call(self, query, memory):
        attended, _ = self.attention(
            query[:, None],
            memory["positions"],
            memory_mask=memory.get("mask"),
            projected=memory["projected"],
        )
        return attended[:, 0]
