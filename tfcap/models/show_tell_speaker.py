"""A speaker that reads the average image position."""

import keras
from keras import ops

from tfcap._ops import masked_mean
from tfcap._ops.arguments import check_choice
from tfcap.layers._fast import StepwiseDense
from tfcap.models.caption_speaker import CaptionSpeaker
from tfcap.models.word_by_word import forget_bias
from tfcap.models.word_by_word import lstm_step

IMAGE_AT = ("start", "every_step")


@keras.saving.register_keras_serializable(package="tfcap")
class ShowTellSpeaker(CaptionSpeaker):
    """LSTM captioner that reads the whole image first.

    Image positions are averaged. The LSTM sees the average

    - `image_at="start"`: once, as the input before the start token, as Show
      and Tell does;
    - `image_at="every_step"`: as its first state, and with every word,

    ```
    h, c = tanh(image @ W0 + b0)
    gates = word @ W + h @ U + image @ G + b         # at every step
    ```

    The second learns faster from few images.

    Args:
        vocabulary_size: Integer `V`, special tokens included.
        units: Integer, size of the LSTM. Defaults to `512`.
        embedding_units: Integer. Defaults to `units`.
        image_at: `"start"` or `"every_step"`. Defaults to `"every_step"`.
        **kwargs: Those of `tfcap.models.CaptionSpeaker`.

    Call arguments, Returns:
        As of `tfcap.models.CaptionSpeaker`.

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=8)
    >>> batch = {
    ...     "image": np.zeros((1, 1, 3)),
    ...     "caption": np.array([[[5, 6, 2, 0]]]),
    ... }
    >>> speaker(batch).shape
    TensorShape([1, 1, 4, 50])
    >>> captions = tfcap.decoding.Greedy(max_length=4)
    >>> captions.decode(speaker, speaker.begin(batch)).tokens.shape
    TensorShape([1, 1, 4])

    Reference:

    - Vinyals et al., Show and Tell, CVPR 2015, section 3
    - Rennie et al., Self-critical Sequence Training, CVPR 2017, section 2,
      "FC models"
    """

    def __init__(
        self,
        vocabulary_size: int,
        units: int = 512,
        embedding_units: int | None = None,
        image_at: str = "every_step",
        **kwargs,
    ):
        super().__init__(vocabulary_size, units, embedding_units, **kwargs)
        check_choice(image_at, "image_at", IMAGE_AT)
        self.image_at, units = image_at, self.units
        options = {"dtype": self.dtype_policy}
        self.word_gates = StepwiseDense(
            4 * units,
            bias_initializer=forget_bias(units),
            name="word_gates",
            **options,
        )
        self.state_gates = StepwiseDense(
            4 * units,
            use_bias=False,
            kernel_initializer="orthogonal",
            name="state_gates",
            **options,
        )
        if image_at == "start":
            self.image_word = keras.layers.Dense(
                self.embedding_units, name="image_word", **options
            )
        else:
            self.image_state = keras.layers.Dense(
                2 * units, activation="tanh", name="image_state", **options
            )
            self.image_gates = keras.layers.Dense(
                4 * units, use_bias=False, name="image_gates", **options
            )

    def build_network(self, image_shape):
        self.word_gates.build((None, self.embedding_units))
        self.state_gates.build((None, self.units))
        image = (None, image_shape[-1])
        if self.image_at == "start":
            self.image_word.build(image)
        else:
            self.image_state.build(image)
            self.image_gates.build(image)

    def encode_image(self, image, mask, training=False):
        if mask is not None:
            mask = mask[..., None]
        image = masked_mean(image, mask, axis=1)
        image = self.image_dropout(image, training=training)
        if self.image_at == "start":
            gates = self.word_gates(self.image_word(image))
            return list(
                lstm_step(gates, ops.zeros_like(gates[:, : self.units]))
            )
        return [
            *ops.split(self.image_state(image), 2, axis=-1),
            self.image_gates(image),
        ]

    def project_inputs(self, embedded):
        return self.word_gates(embedded)

    def cell_step(self, inputs, state, training=False):
        hidden, carry, *image_gates = state
        gates = inputs + self.state_gates(hidden)
        for image in image_gates:  # none with `image_at="start"`
            gates = gates + image
        hidden, carry = lstm_step(gates, carry)
        return hidden, [hidden, carry, *image_gates]

    def get_config(self):
        return {**super().get_config(), "image_at": self.image_at}
