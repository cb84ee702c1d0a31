"""A transformer speaker and its blocks."""

from typing import Any

import keras
from keras import ops

from tfcap._ops import SeedGenerator
from tfcap._ops import masked_softmax
from tfcap._ops.arguments import check_length
from tfcap._ops.arguments import checked_integer
from tfcap._ops.arguments import checked_rate
from tfcap._ops.arguments import config_of
from tfcap._ops.replicas import drop_out
from tfcap.models.caption_speaker import CaptionSpeaker


class TransformerBlock(keras.layers.Layer):
    """Self-attention and a feed-forward layer, each after a normalization.

    ```
    x = x + dropout(attention(norm(x)))
    x = x + dropout(gelu(norm(x) @ W1 + b1) @ W2 + b2)
    ```

    Args:
        units: Integer `D`, size of the residual stream.
        heads: Integer that divides `units`.
        hidden_units: Integer, size of the feed-forward layer.
        dropout: Float, dropout rate of both layers' outputs. Defaults to
            `0.0`.
        seed: Integer, optional seed of the dropout.

    Call arguments:
        inputs: Float tensor of shape `(B, Q, D)`.
        past: Pair of keys and values of shape `(B, M, D)`, of the entries
            before, or `None`.
        visible: Tensor that broadcasts to `(B, Q, M + Q)`, nonzero where an
            entry may attend, or `None` for everywhere.
        place: Integer tensor of shape `(B,)`, the index in `past` at which
            keys and values are written, rather than appended, for `Q = 1`;
            `past` then has shape `(B, heads, M, D / heads)` and `visible`
            `(B, 1, M)`. Defaults to `None`.
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
        if units % heads:
            raise ValueError(
                "`heads` must divide `units`. Received: "
                f"heads={heads}, units={units}."
            )
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
            own = [_put(new, old, place) for new, old in zip(own, past)]
            attended = self._attend(self.by_head(query), *own, visible)
        else:
            if past is not None:
                memory = [
                    ops.concatenate(pair, axis=1) for pair in zip(past, memory)
                ]
            parts = map(self.by_head, (query, *memory))
            attended = self._attend(*parts, visible)
        attended = ops.transpose(attended, (0, 2, 1, 3))  # (B, Q, heads, size)
        attended = ops.reshape(attended, ops.shape(inputs))
        stream = inputs + self.drop(self.merge(attended), training)
        fed = self.shrink(self.expand(self.norms[1](stream)))
        return stream + self.drop(fed, training), own

    def drop(self, tensor, training):
        """Applies dropout in training."""
        return drop_out(tensor, self.dropout, self.seed_generator, training)

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


def _put(new, old, place):
    """Writes an entry `(B, 1, D)` into `(B, heads, M, D / heads)`."""
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


@keras.saving.register_keras_serializable(package="tfcap")
class TransformerSpeaker(CaptionSpeaker):
    """A decoder-only transformer that reads the image as a prefix.

    Image positions attend to one another; a word attends to them and to the
    words before it. The state caches keys and values, so that a step computes
    one word; given words are read in one pass. Decoders therefore draw words
    in a loop and then read them in one pass, see `tfcap.decoding.Sample`.

    Args:
        vocabulary_size: Integer `V`, special tokens included.
        units: Integer, size of the residual stream and of the embeddings.
            Defaults to `512`.
        layers: Integer, number of blocks. Defaults to `3`.
        heads: Integer that divides `units`. Defaults to `8`.
        hidden_units: Integer, size of the feed-forward layers. Defaults to
            `4 * units`.
        max_length: Integer, maximum number of words of a caption, with the end
            token. Defaults to `16`.
        block_dropout: Float, dropout rate of a block's output. Defaults to
            `0.1`.
        **kwargs: Those of `tfcap.models.CaptionSpeaker` except
            `embedding_units`.

    Call arguments, Returns:
        As of `tfcap.models.CaptionSpeaker`, with `T <= max_length`.

    Example:

    >>> speaker = tfcap.models.TransformerSpeaker(
    ...     50, units=8, layers=2, heads=2, max_length=4
    ... )
    >>> batch = {
    ...     "image": np.zeros((1, 49, 3)),
    ...     "caption": np.array([[[5, 6, 2, 0]]]),
    ... }
    >>> speaker(batch).shape
    TensorShape([1, 1, 4, 50])

    Reference:

    - Vaswani et al., Attention Is All You Need, NIPS 2017
    - Radford et al., Language Models are Unsupervised Multitask Learners,
      2019, section 2.3: normalized before each layer and at the end
    """

    unroll = False

    def __init__(
        self,
        vocabulary_size: int,
        units: int = 512,
        layers: int = 3,
        heads: int = 8,
        hidden_units: int | None = None,
        max_length: int = 16,
        block_dropout: float = 0.1,
        **kwargs,
    ):
        super().__init__(vocabulary_size, units, **kwargs)
        units = self.units
        self.num_layers = layers = checked_integer(layers, "layers")
        self.heads = heads = checked_integer(heads, "heads")
        self.hidden_units = checked_integer(
            hidden_units or 4 * units, "hidden_units"
        )
        self.max_length = max_length = checked_integer(max_length, "max_length")
        self.block_dropout = checked_rate(block_dropout, "block_dropout")
        options = {"dtype": self.dtype_policy}
        self.image_words = keras.layers.Dense(
            units, name="image_words", **options
        )
        self.positions = keras.layers.Embedding(
            max_length, units, name="positions", **options
        )
        self.blocks = [
            TransformerBlock(
                units,
                heads,
                self.hidden_units,
                block_dropout,
                name=f"block_{i}",
                **options,
            )
            for i in range(layers)
        ]
        self.norm = keras.layers.LayerNormalization(
            epsilon=1e-5, name="norm", **options
        )

    def build_network(self, image_shape):
        self.image_words.build(image_shape)
        self.positions.build((None,))
        for block in self.blocks:
            block.build((None, None, self.units))
        self.norm.build((None, None, self.units))

    def encode_image(self, image, mask, training=False):
        image = self.image_dropout(image, training=training)
        stream, memory = self.image_words(image), []
        visible = None if mask is None else mask[:, None]
        for block in self.blocks:
            stream, pair = block(stream, visible=visible, training=training)
            memory.append(pair)
        state = {"image": memory, "words": []}
        return state if mask is None else {**state, "mask": mask}

    def positions_read(self, state):
        # Words attend to positions and words together: their number matters.
        return ops.shape(state["image"][0][0])[1], state.get("mask")

    def fixed_state(
        self, state: dict, steps: int, room: int | None = None
    ) -> dict:
        """Returns a state of `begin()` with room for words.

        Args:
            state: Dict, from `begin()`.
            steps: Integer, maximum number of words that will be read.
            room: Integer, number of words before `extend_state()` is needed.
                Defaults to `steps`.
        """
        check_length(steps, self.max_length, "speaker")
        first = state["image"][0][0]
        zeros = ops.zeros_like(first[:, 0, 0], dtype="int32")
        fixed = {
            "memory": [
                [block.by_head(part) for part in pair]
                for block, pair in zip(self.blocks, state["image"])
            ],
            "position": zeros,
            "place": zeros + ops.shape(first)[1],
        }
        if "mask" in state:
            fixed["mask"] = ops.cast(ops.cast(state["mask"], "bool"), "float32")
        return self.extend_state(fixed, room or steps)

    def extend_state(self, state: dict, more: int) -> dict:
        """Returns a fixed state with room for `more` more words."""
        room = (0, more)

        def with_room(tensor):
            return ops.pad(tensor, [(0, 0), (0, 0), room, (0, 0)])

        memory = keras.tree.map_structure(with_room, state["memory"])
        state = {**state, "memory": memory}
        if "mask" in state:
            mask = ops.pad(state["mask"], [(0, 0), room], constant_values=1.0)
            state["mask"] = mask
        return state

    def _fixed_step(self, inputs, state, training):
        """Reads one word into a state of constant shapes."""
        place, memory = state["place"], []
        entries = ops.arange(ops.shape(state["memory"][0][0])[2], dtype="int32")
        visible = ops.cast(entries <= place[:, None], "float32")
        visible = visible * state["mask"] if "mask" in state else visible
        stream = (inputs + self.positions(state["position"]))[:, None]
        for block, past in zip(self.blocks, state["memory"]):
            stream, pair = block(
                stream,
                past=past,
                visible=visible[:, None],
                place=place,
                training=training,
            )
            memory.append(pair)
        return self.norm(stream)[:, 0], {
            **state,
            "memory": memory,
            "position": state["position"] + 1,
            "place": place + 1,
        }

    def cell_step(self, inputs, state, training=False):
        if "memory" in state:
            return self._fixed_step(inputs, state, training)
        stream, words = self._blocks(inputs[:, None], state, training)
        if state["words"]:
            words = [
                [ops.concatenate(part, axis=1) for part in zip(before, pair)]
                for before, pair in zip(state["words"], words)
            ]
        return stream[:, 0], {**state, "words": words}

    def state_vector(self, state: dict) -> Any:
        """Returns the last word's values in the last block: `(n, units)`."""
        if "memory" in state:
            last = state["place"][:, None, None, None] - 1
            values = state["memory"][-1][1]
            values = ops.take_along_axis(values, last, axis=2)
            return ops.reshape(values, (-1, self.units))
        if not state["words"]:
            raise ValueError(
                "`state` must be one that `step()` returned. Received: a "
                "state of `begin()`, before any word. Read the start token "
                "first."
            )
        values = state["words"][-1][1][:, -1]
        return ops.reshape(values, (-1, self.units))

    def run_rnn(self, embedded, state, training=False):
        return self._blocks(embedded, state, training)[0]

    def _blocks(self, stream, state, training):
        """Runs words through all blocks; also returns their keys and values."""
        past_length = state["words"][0][0].shape[1] if state["words"] else 0
        length = ops.shape(stream)[1]
        words = past_length + length
        words = check_length(words, self.max_length, "speaker")
        stream = stream + self.positions(ops.arange(past_length, words))
        visible, memory = self._visible(state, past_length, length), []
        for index, block in enumerate(self.blocks):
            past = state["image"][index]
            if past_length:
                past = [
                    ops.concatenate(part, axis=1)
                    for part in zip(past, state["words"][index])
                ]
            stream, pair = block(
                stream, past=past, visible=visible, training=training
            )
            memory.append(pair)
        return self.norm(stream), memory

    def _visible(self, state, past_length, length):
        """Attention mask: `(1 or B, T, P + past_length + T)`, or `None`."""
        image = state.get("mask")
        if image is None and isinstance(length, int) and length == 1:
            return None
        if image is None:
            positions = ops.shape(state["image"][0][0])[1]
            image = ops.ones((1, positions), dtype="float32")
        image = ops.cast(ops.cast(image, "bool"), "float32")[:, None]
        total = past_length + length
        order = ops.arange(past_length, total)[:, None]
        before = ops.cast(ops.arange(total)[None] <= order, "float32")
        rows, shape = ops.shape(image)[0], (length, total)
        return ops.concatenate(
            [
                ops.repeat(image, length, axis=1),
                ops.broadcast_to(before[None], (rows, *shape)),
            ],
            axis=-1,
        )

    def get_config(self):
        config = super().get_config()
        del config["embedding_units"]
        names = "heads hidden_units max_length block_dropout"
        config |= config_of(self, names)
        return {**config, "layers": self.num_layers}
