"""Word channels that draw a word, and then estimate its gradient."""

import math
from typing import Any

import keras
from keras import ops

from tfcap._ops.arguments import checked_integer
from tfcap._ops.arguments import checked_number
from tfcap._ops.sequences import finite_logits
from tfcap.layers._fast import ids_of_words
from tfcap.layers.word_channel import PartialSampling
from tfcap.layers.word_channel import check_not_trained


class ConditionalGumbel(PartialSampling):
    """Draws a word, and then a vector whose gradient passes in its place.

    Subclasses compute the vector in `given()`, at a `temperature`. With
    probability `rho` the relaxed vector of `given()` is passed instead, with
    its own gradient.
    """

    #: How often Gumbel noise is drawn, given the word, for a gradient.
    num_draws = 0
    #: Whether the layer has a variable of a temperature that is a number.
    held = False

    def __init__(self, temperature=1.0, rho=0.0, **kwargs):
        super().__init__(rho=rho, **kwargs)
        fits, held = (lambda x: x > 0), self.held
        self.hold("temperature", temperature, "positive", fits, held)

    @property
    def temperature(self):
        """The current temperature: a number, a variable of the user's own, or
        a schedule's value."""
        return self.value_of("temperature")

    def given(self, logits, p, ids, seeds):
        """Computes the vectors that are passed or differentiated.

        Args:
            logits: Float32 tensor of shape `(..., V)`.
            p: Their softmax.
            ids: Integer tensor of shape `(...)`, words that were drawn.
            seeds: Integer tensor of shape `(num_draws, 2)`, or `(T, num_draws,
                2)` of all steps of logits `(n, T, V)`; `None` without draws.

        Returns:
            Pair of the relaxed vectors `(..., V)`, and of the vectors whose
            gradient a word has.
        """
        raise NotImplementedError

    @property
    def replays(self):
        return type(self).emit is PartialSampling.emit

    def word_noise(self, shape):
        words = self.uniform(shape[:-1])
        seeds = [self.seed_generator.next() for _ in range(self.num_draws)]
        return (words, ops.stack(seeds)) if seeds else (words,)

    def candidates(self, logits, noise=None):
        """See the base; `noise` as of `noise()`."""
        noise = self.noise(ops.shape(logits)) if noise is None else noise
        (words, *seeds), *coins = noise
        logits = finite_logits(logits)
        p = ops.softmax(logits, axis=-1)
        hard = self.sample(p, words)
        ids = ids_of_words(hard)
        soft, slope = self.given(logits, p, ids, *(seeds or [None]))
        return hard, soft, *(coins or [None]), slope

    def emit_words(self, logits, ids, noise):
        (_, *seeds), *coins = noise
        coins = [ops.swapaxes(x, 0, 1) for x in coins] or [None]
        logits = finite_logits(logits)
        p = ops.softmax(logits, axis=-1)
        soft, slope = self.given(logits, p, ids, *(seeds or [None]))
        return self.mix(self.one_hot(ids, logits), soft, *coins, slope)

    def get_config(self):
        temperature = self.config_of("temperature")
        return {**super().get_config(), "temperature": temperature}


class AveragedGumbel(ConditionalGumbel):
    """Base of channels that average over `num_samples` draws of the noise."""

    def __init__(self, temperature=1.0, num_samples=10, **kwargs):
        super().__init__(temperature, **kwargs)
        self.num_samples = checked_integer(num_samples, "num_samples")

    @property
    def num_draws(self):
        return self.num_samples

    def get_config(self):
        return {**super().get_config(), "num_samples": self.num_samples}


def is_word(ids: Any, logits: Any) -> Any:
    """Returns booleans `(..., V)`, true at the ids `(...)`."""
    words = ops.arange(logits.shape[-1], dtype="int32")
    return ops.equal(words, ops.cast(ids, "int32")[..., None])


def perturbed(log_probs: Any, ids: Any, uniform: Any) -> Any:
    """Adds Gumbel noise to log probabilities, given the word that it chooses.

    ```
    e = -log(uniform)
    output[w] = -log(e[w])                                   of the word w
    output[j] = log_probs[j] - log(e[j] + p[j] * e[w])       of all others
    ```

    Args:
        log_probs: Float32 tensor of shape `(..., V)`, normalized.
        ids: Integer tensor of shape `(...)`, the words `w`.
        uniform: Float32 tensor of shape `(..., V)`, uniform in `(0, 1)`.

    Returns:
        Float32 tensor of shape `(..., V)`.

    Reference:

    - Paulus et al., Rao-Blackwellizing the Straight-Through Gumbel-Softmax
      Gradient Estimator, ICLR 2021, section 3.2
    """
    noise = -ops.log(uniform)
    own = ops.take_along_axis(noise, ids[..., None], axis=-1)
    others = log_probs - ops.log(noise + ops.exp(log_probs) * own)
    return ops.where(is_word(ids, log_probs), -ops.log(own), others)


def mean_relaxed(
    logits: Any,
    scores: list,
    temperature: Any,
    values: bool = True,
) -> Any:
    """Averages relaxed samples; TensorFlow holds one at a time in memory.

    ```
    output = mean over k of softmax(scores[k]() / temperature)
    gradient to logits = mean over k of its Jacobian in the scores @ upstream
    ```

    Args:
        logits: Float32 tensor of shape `(..., V)`, to which the gradient of
            the scores passes as it is.
        scores: List of callables without arguments that return constants
            `(..., V)`, the same at every call: they are computed again for the
            gradient.
        temperature: Float or scalar tensor.
        values: Boolean, whether the values are needed; zeros otherwise.

    Returns:
        Float32 tensor of shape `(..., V)`.
    """
    temperature = ops.cast(temperature, logits.dtype)

    def soft(score, moved=0.0):
        score = ops.stop_gradient(score()) + moved
        return ops.softmax(score / temperature, axis=-1)

    def moved(logits):  # 0, but of a gradient of its own
        return logits - ops.stop_gradient(logits)

    if keras.backend.backend() != "tensorflow":
        zero = moved(logits)
        return sum(soft(score, zero) for score in scores) / len(scores)

    @ops.custom_gradient
    def mean(logits):
        def gradient(*args, upstream=None):
            (upstream,) = args if upstream is None else (upstream,)
            zero, total = moved(logits), 0.0 * upstream
            for score in scores:
                with _after(total):
                    y = soft(score, zero)
                inner = ops.sum(y * upstream, axis=-1, keepdims=True)
                total = total + y * (upstream - inner)
            return total / (len(scores) * temperature)

        if not values:
            return ops.zeros_like(logits), gradient
        # A tape that watches the logits would keep every sample.
        total = ops.stop_gradient(ops.zeros_like(logits))
        for score in scores:
            with _after(total):
                total = total + soft(score)
        return total / len(scores), gradient

    return mean(logits)


def uniform_of(seeds: Any, k: int, shape: tuple) -> Any:
    """Draws the `k`-th uniform numbers from seeds of `given()`.

    Args:
        shape: Shape of the logits.
    """
    if len(seeds.shape) == 2:
        return _uniform(seeds[k], shape)
    rows, _, size = shape
    steps = ops.map(lambda seed: _uniform(seed, (rows, size)), seeds[:, k])
    return ops.swapaxes(steps, 0, 1)


def _uniform(seed, shape):
    # A uniform number of exactly 0 would make the noise infinite.
    return keras.random.uniform(
        shape, minval=1e-20, dtype="float32", seed=_Known(seed)
    )


class _Known(keras.random.SeedGenerator):
    """A generator that always returns the same seed."""

    def __init__(self, seed):
        self.known = seed

    def next(self, ordered=True):
        return self.known


def _after(tensor):
    """Opens a context of operations that wait for a tensor."""
    import tensorflow as tf

    return tf.control_dependencies([tensor])


@keras.saving.register_keras_serializable(package="tfcap")
class GumbelRao(AveragedGumbel):
    """Gumbel-softmax words with a Rao-Blackwellized gradient.

    ```
    d = one_hot(w),  w ~ softmax(logits)
    y[k] = softmax((logits + g[k]) / temperature),  g[k] ~ Gumbel, given that
                                             w has the largest logits + g[k]
    output = mean over k of y[k]                            with probability rho
    output = d, with the gradient of the mean over k of y[k]         otherwise
    ```

    The words and the mean gradient are those of `GumbelSoftmaxST`; the
    variance of the gradient falls with every sample. Its time is proportional
    to `num_samples`: 10 samples take eight to nine times that of
    `GumbelSoftmaxST`, and with a `rho`, which needs the mean itself, about
    twelve times that of `GumbelSoftmaxST(rho=rho)`
    (`python -m reproduce estimators`). On TensorFlow memory does not grow:
    samples are drawn one by one, and again for the gradient. On JAX every
    sample takes two tensors of the logits' shape.

    Args:
        temperature: Float, positive, or a variable or schedule, as in
            `GumbelSoftmaxST`. Defaults to `0.5`.
        num_samples: Integer `K`, draws of the noise. Defaults to `10`.
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
      noise held fixed, as in `GumbelSoftmaxST`. In the paper it also passes
      through the noise, which depends on the logits given the word, and has
      another mean.
    """

    held = True

    def __init__(self, temperature=0.5, num_samples=10, **kwargs):
        check_not_trained(temperature, "temperature")
        super().__init__(temperature, num_samples, **kwargs)

    def given(self, logits, p, ids, seeds):
        log_probs = ops.log_softmax(logits, axis=-1)
        scores = given_scores(log_probs, ids, seeds, self.num_samples)
        values = not self.discrete
        soft = mean_relaxed(logits, scores, self.temperature, values)
        return soft, soft


def given_scores(log_probs, ids, seeds, num_samples: int, first: int = 0):
    """Returns a callable for each sample that computes `perturbed()`."""
    shape = ops.shape(log_probs)
    # A tape would keep what it computes of these, of every sample.
    log_probs = ops.stop_gradient(log_probs)

    def score(k):
        return lambda: perturbed(log_probs, ids, uniform_of(seeds, k, shape))

    return [score(k) for k in range(first, first + num_samples)]


@keras.saving.register_keras_serializable(package="tfcap")
class ReinMax(ConditionalGumbel):
    """Samples words with a second-order accurate gradient.

    ```
    p, q = softmax(logits), softmax(logits / temperature)
    d = one_hot(w),  w ~ p
    output = d, with the gradient 2 J((q + d) / 2) - J(p) / 2
                                = J(q) - J(p) / 2 + (d - q)(d - q)^T / 2
    J(p) = diag(p) - p p^T
    ```

    At temperature 1 that is the mean of straight-through and of its estimate
    from the word alone, `(J(p) + (d - p)(d - p)^T) / 2`, which is unbiased
    for a function that is quadratic in a word's vector. For other functions
    its bias may exceed that of straight-through, and its variance does. It is
    the limit of `GumbelRao` as its temperature goes to 0.

    Args:
        temperature: Float, positive, or a schedule, or a `keras.Variable`, as
            in `Categorical`. The paper prefers 1 or more; only at 1 is the
            gradient unbiased for quadratic functions. Defaults to `1.0`.
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
      Beyond, NeurIPS 2023, algorithm 2. The authors' code also subtracts the
      mean of the gradient to the logits, which is 0 here.
    """

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


@keras.saving.register_keras_serializable(package="tfcap")
class ReinMaxCV(AveragedGumbel):
    """ReinMax with a Gumbel-softmax control variate.

    ```
    p = softmax(logits);  d = one_hot(w), w ~ p;  theta = log((p + d) / 2)
    y[k] = softmax((theta + g[k]) / temperature),  g[k] ~ Gumbel, given that
                                              w has the largest theta + g[k]
    z = softmax((theta + g) / temperature),  g ~ Gumbel, given that w has the
                                              largest logits + g
    output = d, with the gradient of ReinMax
             + weight * (mean over k of J(y[k]) - J(z)) / temperature
    ```

    and `J` as in `ReinMax`. The noise of `z` is that of the word, and differs
    from that of `theta`: the mean of the control variate is not 0, and changes
    that of ReinMax. With equal noise its mean would be 0 given the word, and
    since ReinMax depends on the word alone, it could only add variance. By
    enumeration: `python -m reproduce estimators`.

    Time is proportional to `num_samples`: 10 samples take nine to ten times
    that of `ReinMax`. Memory is as in `GumbelRao`.

    Args:
        temperature: Float, positive, or a schedule, or a `keras.Variable`, as
            in `Categorical`, of the control variate; that of ReinMax is 1.
            Defaults to `1.0`.
        weight: Float, of the control variate. Defaults to `0.5`, as in the
            authors' code.
        num_samples: Integer `K`, draws of the noise. Defaults to `10`.
        rho: As in `ReinMax`. Defaults to `0.0`.
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
      Discrete Latent Variables, 2026 (arXiv 2603.08257). This follows the
      formulas; their code keeps the relaxed sample under the name of the
      noise, and does not divide it by the temperature.
    """

    def __init__(self, temperature=1.0, weight=0.5, num_samples=10, **kwargs):
        super().__init__(temperature, num_samples, **kwargs)
        self.weight = checked_number(
            weight, "weight", "0 or more", lambda x: x >= 0
        )

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
        return {**super().get_config(), "weight": self.weight}


@keras.saving.register_keras_serializable(package="tfcap")
class ReinMaxRao(AveragedGumbel):
    """ReinMax with a Gumbel-Rao estimate of its larger term.

    ```
    p = softmax(logits);  d = one_hot(w), w ~ p;  theta = log((p + d) / 2)
    y[k] = softmax((theta + g[k]) / temperature),  g[k] ~ Gumbel, given that
                                              w has the largest theta + g[k]
    output = d, with the gradient
             mean over k of 2 J(y[k]) / temperature - J(p) / 2
    ```

    and `J` as in `ReinMax`. It has less variance than ReinMax, and another
    mean: on average this gradient is smaller than the true one, by half for a
    linear function as the temperature goes to 0. `GumbelRao` keeps the mean of
    its estimator. By enumeration: `python -m reproduce estimators`.

    Time is proportional to `num_samples`: 10 samples take eight to nine times
    that of `ReinMax`. Memory is as in `GumbelRao`.

    Args:
        temperature: Float, positive, or a schedule, or a `keras.Variable`, as
            in `Categorical`. Defaults to `1.0`.
        num_samples: Integer `K`, draws of the noise. Defaults to `10`.
        rho: As in `ReinMax`. Defaults to `0.0`.
        granularity: String, what shares one draw of `rho`; see
            `PartialSamplingST`. Defaults to `"step_sample"`.
        seed: Integer, optional seed of the sampling.

    Call arguments:
        logits: Float tensor of shape `(..., V)`.
        training: Boolean. If `False`, emits the argmax as a one-hot vector.

    Returns:
        Float tensor of shape `(..., V)`; each last axis sums to one.

    Example:

    >>> channel = tfcap.layers.ReinMaxRao(num_samples=2, seed=0)
    >>> words = channel(np.zeros((2, 5)), training=True).numpy()
    >>> sorted(set(words.ravel().tolist())), words.sum(-1).tolist()
    ([0.0, 1.0], [1.0, 1.0])

    Reference:

    - Wang and Bui, Beyond ReinMax: Low-Variance Gradient Estimators for
      Discrete Latent Variables, 2026 (arXiv 2603.08257), as in the authors'
      code, where `J(p)` of the second term is at the logits.
    """

    def given(self, logits, p, ids, seeds):
        theta = halfway(logits, p, ids)
        scores = given_scores(theta, ids, seeds, self.num_samples)
        mean = mean_relaxed(logits, scores, self.temperature, values=False)
        return p, 2.0 * mean - 0.5 * p


def halfway(logits, p, ids):
    """Returns log probabilities halfway between the softmax and a word."""
    log_probs = ops.log_softmax(logits, axis=-1)
    drawn = ops.log1p(p)
    return ops.where(is_word(ids, logits), drawn, log_probs) - math.log(2.0)
