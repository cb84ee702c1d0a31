"""Base class of the channels that draw a word, and then its gradient."""

from typing import Any

import keras
from keras import ops

from tfcap._ops.sequences import finite_logits
from tfcap.layers._fast.word_vectors import ids_of_words
from tfcap.layers.partial_sampling import PartialSampling


class ConditionalGumbel(PartialSampling):
    """Draws a word from the softmax, and then what is differentiated.

    Subclasses hold a `temperature`, and compute the latter in `given()`. With
    probability `rho` the relaxed vector of `given()` is passed instead, with
    its own gradient.
    """

    #: How often Gumbel noise is drawn, given the word, for a gradient.
    num_draws = 0

    @property
    def temperature(self):
        """The current temperature: a number, a variable of the user's own, or
        a schedule's value."""
        return self.value_of("temperature")

    def given(self, logits, p, ids, seeds):
        """Computes what is passed and differentiated in place of a word.

        Args:
            logits: Float32 tensor of shape `(..., V)`.
            p: Their softmax.
            ids: Integer tensor of shape `(...)`, words that were drawn.
            seeds: Integer tensor of shape `(num_draws, 2)`, or `(T, num_draws,
                2)` of all steps of logits `(n, T, V)`; `None` without draws.

        Returns:
            Pair of the relaxed vectors `(..., V)`, and of vectors whose
            gradient passes where a word does.
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
        given = self.given(logits, p, ids_of_words(hard), *(seeds or [None]))
        soft, slope = given
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


def is_word(ids: Any, logits: Any) -> Any:
    """Booleans `(..., V)`, true at the ids `(...)`."""
    words = ops.arange(logits.shape[-1], dtype="int32")
    return ops.equal(words, ops.cast(ids, "int32")[..., None])


def perturbed(log_probs: Any, ids: Any, uniform: Any) -> Any:
    """Gumbel noise on log probabilities, given the word of the largest sum.

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
    """Mean of relaxed samples; on TensorFlow one at a time is in memory.

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
    """The `k`-th uniform numbers of seeds, as those of
    `ConditionalGumbel.given()`.

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
    """Gives a seed that is known, as often as asked."""

    def __init__(self, seed):
        self.known = seed

    def next(self, ordered=True):
        return self.known


def _after(tensor):
    """Context of operations that wait for a tensor, lest all run at once."""
    import tensorflow as tf

    return tf.control_dependencies([tensor])
