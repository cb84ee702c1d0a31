"""Encoder of answers into the space of a discriminator."""

import keras
from keras import ops

from tfcap._ops import SeedGenerator
from tfcap._ops import masked_softmax
from tfcap._ops.arguments import checked_integer
from tfcap._ops.arguments import checked_rate
from tfcap.layers.sequence_encoder import SequenceEncoder


@keras.saving.register_keras_serializable(package="tfcap")
class AnswerEncoder(keras.layers.Layer):
    """Reads an answer and pools its words by self-attention.

    ```
    h = lstm(words)                              # (..., T, units)
    a = softmax(tanh(h @ W1 + b1) @ w2)          # over the words
    encoding = tanh((a @ h) @ W + b)
    ```

    Uninformative words have a small weight, which keeps paraphrases close.
    Without attention the last state is taken in place of `a @ h`.

    Args:
        units: Integer, size of the recurrent state and of the attention.
        output_units: Integer, size of the encoding, or `None` for `units`.
        attention: Boolean, whether to attend. Defaults to `True`.
        dropout: Float in `[0, 1)`, rate of dropout inside the attention; 0.5
            in the authors' code. Defaults to `0.0`.
        seed: Integer, optional seed of the dropout.

    Call arguments:
        inputs: Float tensor of embedded words, of shape `(..., T, E)`.
        mask: Tensor of shape `(..., T)`, nonzero where there is a word. The
            mask of a `SoftEmbedding` arrives by itself; distributions need it
            given.
        training: Boolean, whether to drop out.

    Returns:
        Float tensor of shape `(..., output_units)`.

    Example:

    >>> encode = tfcap.layers.AnswerEncoder(8, output_units=6)
    >>> encode(np.ones((2, 10, 3, 4))).shape
    TensorShape([2, 10, 6])

    Reference:

    - Lu et al., Best of Both Worlds, NIPS 2017, section 4.2. The authors'
      code leaves the end token out of the attention; here the mask decides,
      and that of a `SoftEmbedding` keeps it in, so that where an answer ends
      has a gradient.
    """

    def __init__(
        self,
        units: int,
        output_units: int | None = None,
        attention: bool = True,
        dropout: float = 0.0,
        seed: int | None = None,
        **kwargs,
    ):
        units = checked_integer(units, "units")
        super().__init__(**kwargs)
        dropout = checked_rate(dropout, "dropout")
        self.units = units
        if output_units is not None:
            output_units = checked_integer(output_units, "output_units")
        self.output_units = output_units
        self.attention = attention
        self.dropout = dropout
        self.seed = seed
        self.seed_generator = SeedGenerator(self.seed)
        self.supports_masking = True
        options = {"dtype": self.dtype_policy}
        self.read = SequenceEncoder(
            units, return_sequences=attention, name="words", **options
        )
        self.project = keras.layers.Dense(
            output_units or units, activation="tanh", name="encoding", **options
        )
        if attention:
            self.hidden = keras.layers.Dense(
                units, activation="tanh", name="hidden", **options
            )
            self.score = keras.layers.Dense(
                1, use_bias=False, name="score", **options
            )

    def build(self, input_shape):
        self.read.build(input_shape)
        self.project.build((None, self.units))
        if self.attention:
            self.hidden.build((None, self.units))
            self.score.build((None, self.units))
        self.built = True

    def call(self, inputs, mask=None, training=False):
        states = self.read(inputs, mask=mask)  # (..., T, units)
        if not self.attention:
            return self.project(states)
        hidden = self.hidden(states)
        if training and self.dropout > 0.0:
            hidden = keras.random.dropout(
                hidden, self.dropout, seed=self.seed_generator
            )
        weights = masked_softmax(self.score(hidden)[..., 0], mask)
        # (..., 1, T) @ (..., T, units)
        pooled = ops.matmul(weights[..., None, :], states)[..., 0, :]
        return self.project(pooled)

    def compute_mask(self, inputs, mask=None):
        return None

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-2], self.output_units or self.units)

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "output_units": self.output_units,
            "attention": self.attention,
            "dropout": self.dropout,
            "seed": self.seed,
        }
