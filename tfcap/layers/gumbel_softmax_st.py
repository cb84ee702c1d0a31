"""Straight-through Gumbel-softmax word channel."""

import keras
from keras import ops

from tfcap.layers.partial_sampling import PartialSampling
from tfcap.layers.partial_sampling import check_not_trained
from tfcap.ops import likeliest_words


@keras.saving.register_keras_serializable(package="tfcap")
class GumbelSoftmaxST(PartialSampling):
    """Samples words and differentiates through their Gumbel-softmax relaxation.

    ```
    u ~ uniform(0, 1), one number a word
    y = softmax((logits - log(-log(u))) / temperature)
    output = y                                          with probability rho
    output = one_hot(argmax(y)) + y - stop_gradient(y)  otherwise
    ```

    The argmax is a sample from `softmax(logits)` at every temperature. `rho`
    above 0 is the partial-sampling form; what it passes is the relaxed sample
    `y`, noise included, not the distribution.

    Args:
        temperature: Float, positive: low temperatures have relaxed samples
            close to words and gradients of high variance. Held in a variable:
            `channel.temperature.assign(0.7)` changes it during training, and
            it is saved with the model. Or that variable itself, made with
            `trainable=False`; or a schedule, a callable of the training step,
            such as `tfcap.training.ExponentialTemperature()`. Defaults to
            `0.5`.
        rho: Float in `[0, 1]`, probability of passing the relaxed sample. If
            positive, held in a variable as well; or a schedule. Defaults to
            `0.0`.
        granularity: String, what shares one draw of `rho`; see
            `PartialSamplingST`. Defaults to `"step_sample"`.
        seed: Integer, optional seed of the sampling.

    Call arguments:
        logits: Float tensor of shape `(..., V)`.
        training: Boolean. If `False`, emits the argmax as a one-hot vector.

    Returns:
        Float tensor of shape `(..., V)`; each last axis sums to one.

    Example:

    >>> channel = tfcap.layers.GumbelSoftmaxST(temperature=0.5, seed=0)
    >>> words = channel(np.zeros((2, 3, 5)), training=True).numpy()
    >>> sorted(set(words.ravel().tolist())), words.sum(-1).tolist()
    ([0.0, 1.0], [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]])

    Reference:

    - Jang et al., Categorical Reparameterization with Gumbel-Softmax,
      ICLR 2017, section 2.2
    - Lu et al., Best of Both Worlds, NIPS 2017, section 4.3. The authors'
      code marks every entry that equals the maximum; here a tie has one
      winner, so that a word is one word.
    - Vered et al., Joint Optimization for Cooperative Image Captioning,
      ICCV 2019, section 5, for `rho`
    """

    def __init__(
        self,
        temperature=0.5,
        rho=0.0,
        granularity="step_sample",
        seed=None,
        **kwargs,
    ):
        super().__init__(rho=rho, granularity=granularity, seed=seed, **kwargs)
        check_not_trained(temperature, "temperature")
        self.hold("temperature", temperature, "positive", lambda x: x > 0)

    @property
    def temperature(self):
        """The current temperature: a variable, or a schedule's value."""
        return self.value_of("temperature")

    def candidates(self, logits, noise=None):
        """See the base; `noise` is uniform, or a pair with the coins."""
        coins = None
        if isinstance(noise, tuple):
            noise, coins = noise
        if noise is None:
            noise = self.word_noise(ops.shape(logits))
        scores = self._perturbed(logits, noise)
        hard = self.one_hot(likeliest_words(scores), logits)
        return hard, self._soft(scores), coins

    def word_noise(self, shape):
        # A uniform number of exactly 0 would make the noise infinite.
        return self.uniform(shape, minval=1e-20)

    def relaxed(self, logits, noise):
        return self._soft(self._perturbed(logits, noise))

    def _perturbed(self, logits, noise):
        # Of normalized logits, the words and the relaxed sample are the same.
        return logits - ops.log(-ops.log(noise))

    def _soft(self, scores):
        temperature = ops.cast(self.temperature, scores.dtype)
        return ops.softmax(scores / temperature, axis=-1)

    def get_config(self):
        temperature = self.config_of("temperature")
        return {**super().get_config(), "temperature": temperature}
