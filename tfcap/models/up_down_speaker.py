"""Speaker of two LSTMs: one of attention, one of language."""

import keras
from keras import ops

from tfcap._ops.arguments import checked_integer
from tfcap.layers._fast import StepwiseDense
from tfcap.models.caption_speaker import CaptionSpeaker
from tfcap.models.image_memory import ImageMemory
from tfcap.models.word_by_word import forget_bias
from tfcap.models.word_by_word import lstm_step


@keras.saving.register_keras_serializable(package="tfcap")
class UpDownSpeaker(CaptionSpeaker):
    """Bottom-up and top-down attention: an attention and a language LSTM.

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

    def __init__(
        self,
        vocabulary_size: int,
        units: int = 512,
        embedding_units: int | None = None,
        attention_units: int | None = None,
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
            dtype=self.dtype_policy,
        )

        def gates(name, **options):
            options["dtype"] = self.dtype_policy
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

    def project_inputs(self, embedded):
        return self.word_gates(embedded)

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

    def get_config(self):
        return {
            **super().get_config(),
            "attention_units": self.attention_units,
        }
