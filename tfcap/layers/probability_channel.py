"""Any TensorFlow Probability distribution over words, as a word channel."""

import keras

from tfcap._ops import likeliest_words
from tfcap._ops import straight_through
from tfcap.layers._fast.word_vectors import remember_words
from tfcap.layers._fast.word_vectors import remembered_words
from tfcap.layers.word_channel import WordChannel


@keras.saving.register_keras_serializable(package="tfcap")
class ProbabilityChannel(WordChannel):
    """Emits samples of a TensorFlow Probability distribution over words.

    Emitted is the one-hot vector of the sample's largest entry, with the
    gradient of the sample where the distribution is reparameterized, as
    `RelaxedOneHotCategorical` is, and without a gradient otherwise.

    Needs the TensorFlow backend and `pip install tfcap[probability]`.

    Args:
        distribution: String, a class of `tfp.distributions` that takes
            `logits` of shape `(..., V)` and has samples of that shape.
            Defaults to `"OneHotCategorical"`.
        options: Dictionary of further arguments of the class. Defaults to
            `None`.
        seed: Integer, optional seed of the sampling.

    Call arguments:
        logits: Float tensor of shape `(..., V)`.
        training: Boolean. If `False`, emits the argmax as a one-hot vector.

    Returns:
        Float tensor of shape `(..., V)`.

    Raises:
        ImportError: If TensorFlow Probability is not installed.
        TypeError: If the distribution is not given by its name.

    Example:

    ```python
    channel = tfcap.layers.ProbabilityChannel(
        "RelaxedOneHotCategorical", {"temperature": 0.5}
    )
    words = channel(logits, training=True)
    ```
    """

    def __init__(
        self,
        distribution="OneHotCategorical",
        options=None,
        seed=None,
        **kwargs,
    ):
        super().__init__(seed=seed, **kwargs)
        if not isinstance(distribution, str):
            raise TypeError(
                "`distribution` must be the name of a class of "
                "`tfp.distributions`, a string, so that the channel can be "
                f"saved. Received: distribution={distribution!r}. Give "
                f"{getattr(distribution, '__name__', 'its name')!r}."
            )
        self.distribution = distribution
        self.options = options
        distributions = _distributions()
        if not hasattr(distributions, distribution):
            raise ValueError(
                "`distribution` must name a class of `tfp.distributions`. "
                f"Received: distribution={distribution!r}."
            )
        self._make = getattr(distributions, distribution)

    @property
    def differentiable(self):
        # A property of the class: the logits do not matter.
        made = self._make(logits=[0.0, 0.0], **(self.options or {}))
        return _reparameterized(made)

    @property
    def replays(self):
        return True

    def noise(self, shape):
        return self.seed_generator.next()

    def emit(self, logits, noise=None):
        """Samples; `noise` is a seed, integers of shape `(2,)`."""
        sample = self._sample(logits, noise)
        hard = self.one_hot(likeliest_words(sample), logits)
        return self._passed(hard, sample) if self.differentiable else hard

    def emit_words(self, logits, ids, noise):
        import tensorflow as tf

        words = self.one_hot(ids, logits)
        if not self.differentiable:
            return words
        steps = tf.transpose(logits, (1, 0, 2)), noise  # (T, n, V), (T, 2)
        sample = tf.map_fn(
            lambda step: self._sample(*step), steps, logits.dtype
        )
        return self._passed(words, tf.transpose(sample, (1, 0, 2)))

    def _sample(self, logits, seed):
        """Draws vectors `(..., V)`."""
        import tensorflow as tf

        made = self._make(logits=logits, **(self.options or {}))
        seed = self.noise(()) if seed is None else seed
        # TensorFlow Probability takes int32 seeds only.
        sample = made.sample(seed=tf.cast(seed, tf.int32))
        return tf.ensure_shape(tf.cast(sample, logits.dtype), logits.shape)

    def _passed(self, hard, sample):
        """One-hot vectors with the gradient of the sample."""
        vectors = straight_through(hard, sample)
        return remember_words(vectors, remembered_words(hard))

    def get_config(self):
        return {
            **super().get_config(),
            "distribution": self.distribution,
            "options": self.options,
        }


def _reparameterized(made):
    return (
        made.reparameterization_type == _distributions().FULLY_REPARAMETERIZED
    )


def _distributions():
    if keras.backend.backend() != "tensorflow":
        raise ImportError(
            "`ProbabilityChannel` needs the TensorFlow backend. "
            f"Received: backend={keras.backend.backend()!r}."
        )
    try:
        import tensorflow_probability as tfp

        return tfp.distributions
    except ImportError as error:
        raise ImportError(
            "`ProbabilityChannel` needs TensorFlow Probability. "
            "Install it with `pip install tfcap[probability]`."
        ) from error
