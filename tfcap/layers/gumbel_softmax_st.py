"""Straight-through Gumbel-softmax word channel."""

import keras
from keras import ops

from tfcap._ops import likeliest_words
from tfcap._ops import straight_through
from tfcap.layers.partial_sampling import PartialSampling
from tfcap.layers.partial_sampling import check_not_trained


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
    `y`, noise included, not the distribution. With `backward_temperature` the
    gradient, in either case, is that of `y` at this temperature; without `rho`
    no value of `y` is passed on, and `temperature` is of no effect beside it.

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
        backward_temperature: Float, variable or schedule as `temperature`, at
            which the relaxed sample is differentiated: decoupled
            straight-through. Defaults to `None`, `temperature`.

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
    - Shah et al., Improving Discrete Optimisation Via Decoupled
      Straight-Through Estimator, 2024, for `backward_temperature`. There, the
      forward temperature also flattens what words are drawn from; here it is
      that of the relaxed sample alone, and words are the speaker's.
    """

    def __init__(
        self,
        temperature=0.5,
        rho=0.0,
        granularity="step_sample",
        seed=None,
        backward_temperature=None,
        **kwargs,
    ):
        super().__init__(rho=rho, granularity=granularity, seed=seed, **kwargs)
        temperatures = {"temperature": temperature}
        self.decoupled = backward_temperature is not None
        if self.decoupled:
            temperatures["backward_temperature"] = backward_temperature
        for name, value in temperatures.items():
            check_not_trained(value, name)
            self.hold(name, value, "positive", lambda x: x > 0)

    @property
    def temperature(self):
        """The current temperature: a variable, or a schedule's value."""
        return self.value_of("temperature")

    @property
    def backward_temperature(self):
        """The current temperature of the gradient, or `None`."""
        return self.value_of("backward_temperature") if self.decoupled else None

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
        soft = self._at(scores, self.temperature)
        if not self.decoupled:
            return soft
        slope = self._at(scores, self.backward_temperature)
        if self.discrete:
            return slope  # no value is read
        return straight_through(ops.stop_gradient(soft), slope)

    def _at(self, scores, temperature):
        return ops.softmax(
            scores / ops.cast(temperature, scores.dtype), axis=-1
        )

    def get_config(self):
        names = ["temperature"]
        names += ["backward_temperature"] if self.decoupled else []
        numbers = {name: self.config_of(name) for name in names}
        return {**super().get_config(), "backward_temperature": None, **numbers}
