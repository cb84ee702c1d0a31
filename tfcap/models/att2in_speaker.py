"""Speaker with attention in its LSTM's cell input."""

from typing import Any

import keras
from keras import ops

from tfcap._ops.arguments import checked_integer
from tfcap.layers._fast import StepwiseDense
from tfcap.models.caption_speaker import CaptionSpeaker
from tfcap.models.image_memory import ImageMemory
from tfcap.models.word_by_word import forget_bias


@keras.saving.register_keras_serializable(package="tfcap")
class Att2inSpeaker(CaptionSpeaker):
    """LSTM that attends to image positions, in its cell input alone.

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
        embedding_units: int | None = None,
        attention_units: int | None = None,
        embedding_activation: Any = "relu",
        **kwargs,
    ):
        units = checked_integer(units, "units")
        super().__init__(
            vocabulary_size,
            units,
            embedding_units or units,
            embedding_activation=embedding_activation,
            **kwargs,
        )
        attention_units = attention_units or units
        self.attention_units = checked_integer(
            attention_units, "attention_units"
        )
        options = {"dtype": self.dtype_policy}
        self.memory = ImageMemory(
            units,
            self.attention_units,
            dropout=self.image_dropout.rate,
            name="memory",
            **options,
        )
        self.word_gates = StepwiseDense(
            5 * units,
            bias_initializer=forget_bias(units),
            name="word_gates",
            **options,
        )
        self.state_gates = StepwiseDense(
            5 * units,
            use_bias=False,
            kernel_initializer="orthogonal",
            name="state_gates",
            **options,
        )
        self.image_cell = StepwiseDense(
            2 * units, use_bias=False, name="image_cell", **options
        )

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

    def project_inputs(self, embedded):
        return self.word_gates(embedded)

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

    def get_config(self):
        return {
            **super().get_config(),
            "attention_units": self.attention_units,
        }
