"""Speakers that attend to the image at every word."""

from typing import Any

import keras
from keras import ops

from tfcap._ops import masked_mean
from tfcap._ops.arguments import checked_integer
from tfcap.layers._fast import StepwiseDense
from tfcap.layers.dialog_encoder import QueryAttention
from tfcap.models.caption_speaker import CaptionSpeaker
from tfcap.models.word_by_word import forget_bias
from tfcap.models.word_by_word import lstm_step


class ImageMemory(keras.layers.Layer):
    """Projects image positions once, and attends to them at every word.

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
        Float tensor of shape `(B, units)`; zeros if there is no position.
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


class AttentionSpeaker(CaptionSpeaker):
    """Base of speakers with an `ImageMemory` to which words attend."""

    def __init__(
        self,
        vocabulary_size: int,
        units: int = 512,
        embedding_units: int | None = None,
        attention_units: int | None = None,
        **kwargs,
    ):
        super().__init__(vocabulary_size, units, embedding_units, **kwargs)
        self.attention_units = checked_integer(
            attention_units or self.units, "attention_units"
        )
        self.memory = ImageMemory(
            self.units,
            self.attention_units,
            dropout=self.image_dropout.rate,
            name="memory",
            dtype=self.dtype_policy,
        )

    def project_inputs(self, embedded):
        return self.word_gates(embedded)

    def gates(self, count: int, name: str, **options) -> StepwiseDense:
        """Makes a layer of `count` gates, or of as many parts of a cell."""
        options["dtype"] = self.dtype_policy
        return StepwiseDense(count * self.units, name=name, **options)

    def get_config(self):
        attention = {"attention_units": self.attention_units}
        return {**super().get_config(), **attention}


@keras.saving.register_keras_serializable(package="tfcap")
class Att2inSpeaker(AttentionSpeaker):
    """LSTM with attention over image positions in its cell input.

    With `x` a word, `h` and `c` the state before it,

    ```
    v = attention(h, positions)
    i, f, o = sigmoid(x @ Wi + h @ Ui + bi), ...    # no image in the gates
    a, b = x @ Wa + h @ Ua + v @ Ia + ba, ...
    c = f * c + i * maximum(a, b)                   # maxout of two
    h = o * tanh(c)
    ```

    The state starts from zero: the image enters through attention only.

    Args:
        vocabulary_size: Integer `V`, special tokens included.
        units: Integer, size of the LSTM and of a projected image position.
            Defaults to `512`.
        embedding_units: Integer. Defaults to `units`.
        attention_units: Integer, size of the hidden layer of the attention's
            score. Defaults to `units`.
        embedding_activation: Activation of the embedded words. Defaults to
            `"relu"`.
        **kwargs: Those of `tfcap.models.CaptionSpeaker`.

    Call arguments, Returns:
        As of `tfcap.models.CaptionSpeaker`.

    Example:

    >>> speaker = tfcap.models.Att2inSpeaker(50, units=8)
    >>> batch = {
    ...     "image": np.zeros((1, 36, 3)),
    ...     "caption": np.array([[[5, 6, 2, 0]]]),
    ... }
    >>> speaker(batch).shape
    TensorShape([1, 1, 4, 50])

    Reference:

    - Rennie et al., Self-critical Sequence Training, CVPR 2017, section 2,
      "Att2in". As in the second form of the authors' code, which Vered et
      al., ICCV 2019, use, positions are projected through a ReLU before they
      are attended to. The rectified embedding is the code's too. The forget
      gate's bias starts from 1, the code's from 0.
    """

    def __init__(
        self,
        vocabulary_size: int,
        units: int = 512,
        embedding_activation: Any = "relu",
        **kwargs,
    ):
        super().__init__(
            vocabulary_size,
            units,
            embedding_activation=embedding_activation,
            **kwargs,
        )
        bias, options = forget_bias(self.units), {"use_bias": False}
        self.word_gates = self.gates(5, "word_gates", bias_initializer=bias)
        self.state_gates = self.gates(
            5, "state_gates", kernel_initializer="orthogonal", **options
        )
        self.image_cell = self.gates(2, "image_cell", **options)

    def build_network(self, image_shape):
        hidden = (None, self.units)
        self.memory.build(hidden, image_shape)
        self.word_gates.build((None, self.embedding_units))
        self.state_gates.build(hidden)
        self.image_cell.build(hidden)

    def encode_image(self, image, mask, training=False):
        memory = self.memory.remember(image, mask, training)
        zeros = ops.zeros_like(memory["positions"][:, 0])
        return {"hidden": zeros, "carry": zeros, "memory": memory}

    def cell_step(self, inputs, state, training=False):
        hidden, carry, units = state["hidden"], state["carry"], self.units
        attended = self.memory(hidden, state["memory"])
        sums = inputs + self.state_gates(hidden)  # (n, 5 * units)
        gates = ops.sigmoid(sums[:, : 3 * units])
        input_gate, forget_gate, output_gate = ops.split(gates, 3, axis=-1)
        halves = sums[:, 3 * units :] + self.image_cell(attended)
        candidate = ops.maximum(*ops.split(halves, 2, axis=-1))  # maxout
        carry = forget_gate * carry + input_gate * candidate
        hidden = output_gate * ops.tanh(carry)
        return hidden, {**state, "hidden": hidden, "carry": carry}


@keras.saving.register_keras_serializable(package="tfcap")
class UpDownSpeaker(AttentionSpeaker):
    """Bottom-up and top-down attention with two LSTMs.

    With `x` a word, `mean` the average image position, and `h1`, `h2` the
    states before it,

    ```
    h1, c1 = LSTM([x, mean, h2], (h1, c1))     # attention LSTM
    v = attention(h1, positions)
    h2, c2 = LSTM([v, h1], (h2, c2))           # language LSTM
    ```

    Args:
        vocabulary_size: Integer `V`, special tokens included.
        units: Integer, size of both LSTMs and of a projected image position.
            Defaults to `512`.
        embedding_units: Integer. Defaults to `units`.
        attention_units: Integer, size of the hidden layer of the attention's
            score. Defaults to `units`.
        **kwargs: Those of `tfcap.models.CaptionSpeaker`.

    Call arguments, Returns:
        As of `tfcap.models.CaptionSpeaker`.

    Example:

    >>> speaker = tfcap.models.UpDownSpeaker(50, units=8)
    >>> batch = {
    ...     "image": np.zeros((1, 36, 3)),
    ...     "caption": np.array([[[5, 6, 2, 0]]]),
    ... }
    >>> speaker(batch).shape
    TensorShape([1, 1, 4, 50])

    Reference:

    - Anderson et al., Bottom-Up and Top-Down Attention for Image Captioning,
      CVPR 2018, section 3.2. Positions are projected through a ReLU to
      `units` before they are averaged and attended to, as widely used
      reimplementations do; the paper reads them as they are, four times as
      large.
    """

    def __init__(self, vocabulary_size: int, units: int = 512, **kwargs):
        super().__init__(vocabulary_size, units, **kwargs)
        bias, options = forget_bias(self.units), {"use_bias": False}
        self.word_gates = self.gates(4, "word_gates", bias_initializer=bias)
        self.image_gates = self.gates(4, "image_gates", **options)
        self.look_gates = self.gates(4, "look_gates", **options)
        self.speak_gates = self.gates(4, "speak_gates", bias_initializer=bias)

    def build_network(self, image_shape):
        hidden = (None, self.units)
        self.memory.build(hidden, image_shape)
        self.word_gates.build((None, self.embedding_units))
        self.image_gates.build(hidden)
        self.look_gates.build((None, 2 * self.units))
        self.speak_gates.build((None, 3 * self.units))

    def encode_image(self, image, mask, training=False):
        memory = self.memory.remember(image, mask, training)
        mean = self.memory.mean(memory)
        zeros = ops.zeros_like(mean)
        return {
            "attention": [zeros, zeros],
            "language": [zeros, zeros],
            "image_gates": self.image_gates(mean),
            "image_memory": memory,
        }

    def cell_step(self, inputs, state, training=False):
        h1, c1 = state["attention"]
        h2, c2 = state["language"]
        before = ops.concatenate([h1, h2], axis=-1)
        gates = inputs + state["image_gates"] + self.look_gates(before)
        h1, c1 = lstm_step(gates, c1)
        attended = self.memory(h1, state["image_memory"])
        before = ops.concatenate([attended, h1, h2], axis=-1)
        h2, c2 = lstm_step(self.speak_gates(before), c2)
        return h2, {**state, "attention": [h1, c1], "language": [h2, c2]}
