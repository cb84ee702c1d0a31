"""A speaker of two LSTMs, one that looks and one that speaks."""

import keras
from keras import ops

from tfcap.models.caption_speaker import CaptionSpeaker
from tfcap.models.image_memory import ImageMemory
from tfcap.models.lstm_step import forget_bias
from tfcap.models.lstm_step import lstm_step
from tfcap.models.stepwise_dense import StepwiseDense
from tfcap.ops.arguments import checked_integer


@keras.saving.register_keras_serializable(package="tfcap")
class UpDownSpeaker(CaptionSpeaker):
    """Bottom-up and top-down attention: one LSTM looks, another speaks.

    With `x` a word, `mean` the average image position, and `h1`, `h2` the
    states before it,

    ```
    h1, c1 = LSTM([x, mean, h2], (h1, c1))     # looks
    seen = attention(h1, positions)
    h2, c2 = LSTM([seen, h1], (h2, c2))        # speaks
    ```

    Args:
        vocabulary_size: Integer `V`, special tokens included.
        units: Integer, size of both LSTMs and of a projected image position.
            Defaults to `512`.
        embedding_units: Integer. Defaults to `units`.
        attention_units: Integer, size of the hidden layer of the attention's
            score. Defaults to `units`.
        **kwargs: Those of `tfcap.models.CaptionSpeaker`.

    Call arguments:
        inputs: Dict of `image` `(B, P, D)`, `caption` `(B, S, T)` and
            optionally `image_mask` `(B, P)`.
        training: Boolean.

    Returns:
        Float32 tensor of shape `(B, S, T, V)`: teacher-forced logits.

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

    def __init__(
        self,
        vocabulary_size,
        units=512,
        embedding_units=None,
        attention_units=None,
        **kwargs,
    ):
        units = checked_integer(units, "units")
        super().__init__(
            vocabulary_size, units, embedding_units or units, **kwargs
        )
        attention_units = attention_units or units
        self.attention_units = checked_integer(
            attention_units, "attention_units"
        )
        self.memory = ImageMemory(
            units,
            self.attention_units,
            dropout=self.image_dropout.rate,
            name="memory",
        )

        def gates(name, **options):
            return StepwiseDense(4 * units, name=name, **options)

        bias = forget_bias(units)
        self.word_gates = gates("word_gates", bias_initializer=bias)
        self.image_gates = gates("image_gates", use_bias=False)
        self.look_gates = gates("look_gates", use_bias=False)
        self.speak_gates = gates("speak_gates", bias_initializer=bias)

    def build_network(self, image_shape):
        hidden = (None, self.units)
        self.memory.build(hidden, image_shape)
        self.word_gates.build((None, self.embedding_units))
        self.image_gates.build(hidden)
        self.look_gates.build((None, 2 * self.units))
        self.speak_gates.build((None, 3 * self.units))

    def look(self, image, mask, training=False):
        memory = self.memory.remember(image, mask, training)
        mean = self.memory.mean(memory)
        zeros = ops.zeros_like(mean)
        return {
            "looking": [zeros, zeros],
            "speaking": [zeros, zeros],
            "mean_gates": self.image_gates(mean),
            "memory": memory,
        }

    def word_inputs(self, embedded):
        return self.word_gates(embedded)

    def advance(self, inputs, state, training=False):
        (look, look_carry), (speak, speak_carry) = (
            state["looking"],
            state["speaking"],
        )
        before = ops.concatenate([look, speak], axis=-1)
        gates = inputs + state["mean_gates"] + self.look_gates(before)
        look, look_carry = lstm_step(gates, look_carry)
        seen = self.memory(look, state["memory"])
        before = ops.concatenate([seen, look, speak], axis=-1)
        speak, speak_carry = lstm_step(self.speak_gates(before), speak_carry)
        return speak, {
            **state,
            "looking": [look, look_carry],
            "speaking": [speak, speak_carry],
        }

    def get_config(self):
        return {
            **super().get_config(),
            "attention_units": self.attention_units,
        }
