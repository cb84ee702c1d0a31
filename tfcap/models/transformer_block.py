"""Transformer block with keys and values of the past."""

import keras
from keras import ops

from tfcap._ops import SeedGenerator
from tfcap._ops import masked_softmax
from tfcap._ops.arguments import checked_rate

#: Queries that attend at once, where later ones are not seen; and most parts.
CHUNK, MOST_CHUNKS = 128, 8


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
            `Q = 1`; `past` is then of `(B, heads, M, D / heads)` and `visible`
            of `(B, 1, M)`. Defaults to `None`.
        causal: Boolean, whether no entry of `inputs` sees later ones, as
            `visible` must say; long sequences then need less memory. Defaults
            to `False`.
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

    def call(
        self,
        inputs,
        past=None,
        visible=None,
        place=None,
        causal=False,
        training=False,
    ):
        query, keys, values = ops.split(
            self.project(self.norms[0](inputs)), 3, axis=-1
        )
        memory = own = [keys, values]
        if place is not None:
            own = [_put(new, old, place) for new, old in zip(own, past)]
            attended = self._attend(self.by_head(query), *own, visible)
        else:
            if past is not None:
                memory = [
                    ops.concatenate(pair, axis=1) for pair in zip(past, memory)
                ]
            parts = map(self.by_head, (query, *memory))
            attend = self._attend_causally if causal else self._attend
            attended = attend(*parts, visible)
        attended = ops.transpose(attended, (0, 2, 1, 3))  # (B, Q, heads, size)
        attended = ops.reshape(attended, ops.shape(inputs))
        stream = inputs + self.drop(self.merge(attended), training)
        fed = self.shrink(self.expand(self.norms[1](stream)))
        return stream + self.drop(fed, training), own

    def drop(self, tensor, training):
        """Dropout, while training."""
        if not training or self.dropout == 0.0:
            return tensor
        return keras.random.dropout(
            tensor, self.dropout, seed=self.seed_generator
        )

    def by_head(self, tensor):
        """Splits `(B, M, D)` by heads, `(B, heads, M, D / heads)`."""
        shape = (-1, ops.shape(tensor)[1], self.heads, self.units // self.heads)
        return ops.transpose(ops.reshape(tensor, shape), (0, 2, 1, 3))

    def _attend(self, query, keys, values, visible):
        """Attention of all heads, `(B, heads, Q, D / heads)`."""
        query = query * (self.units // self.heads) ** -0.5
        scores = ops.matmul(query, ops.swapaxes(keys, -1, -2))
        if visible is not None:
            visible = ops.expand_dims(visible, -3)
        return ops.matmul(masked_softmax(scores, visible), values)

    def _attend_causally(self, query, keys, values, visible):
        """The same of long sequences, a part of the queries at a time.

        Weights of attention are computed again for gradients: memory grows
        with `M` rather than with `Q * M`.
        """
        length = query.shape[2]
        if length is None or length <= CHUNK:
            return self._attend(query, keys, values, visible)
        size = max(CHUNK, -(-length // MOST_CHUNKS))
        before, outputs = ops.shape(keys)[2] - length, []
        for start in range(0, length, size):
            end = min(start + size, length)

            def attend(query, keys, values, visible, start=start, end=end):
                seen = before + end
                return self._attend(
                    query[:, :, start:end],
                    keys[:, :, :seen],
                    values[:, :, :seen],
                    visible[:, start:end, :seen],
                )

            outputs.append(keras.remat(attend)(query, keys, values, visible))
        return ops.concatenate(outputs, axis=2)


def _put(new, old, place):
    """Puts an entry `(B, 1, D)` in its place in `(B, heads, M, D / heads)`."""
    rows, heads, room, size = ops.shape(old)
    first = ops.arange(rows * heads, dtype="int32") * room
    index = first + ops.repeat(place, heads)
    # On TensorFlow in the same memory, if nothing else reads the old.
    flat = ops.scatter_update(
        ops.reshape(old, (-1, size)),
        index[:, None],
        ops.reshape(new, (-1, size)),
    )
    return ops.reshape(flat, (-1, heads, room, size))
