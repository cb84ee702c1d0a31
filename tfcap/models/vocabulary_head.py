"""The layer that weighs the words."""

import contextlib
import threading

import keras
import numpy as np
from keras import ops

from tfcap.ops import token_log_probs


class VocabularyHead(keras.layers.Layer):
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
        self.scale = scale
        self.supports_masking = True
        self.floor = np.zeros(vocabulary_size, "float32")
        self.floor[list(unsaid)] = -1e9
        # Replicas decode side by side, each in a thread of its own.
        self._decode = threading.local()

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
        step = getattr(self._decode, "step", None) or self._weigh
        shape = (-1, *ops.shape(hidden)[1:-1], self.vocabulary_size)
        return ops.reshape(step(rows), shape)

    @contextlib.contextmanager
    def decoding(self, rows, steps):
        """Context of a decode, in which the head is called step by step.

        On TensorFlow the kernel is read once, and its gradient is one product
        over all steps: see `StepwiseProduct`.

        Args:
            rows: Integer or scalar tensor, rows of every call.
            steps: Integer, calls at most.
        """
        if keras.backend.backend() == "tensorflow":
            from tfcap.models.stepwise_product import StepwiseProduct

            kernel = ops.cast(self.kernel, self.compute_dtype)
            bias = self._whole_bias()
            self._decode.step = StepwiseProduct(kernel, bias, rows, steps)
        try:
            yield self
        finally:
            self._decode.step = None

    def _weigh(self, rows):
        logits = ops.cast(ops.matmul(rows, self.kernel), "float32")
        return logits + self._whole_bias()

    def _whole_bias(self):
        return ops.cast(self.bias, "float32") * self.scale + self.floor

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], self.vocabulary_size)


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
