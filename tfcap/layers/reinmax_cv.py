"""ReinMax-CV word channel."""

import keras
from keras import ops

from tfcap._ops.arguments import checked_integer
from tfcap._ops.arguments import checked_number
from tfcap.layers.conditional_gumbel import ConditionalGumbel
from tfcap.layers.conditional_gumbel import mean_relaxed
from tfcap.layers.gumbel_rao import given_scores
from tfcap.layers.reinmax import second_order
from tfcap.layers.reinmax_rao import halfway


@keras.saving.register_keras_serializable(package="tfcap")
class ReinMaxCV(ConditionalGumbel):
    """ReinMax with a Gumbel-softmax for a control variate.

    ```
    p = softmax(logits);  d = one_hot(w), w ~ p;  theta = log((p + d) / 2)
    y[k] = softmax((theta + g[k]) / temperature),  g[k] ~ Gumbel, given that
                                              w has the largest theta + g[k]
    z = softmax((theta + g) / temperature),  g ~ Gumbel, given that w has the
                                              largest logits + g
    output = d, with the gradient of ReinMax
             + weight * (mean over k of J(y[k]) - J(z)) / temperature
    ```

    and `J` as in `ReinMax`. The noise of `z` is that of the word, and not of
    `theta`: the control variate has no mean of 0, and moves that of ReinMax.
    With the same noise in both its mean would be 0 given the word, and since
    ReinMax is a function of the word alone, it could add variance only. By
    enumeration: `python -m reproduce estimators`.

    Time grows in proportion to `num_samples`: 10 take nine to ten times that
    of `ReinMax`, with a `rho` or without, since what `rho` passes is `p`.
    Memory is as that of `GumbelRao`: on TensorFlow it does not grow.

    Args:
        temperature: Float, positive, or a schedule, or a `keras.Variable`, as
            that of `Categorical`, of the control variate; that of ReinMax is
            1. Defaults to `1.0`.
        weight: Float, of the control variate. Defaults to `0.5`, as in the
            authors' code.
        num_samples: Integer `K`, draws of the noise, with which time grows,
            and memory on JAX alone. Defaults to `10`.
        rho: As that of `ReinMax`. Defaults to `0.0`.
        granularity: String, what shares one draw of `rho`; see
            `PartialSamplingST`. Defaults to `"step_sample"`.
        seed: Integer, optional seed of the sampling.

    Call arguments:
        logits: Float tensor of shape `(..., V)`.
        training: Boolean. If `False`, emits the argmax as a one-hot vector.

    Returns:
        Float tensor of shape `(..., V)`; each last axis sums to one.

    Example:

    >>> channel = tfcap.layers.ReinMaxCV(num_samples=2, seed=0)
    >>> words = channel(np.zeros((2, 5)), training=True).numpy()
    >>> sorted(set(words.ravel().tolist())), words.sum(-1).tolist()
    ([0.0, 1.0], [1.0, 1.0])

    Reference:

    - Wang and Bui, Beyond ReinMax: Low-Variance Gradient Estimators for
      Discrete Latent Variables, 2026 (arXiv 2603.08257). Their code keeps
      the relaxed sample under the name of the noise, and does not divide it
      by the temperature; this is what the formulas mean.
    """

    def __init__(
        self,
        temperature=1.0,
        weight=0.5,
        num_samples=10,
        rho=0.0,
        granularity="step_sample",
        seed=None,
        **kwargs,
    ):
        super().__init__(rho=rho, granularity=granularity, seed=seed, **kwargs)
        self.hold(
            "temperature", temperature, "positive", lambda x: x > 0, held=False
        )
        self.weight = checked_number(weight, "weight", "0 or more", _natural)
        self.num_samples = checked_integer(num_samples, "num_samples")

    @property
    def num_draws(self):
        return self.num_samples + 1

    def given(self, logits, p, ids, seeds):
        theta = halfway(logits, p, ids)
        log_probs = ops.log_softmax(logits, axis=-1)
        (own,) = given_scores(log_probs, ids, seeds, 1)
        scores = given_scores(theta, ids, seeds, self.num_samples, first=1)
        temperature = self.temperature
        # The word's noise is what its scores have more than log_probs.
        moved = ops.stop_gradient(theta - log_probs)
        z = mean_relaxed(logits, [lambda: own() + moved], temperature, False)
        mean = mean_relaxed(logits, scores, temperature, values=False)
        return p, second_order(logits, p, ids) + self.weight * (mean - z)

    def get_config(self):
        return {
            **super().get_config(),
            "weight": self.weight,
            "num_samples": self.num_samples,
        }


def _natural(value):
    return value >= 0
