"""Gumbel-Rao word channel."""

import keras
from keras import ops

from tfcap._ops.arguments import checked_integer
from tfcap.layers.conditional_gumbel import ConditionalGumbel
from tfcap.layers.conditional_gumbel import mean_relaxed
from tfcap.layers.conditional_gumbel import perturbed
from tfcap.layers.conditional_gumbel import uniform_of
from tfcap.layers.partial_sampling import check_not_trained


@keras.saving.register_keras_serializable(package="tfcap")
class GumbelRao(ConditionalGumbel):
    """Gumbel-softmax words whose gradient is a mean over their noise.

    ```
    d = one_hot(w),  w ~ softmax(logits)
    y[k] = softmax((logits + g[k]) / temperature),  g[k] ~ Gumbel, given that
                                             w has the largest logits + g[k]
    output = mean over k of y[k]                            with probability rho
    output = d, with the gradient of the mean over k of y[k]         otherwise
    ```

    The words and the mean gradient are those of `GumbelSoftmaxST`, the
    variance of the gradient falls with every sample. Its time grows in
    proportion to `num_samples`: 10 take eight to nine times that of
    `GumbelSoftmaxST`, and with a `rho` about twelve times that of
    `GumbelSoftmaxST(rho=rho)`, since the mean itself is then computed, too
    (`python -m reproduce estimators`). On TensorFlow memory does not grow:
    samples are drawn one by one, and again when the gradient is computed. On
    JAX it grows with every sample, by two tensors of the logits' shape.

    Args:
        temperature: Float, positive, or a variable or schedule, as that of
            `GumbelSoftmaxST`. Defaults to `0.5`.
        num_samples: Integer `K`, draws of the noise, with which time grows,
            and memory on JAX alone. Defaults to `10`.
        rho: Float in `[0, 1]`, probability of passing the mean of the relaxed
            samples; or a schedule. Defaults to `0.0`.
        granularity: String, what shares one draw of `rho`; see
            `PartialSamplingST`. Defaults to `"step_sample"`.
        seed: Integer, optional seed of the sampling.

    Call arguments:
        logits: Float tensor of shape `(..., V)`.
        training: Boolean. If `False`, emits the argmax as a one-hot vector.

    Returns:
        Float tensor of shape `(..., V)`; each last axis sums to one.

    Example:

    >>> channel = tfcap.layers.GumbelRao(temperature=0.5, seed=0)
    >>> words = channel(np.zeros((2, 3, 5)), training=True).numpy()
    >>> sorted(set(words.ravel().tolist())), words.sum(-1).tolist()
    ([0.0, 1.0], [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]])

    Reference:

    - Paulus et al., Rao-Blackwellizing the Straight-Through Gumbel-Softmax
      Gradient Estimator, ICLR 2021, section 3. The gradient is taken with the
      noise held fixed, as that of `GumbelSoftmaxST` is: through the noise,
      which depends on the logits once the word is given, as the paper has it,
      its mean would be another.
    """

    def __init__(
        self,
        temperature=0.5,
        num_samples=10,
        rho=0.0,
        granularity="step_sample",
        seed=None,
        **kwargs,
    ):
        super().__init__(rho=rho, granularity=granularity, seed=seed, **kwargs)
        check_not_trained(temperature, "temperature")
        self.hold("temperature", temperature, "positive", lambda x: x > 0)
        self.num_samples = checked_integer(num_samples, "num_samples")

    @property
    def num_draws(self):
        return self.num_samples

    def given(self, logits, p, ids, seeds):
        log_probs = ops.log_softmax(logits, axis=-1)
        scores = given_scores(log_probs, ids, seeds, self.num_samples)
        values = not self.discrete
        soft = mean_relaxed(logits, scores, self.temperature, values)
        return soft, soft

    def get_config(self):
        return {**super().get_config(), "num_samples": self.num_samples}


def given_scores(log_probs, ids, seeds, num_samples: int, first: int = 0):
    """Callables that return `perturbed()`, one a sample, of equal noise."""
    shape = ops.shape(log_probs)
    # A tape would keep what it computes of these, of every sample.
    log_probs = ops.stop_gradient(log_probs)

    def score(k):
        return lambda: perturbed(log_probs, ids, uniform_of(seeds, k, shape))

    return [score(k) for k in range(first, first + num_samples)]
