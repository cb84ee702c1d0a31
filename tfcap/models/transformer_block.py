"""Transformer block with keys and values of the past."""

import keras
from keras import ops

from tfcap.ops import SeedGenerator
from tfcap.ops import masked_softmax
from tfcap.ops.arguments import checked_rate


class TransformerBlock(keras.layers.Layer):
    """Self-attention and a feed-forward layer, each normalized before.

    ```
    x = x + dropout(attention(norm(x)))
    x = x + dropout(gelu(norm(x) @ W1 + b1) @ W2 + b2)
    ```

    Args:
        units: Integer `D`, size of the residual stream.
        heads: Integer that divides `units`.
        hidden_units: Integer, size of the feed-forward layer.
        dropout: Float, rate on what is added to the stream. Defaults to
            `0.0`.
        seed: Integer, optional seed of the dropout.

    Call arguments:
        inputs: Float tensor of shape `(B, Q, D)`.
        past: Pair of keys and values of shape `(B, M, D)`, of the entries
            before, or `None`.
        visible: Tensor that broadcasts to `(B, Q, M + Q)`, nonzero where an
            entry may look, or `None` where it may look everywhere.
        place: Integer tensor of shape `(B,)`, where in `past`, which has room
            for them, keys and values are put rather than after it, for
            `Q = 1`; `visible` is then of `(B, 1, M)`. Defaults to `None`.
        training: Boolean.

    Returns:
        Float tensor of shape `(B, Q, D)`, and the keys and values of `inputs`,
        or the past with them in their place.
    """

    def __init__(
        self,
        units: int,
        heads: int,
        hidden_units: int,
        dropout: float = 0.0,
        seed: int | None = None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        dropout = checked_rate(dropout, "block_dropout")
        self.units = units
        self.heads = heads
        options = {"dtype": self.dtype_policy}
        self.norms = [
            keras.layers.LayerNormalization(
                epsilon=1e-5, name=f"norm_{i}", **options
            )
            for i in range(2)
        ]
        self.project = keras.layers.Dense(3 * units, name="project", **options)
        self.merge = keras.layers.Dense(units, name="merge", **options)
        self.expand = keras.layers.Dense(
            hidden_units, activation="gelu", name="expand", **options
        )
        self.shrink = keras.layers.Dense(units, name="shrink", **options)
        self.dropout = dropout
        self.seed_generator = SeedGenerator(seed) if dropout else None

    def build(self, input_shape):
        stream = (None, None, self.units)
        for layer in (*self.norms, self.project, self.merge, self.expand):
            layer.build(stream)
        self.shrink.build((None, None, self.expand.units))
        self.built = True

    def call(self, inputs, past=None, visible=None, place=None, training=False):
        query, keys, values = ops.split(
            self.project(self.norms[0](inputs)), 3, axis=-1
        )
        memory = own = [keys, values]
        if place is not None:
            entries = ops.arange(ops.shape(past[0])[1], dtype="int32")
            here = ops.equal(entries, place[:, None])[..., None]  # (B, M, 1)
            memory = own = [
                ops.where(here, new, old) for old, new in zip(past, memory)
            ]
        elif past is not None:
            memory = [
                ops.concatenate(pair, axis=1) for pair in zip(past, memory)
            ]
        attended = self.merge(self._attend(query, *memory, visible))
        stream = inputs + self.drop(attended, training)
        fed = self.shrink(self.expand(self.norms[1](stream)))
        return stream + self.drop(fed, training), own

    def drop(self, tensor, training):
        """Dropout, while training."""
        if not training or self.dropout == 0.0:
            return tensor
        return keras.random.dropout(
            tensor, self.dropout, seed=self.seed_generator
        )

    def _attend(self, query, keys, values, visible):
        size = self.units // self.heads

        def by_head(tensor):
            length = ops.shape(tensor)[1]
            return ops.transpose(
                ops.reshape(tensor, (-1, length, self.heads, size)),
                (0, 2, 1, 3),
            )

        query, keys, values = map(by_head, (query, keys, values))
        scores = ops.matmul(query * size**-0.5, ops.swapaxes(keys, -1, -2))
        if visible is not None:
            visible = ops.expand_dims(visible, -3)
        outputs = ops.matmul(masked_softmax(scores, visible), values)
        outputs = ops.transpose(outputs, (0, 2, 1, 3))  # (B, Q, heads, size)
        return ops.reshape(outputs, (-1, ops.shape(outputs)[1], self.units))
