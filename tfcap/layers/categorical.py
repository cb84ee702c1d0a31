"""Word channel that samples, and passes no gradient."""

import keras
from keras import ops

from tfcap.layers.word_channel import WordChannel


@keras.saving.register_keras_serializable(package="tfcap")
class Categorical(WordChannel):
    """Samples a word from every distribution.

    The channel of policy-gradient estimators: words come from the model's own
    distribution and carry no gradient.

    ```
    output = one_hot(w), with w ~ softmax(logits / temperature)
    ```

    Args:
        temperature: Float, positive, or a schedule, or a `keras.Variable` that
            holds it and is saved as the number that it is then. Other than 1
            the words no longer come from the distribution whose log
            probabilities an estimator differentiates, which biases it.
            Defaults to `1.0`.
        seed: Integer, optional seed of the sampling.

    Call arguments:
        logits: Float tensor of shape `(..., V)`.
        training: Boolean. If `False`, emits the argmax as a one-hot vector.

    Returns:
        Float tensor of shape `(..., V)`, one-hot.

    Example:

    >>> channel = tfcap.layers.Categorical(seed=0)
    >>> words = channel(np.log([[0.5, 0.5, 1e-9]]), training=True)
    >>> float(words[0, 2]), float(words.numpy().sum())
    (0.0, 1.0)
    """

    def __init__(self, temperature=1.0, seed=None, **kwargs):
        super().__init__(seed=seed, **kwargs)
        self.hold(
            "temperature", temperature, "positive", lambda x: x > 0, held=False
        )

    @property
    def temperature(self):
        """The current temperature: a number, a variable of the user's own, or
        a schedule's value."""
        return self.value_of("temperature")

    @property
    def differentiable(self):
        return False

    def emit(self, logits, noise=None):
        """Samples; `noise` is uniform in `[0, 1)`, of shape `(...)`."""
        temperature = ops.cast(self.temperature, logits.dtype)
        soft = ops.softmax(logits / temperature, axis=-1)
        return self.sample(soft, noise)

    def get_config(self):
        temperature = self.config_of("temperature")
        return {**super().get_config(), "temperature": temperature}
