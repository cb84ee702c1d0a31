"""Base class of the layers that turn word logits into words."""

import contextlib

import keras
from keras import ops

from tfcap.layers._fast.word_vectors import Words
from tfcap.layers._fast.word_vectors import cast_words
from tfcap.layers._fast.word_vectors import ids_of_words
from tfcap.layers._fast.word_vectors import remember_words
from tfcap.layers.inverse_cdf import sample_words
from tfcap.ops import SeedGenerator
from tfcap.ops import likeliest_words
from tfcap.ops.arguments import checked_seed


class WordChannel(keras.layers.Layer):
    """Turns word logits into word vectors that a listener can read.

    In training, subclasses decide in `emit()` what is passed on: a sampled
    one-hot vector, a relaxed one, or a mixture. At inference every channel
    emits the one-hot vector of the most likely word.

    Channels compute in float32 whatever the dtype policy, and return the
    policy's compute dtype: half precision holds neither the probabilities of
    a large vocabulary nor a sum over them.

    To write a channel, override `emit()`; if it may pass anything but one-hot
    vectors forward, `discrete`; if it passes no gradient back,
    `differentiable`.

    Args:
        seed: Integer, optional seed of the channel's sampling.

    Call arguments:
        logits: Float tensor of shape `(..., V)`, unnormalized log
            probabilities of the `V` words of the vocabulary.
        training: Boolean, whether to sample (`emit()`) or take the argmax.

    Returns:
        Float tensor of shape `(..., V)`; each last axis sums to one.
    """

    def __init__(self, seed=None, **kwargs):
        kwargs.setdefault("autocast", False)
        super().__init__(**kwargs)
        self.seed = checked_seed(seed)
        self.seed_generator = SeedGenerator(self.seed)
        self.supports_masking = True

    @property
    def discrete(self):
        """Whether every emitted vector is exactly one-hot in training."""
        return True

    @property
    def differentiable(self):
        """Whether gradients pass from what is emitted to the logits."""
        return True

    def build(self, input_shape):
        if input_shape[-1] is None:
            raise ValueError(
                "`logits` must have a static last axis, the vocabulary. "
                f"Received: shape={tuple(input_shape)}."
            )
        self.built = True

    def emit(self, logits, noise=None):
        """What the channel passes on in training.

        Args:
            logits: Float32 tensor of shape `(..., V)`.
            noise: The random numbers to use instead of drawing them; what
                they are is the subclass's affair. For tests.

        Returns:
            Float32 tensor of shape `(..., V)`.
        """
        raise NotImplementedError

    @contextlib.contextmanager
    def decoding(self, rows):
        """Context of one decode, in which the channel is called step by step.

        A decoder that emits `rows` sequences one step at a time wraps its
        loop in this context, so that a channel can hold what it shares over
        the steps. The base class holds nothing.

        Args:
            rows: Integer or scalar tensor, the number of sequences.
        """
        yield self

    def call(self, logits, training=False):
        logits = ops.cast(logits, "float32")
        if training:
            words = self.emit(logits)
        else:
            words = self.one_hot(likeliest_words(logits), logits)
        return cast_words(words, self.compute_dtype)

    def draw(self, logits):
        """Emits in training, and names the word each vector stands for.

        A relaxed vector stands for the word that was drawn with it, which
        need not be its largest entry: a decoder ends a sequence by it.

        Args:
            logits: Float tensor of shape `(..., V)`.

        Returns:
            Pair of the vectors, of shape `(..., V)`, and the words' ids, an
            integer tensor of shape `(...)`.
        """
        words = self(logits, training=True)
        return words, ids_of_words(words)

    def sample(self, probabilities, noise=None):
        """Draws one word from each distribution, without gradient.

        Args:
            probabilities: Float32 tensor of shape `(..., V)`.
            noise: Float tensor of shape `(...)`, uniform in `[0, 1)`, or
                `None` to draw it.

        Returns:
            Float32 one-hot tensor of shape `(..., V)`.
        """
        probabilities = ops.stop_gradient(probabilities)
        shape = ops.shape(probabilities)
        if noise is None:
            noise = self.uniform(shape[:-1])
        flat = ops.reshape(probabilities, (-1, shape[-1]))
        ids = sample_words(flat, ops.reshape(noise, (-1,)))
        return self.one_hot(ops.reshape(ids, shape[:-1]), probabilities)

    def uniform(self, shape, minval=0.0):
        """Float32 tensor, uniform in `[minval, 1)`, from the layer's seed."""
        return keras.random.uniform(
            shape, minval=minval, dtype="float32", seed=self.seed_generator
        )

    def one_hot(self, ids, logits):
        """One-hot vectors of `ids`, as wide as the last axis of `logits`.

        They remember the ids: what embeds them need not multiply.
        """
        vectors = ops.one_hot(ids, logits.shape[-1], dtype=logits.dtype)
        return remember_words(vectors, Words(ids))

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        return {**super().get_config(), "seed": self.seed}
