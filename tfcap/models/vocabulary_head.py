"""The layer that weighs the words."""

import keras
import numpy as np
from keras import ops

from tfcap.layers.stepwise import Stepwise
from tfcap.models.stepwise_product import StepwiseProduct
from tfcap.ops import token_log_probs


@keras.saving.register_keras_serializable(package="tfcap")
class VocabularyHead(Stepwise, keras.layers.Layer):
    """Logits of the next word, in float32.

    ```
    logits = scale * (hidden @ kernel + bias)      # -1e9 for `unsaid`
    ```

    What is never said costs nothing: it is part of the bias.

    Args:
        vocabulary_size: Integer `V`.
        unsaid: Tuple of integers, ids that are never said.
        scale: Float, factor on the logits. Defaults to `1.0`.

    Call arguments:
        hidden: Float tensor of shape `(..., D)`.

    Returns:
        Float32 tensor of shape `(..., V)`.
    """

    def __init__(self, vocabulary_size, unsaid, scale=1.0, **kwargs):
        super().__init__(**kwargs)
        self.vocabulary_size = vocabulary_size
        self.unsaid = tuple(unsaid)
        self.scale = scale
        self.supports_masking = True
        self.floor = np.zeros(vocabulary_size, "float32")
        self.floor[[*self.unsaid]] = -1e9

    def build(self, input_shape):
        self.units = input_shape[-1]
        self.kernel = self.add_weight(
            shape=(self.units, self.vocabulary_size),
            initializer="glorot_uniform",
            name="kernel",
        )
        self.bias = self.add_weight(
            shape=(self.vocabulary_size,),
            initializer="zeros",
            autocast=False,
            name="bias",
        )
        self.built = True

    def call(self, hidden):
        # Two axes: TensorFlow's product of more is slower, the more so its
        # gradient.
        rows = ops.reshape(hidden, (-1, self.units))
        rows = ops.cast(rows, self.compute_dtype) * self.scale
        product = self.shared
        if product is None or not product.takes(rows):
            product = self._weigh
        shape = (-1, *ops.shape(hidden)[1:-1], self.vocabulary_size)
        return ops.reshape(product(rows), shape)

    def share(self, rows, steps):
        return StepwiseProduct(*self._factors(), rows, steps)

    def _factors(self):
        bias = ops.cast(self.bias, "float32") * self.scale + self.floor
        return ops.cast(self.kernel, self.compute_dtype), bias

    def _weigh(self, rows):
        kernel, bias = self._factors()
        return ops.cast(ops.matmul(rows, kernel), "float32") + bias

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], self.vocabulary_size)

    def get_config(self):
        return {
            **super().get_config(),
            "vocabulary_size": self.vocabulary_size,
            "unsaid": self.unsaid,
            "scale": self.scale,
        }


def masked_word_scores(weigh, hidden, tokens, mask):
    """Log probabilities of given words, computed for unmasked words alone.

    A third of a batch of captions is padding, and the head is the better part
    of a speaker. On backends without dynamic shapes every word is weighed.

    Args:
        weigh: Callable from `(n, D)` to logits `(n, V)`.
        hidden: Float tensor of shape `(B, T, D)`.
        tokens: Integer tensor of shape `(B, T)`.
        mask: Tensor of shape `(B, T)`, nonzero where a word counts.

    Returns:
        Float32 tensor of shape `(B, T)`, 0 under the mask.
    """
    if keras.backend.backend() != "tensorflow":
        scores = token_log_probs(weigh(hidden), tokens)
        return ops.where(ops.cast(mask, "bool"), scores, 0.0)
    import tensorflow as tf

    index = tf.where(tf.cast(mask, tf.bool))
    logits = weigh(tf.gather_nd(hidden, index))
    scores = token_log_probs(logits, tf.gather_nd(tokens, index))
    shape = tf.shape(tokens, out_type=index.dtype)
    scores = tf.scatter_nd(index, scores, shape)
    return tf.ensure_shape(scores, tokens.shape)
