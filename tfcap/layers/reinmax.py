"""ReinMax word channel."""

import keras
from keras import ops

from tfcap.layers.conditional_gumbel import ConditionalGumbel
from tfcap.layers.conditional_gumbel import is_word


@keras.saving.register_keras_serializable(package="tfcap")
class ReinMax(ConditionalGumbel):
    """Samples words, and differentiates them to the second order.

    ```
    p, q = softmax(logits), softmax(logits / temperature)
    d = one_hot(w),  w ~ p
    output = d, with the gradient 2 J((q + d) / 2) - J(p) / 2
                                = J(q) - J(p) / 2 + (d - q)(d - q)^T / 2
    J(p) = diag(p) - p p^T
    ```

    At temperature 1 that is the mean of straight-through and of its estimate
    from the word alone, `(J(p) + (d - p)(d - p)^T) / 2`, and on average exact
    for a function that is quadratic in the vector of a word. Of others its
    bias may be larger than that of straight-through, and its variance is. It
    is what `GumbelRao` comes to as its temperature goes to 0.

    Args:
        temperature: Float, positive, or a schedule, or a `keras.Variable`, as
            that of `Categorical`. The paper prefers 1 or more; other than 1
            the gradient is no longer exact for quadratic functions. Defaults
            to `1.0`.
        rho: Float in `[0, 1]`, probability of passing the distribution `p`,
            with its own gradient; or a schedule. Defaults to `0.0`.
        granularity: String, what shares one draw of `rho`; see
            `PartialSamplingST`. Defaults to `"step_sample"`.
        seed: Integer, optional seed of the sampling.

    Call arguments:
        logits: Float tensor of shape `(..., V)`.
        training: Boolean. If `False`, emits the argmax as a one-hot vector.

    Returns:
        Float tensor of shape `(..., V)`; each last axis sums to one.

    Example:

    >>> channel = tfcap.layers.ReinMax(seed=0)
    >>> words = channel(np.zeros((2, 3, 5)), training=True).numpy()
    >>> sorted(set(words.ravel().tolist())), words.sum(-1).tolist()
    ([0.0, 1.0], [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]])

    Reference:

    - Liu et al., Bridging Discrete and Backpropagation: Straight-Through and
      Beyond, NeurIPS 2023, algorithm 2. The authors' code also takes the mean
      off the gradient to the logits, which is 0 here.
    """

    def __init__(
        self,
        temperature=1.0,
        rho=0.0,
        granularity="step_sample",
        seed=None,
        **kwargs,
    ):
        super().__init__(rho=rho, granularity=granularity, seed=seed, **kwargs)
        self.hold(
            "temperature", temperature, "positive", lambda x: x > 0, held=False
        )

    def given(self, logits, p, ids, seeds):
        return p, second_order(logits, p, ids, self.temperature)


def second_order(logits, p, ids, temperature=1.0):
    """Vectors `(..., V)` with the gradient of ReinMax, given the words `ids`.

    ```
    (d - q) log(q[w]) has the gradient (d - q)(d - q)^T
    ```
    """
    one = isinstance(temperature, float) and temperature == 1.0
    q = p if one else ops.softmax(logits / temperature, axis=-1)
    d = ops.cast(is_word(ids, logits), q.dtype)
    # Not a gather: in TensorFlow on CPU its gradient runs on one core.
    drawn = ops.sum(d * q, axis=-1, keepdims=True)
    # Padding may stand for a word that is never drawn.
    rest = ops.stop_gradient(d - q) * ops.log(ops.maximum(drawn, 1e-30))
    if one:
        return 0.5 * (q + rest)
    return temperature * (q + 0.5 * rest) - 0.5 * p
