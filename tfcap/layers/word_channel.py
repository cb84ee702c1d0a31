"""Layers that turn word logits into words."""

import contextlib
import math
from typing import Any

import keras
import numpy as np
from keras import ops

from tfcap._ops import SeedGenerator
from tfcap._ops import likeliest_words
from tfcap._ops import straight_through
from tfcap._ops.arguments import check_choice
from tfcap._ops.arguments import check_not_softmax
from tfcap._ops.arguments import checked_scalar
from tfcap._ops.arguments import checked_seed
from tfcap._ops.arguments import config_of
from tfcap._ops.arguments import initial_value
from tfcap._ops.replicas import StepCounter
from tfcap._ops.replicas import at_step
from tfcap._ops.replicas import checked_schedule
from tfcap._ops.replicas import is_held
from tfcap._ops.replicas import is_schedule
from tfcap._ops.replicas import schedule_config
from tfcap._ops.replicas import traced_function
from tfcap._ops.sequences import entry_of_rows
from tfcap.layers._fast import WordIds
from tfcap.layers._fast import cast_words
from tfcap.layers._fast import ids_of_words
from tfcap.layers._fast import remember_words
from tfcap.layers._fast import remembered_words

# The largest float32 below 1 that a 23-bit generator draws: scaled by the total
# mass it stays below it, whatever the rounding.
LARGEST_UNIFORM = 1.0 - 2.0**-23


def sample_words(probabilities: Any, uniform: Any) -> Any:
    """Draws one word from each distribution.

    It takes one uniform number a row rather than one a word, and two short
    cumulative sums (over blocks of words, then within one block) rather than
    a long one: as fast as `keras.random.categorical` on CPU, without the
    random tensors of vocabulary size that are slow under XLA. A word of
    probability 0 is never drawn.

    Args:
        probabilities: Float32 tensor of shape `(rows, V)`.
        uniform: Float32 tensor of shape `(rows,)`, uniform in `[0, 1)`.

    Returns:
        Integer tensor of shape `(rows,)`.

    Example:

    >>> from tfcap.layers.word_channel import sample_words
    >>> print(sample_words(np.float32([[0.2, 0.8]] * 2), [0.1, 0.3]).numpy())
    [0 1]
    """
    size = probabilities.shape[-1]
    width = math.ceil(math.sqrt(size))
    blocks = math.ceil(size / width)
    padded = ops.pad(probabilities, ((0, 0), (0, blocks * width - size)))
    padded = ops.reshape(padded, (-1, blocks, width))
    mass = ops.sum(padded, axis=-1)  # (rows, blocks)
    cumulative = ops.cumsum(mass, axis=-1)
    uniform = ops.minimum(ops.cast(uniform, "float32"), LARGEST_UNIFORM)
    target = ops.expand_dims(uniform, -1) * cumulative[:, -1:]
    block = _first(ops.logical_and(cumulative > target, mass > 0))
    here = entry_of_rows(padded, block)  # (rows, width)
    before = entry_of_rows(cumulative - mass, block)
    before = ops.expand_dims(before, -1)
    possible = here > 0
    inside = ops.logical_and(
        before + ops.cumsum(here, axis=-1) > target, possible
    )
    # Rounding may leave the target beyond the block's own sum: then the word
    # is the block's last possible one.
    places = np.arange(width, dtype="int32")
    last = ops.where(possible, places, -1)
    word = ops.argmax(ops.where(inside, 2 * width - places, last), axis=-1)
    # No word at all is no padding either.
    word = ops.where(ops.any(possible, axis=-1), ops.cast(word, "int32"), -1)
    return block * width + word


def _first(condition):
    return ops.cast(ops.argmax(ops.cast(condition, "int8"), axis=-1), "int32")


class WordChannel(keras.layers.Layer):
    """Turns word logits into word vectors that another network can read.

    In training, subclasses decide in `emit()` what is passed on: a sampled
    one-hot vector, a relaxed one, or a mixture. At inference every channel
    emits the one-hot vector of the most likely word.

    Channels compute in float32 with any dtype policy, since half precision
    holds neither the probabilities of a large vocabulary nor a sum over them,
    and return the policy's compute dtype.

    A number of a channel, such as a temperature, may be a schedule: a callable
    of the training step, such as an object of `keras.optimizers.schedules`.
    The channel then counts the training steps in a saved variable, `step`:
    once in each batch of a `fit()`, even if the channel is called several
    times, in the cell of an RNN or twice in a model. In a loop of your own, a
    `tf.function` of one batch counts once, with its loops and branches; if it
    loops over batches by `tf.range()`, make the step a `tf.function` of its
    own. In eager execution, and on JAX, every outermost call of a layer, every
    decode, and every call that `keras.remat` computes again counts; assign the
    step yourself if that is not what you want:
    `channel.step.assign(optimizer.iterations)`.

    To write a channel, override `emit()`; override `discrete` if it may emit
    vectors that are not one-hot, and `differentiable` if it has no gradient.

    Args:
        seed: Integer, optional seed of the channel's sampling.

    Call arguments:
        logits: Float tensor of shape `(..., V)`, unnormalized log
            probabilities of the `V` words of the vocabulary. The output of a
            softmax of Keras is rejected.
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
        self.step = None
        # Untracked: a variable that is not held is its owner's.
        self.__dict__["_numbers"] = {}
        self.__dict__["_configs"] = {}
        self.__dict__["_logged"] = {}

    @property
    def discrete(self):
        """True if every emitted vector is one-hot in training."""
        return True

    @property
    def differentiable(self):
        """True if gradients pass from emitted vectors to the logits."""
        return True

    def build(self, input_shape):
        if input_shape[-1] is None:
            raise ValueError(
                "`logits` must have a static last axis, the vocabulary. "
                f"Received: shape={tuple(input_shape)}."
            )
        self.built = True

    def emit(self, logits, noise=None):
        """Returns the vectors that are emitted in training.

        Args:
            logits: Float32 tensor of shape `(..., V)`.
            noise: Random numbers to use instead of drawing them, in a form
                that the subclass defines. For tests.

        Returns:
            Float32 tensor of shape `(..., V)`.
        """
        raise NotImplementedError

    @property
    def replays(self):
        """True if `emit_words()` returns for known words what `emit()` did.

        By default true of a channel that emits words without gradient. Loops
        of a graph need it, see `tfcap.decoding.Sample`.
        """
        return self.discrete and not self.differentiable

    def noise(self, shape):
        """Draws the random numbers of `emit()`, from the same seeds.

        Args:
            shape: Shape `(n, V)` of the logits of a step.

        Returns:
            Nest of tensors.
        """
        return ()

    def emit_words(self, logits, ids, noise):
        """Returns what `emit()` did at every step, for known words.

        Args:
            logits: Float32 tensor of shape `(n, T, V)`.
            ids: Integer tensor of shape `(n, T)`, the words that were drawn.
            noise: Nest of tensors with leading axis `T`, the `noise()` of all
                steps.

        Returns:
            Float32 tensor of shape `(n, T, V)`.
        """
        return self.one_hot(ids, logits)

    def hold(self, name, value, wanted, fits, held=True, logged=None):
        """Holds a number that may change in training.

        Args:
            name: String, the argument's name.
            value: Float, `keras.Variable`, or schedule.
            wanted: String, its constraint, for messages.
            fits: Callable from a float to a boolean.
            held: Boolean, whether a float is held in a variable that may be
                assigned, and is saved. Defaults to `True`.
            logged: String, name under which a schedule's value is logged.
                Defaults to `name`.
        """
        if is_schedule(value):
            value = checked_schedule(value, name, wanted, fits)
            self._logged[logged or name] = name
            if self.step is None:
                self.step = self.add_weight(
                    shape=(),
                    initializer="zeros",
                    dtype="int32",
                    trainable=False,
                    autocast=False,
                    aggregation="only_first_replica",
                    name="step",
                )
                self._counter = StepCounter(self.step)
        else:
            value = checked_scalar(value, name, wanted, fits)
        self._configs[name] = value
        if held and isinstance(value, float):
            number = value
            value = self.add_weight(
                shape=(),
                initializer=lambda shape, dtype: ops.cast(number, dtype),
                dtype="float32",
                trainable=False,
                autocast=False,
                name=name,
            )
        elif held:
            # The config says what a variable of the user's own began with.
            self._configs[name] = initial_value(value)
        if held:
            # Saved with the layer, by TensorFlow, too.
            setattr(self, f"_{name}", value)
        self._numbers[name] = value

    def value_of(self, name):
        """Returns a held number: a variable, or its value at this step."""
        value = self._numbers[name]
        if self.step is None or not callable(value):
            return value
        return at_step(value, self._counter())

    def config_of(self, name):
        """Returns a held number for `get_config()`."""
        value = self._configs[name]
        if isinstance(value, keras.Variable):
            return initial_value(value)
        return schedule_config(value)

    def scheduled_values(self):
        """Returns the schedules' values at this step, by their log names."""
        return {key: self.value_of(name) for key, name in self._logged.items()}

    def next_step(self):
        """Advances the schedules by a step, unless `schedules_held()`."""
        if self.step is not None and not is_held(self):
            self._counter.advance()

    def _called_before(self):
        """Returns whether this call of the outermost layer called it before.

        Keras clears losses when an outermost call begins: outside of functions
        of TensorFlow, a loss of 0 marks that this call came before.
        """
        if self.step is None or traced_function() is not None or is_held(self):
            return False
        before = bool(self.losses)
        if not before:
            self.add_loss(ops.zeros(()))
        return before

    @contextlib.contextmanager
    def decoding(self, rows):
        """Opens the context of one decode, with a call for each step.

        A decoder of `rows` sequences wraps its loop in this context, so that
        a channel can share random numbers between steps. The base class
        shares none.

        Args:
            rows: Integer or scalar tensor, the number of sequences.
        """
        yield self

    def call(self, logits, training=False):
        check_not_softmax(logits, "logits")
        logits = ops.cast(logits, "float32")
        if training:
            words = self.emit(logits)
            if not self._called_before():
                self.next_step()
        else:
            words = self.one_hot(likeliest_words(logits), logits)
        return cast_words(words, self.compute_dtype)

    def draw(self, logits):
        """Emits in training, and returns the word of each vector, too.

        The word of a relaxed vector is the one drawn with it, which need not
        be its largest entry; a decoder ends a sequence by it.

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
        """Draws float32 numbers in `[minval, 1)` from the layer's seed."""
        return keras.random.uniform(
            shape, minval=minval, dtype="float32", seed=self.seed_generator
        )

    def one_hot(self, ids, logits):
        """Returns one-hot vectors of `ids`, of the width of `logits`.

        They carry the ids, so that an embedding looks them up. A vector is
        NaN where the logits are NaN or infinite, or all minus infinity.
        """
        vectors = ops.one_hot(ids, logits.shape[-1], dtype=logits.dtype)
        best = ops.stop_gradient(ops.max(logits, axis=-1))
        drawn = ops.where(ops.isfinite(best), 1.0, math.nan)
        drawn = ops.broadcast_to(drawn, ops.shape(ids))
        vectors = vectors * ops.cast(drawn, vectors.dtype)[..., None]
        return remember_words(vectors, WordIds(ids, mask=drawn))

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        return {**super().get_config(), "seed": self.seed}


@keras.saving.register_keras_serializable(package="tfcap")
class Categorical(WordChannel):
    """Samples a word from every distribution.

    The channel of policy-gradient estimators: words are drawn from the model's
    distribution and have no gradient.

    ```
    output = one_hot(w), with w ~ softmax(logits / temperature)
    ```

    Args:
        temperature: Float, positive, or a schedule, or a `keras.Variable` that
            holds it, and is saved as its current value. At temperatures other
            than 1, words are not drawn from the distribution whose log
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


GRANULARITIES = ("step_sample", "step", "sample", "batch")


class PartialSampling(WordChannel):
    """Passes a relaxed vector with probability `rho`, a word otherwise.

    Subclasses compute the word and the relaxed vector in `candidates()`, and
    the relaxed vector of given noise in `relaxed()`.

    Args:
        rho: Float in `[0, 1]`, probability of passing the relaxed vector. If
            positive, it is held in a non-trainable variable, `layer.rho`,
            that may be assigned during training; or that variable itself; or
            a schedule, a callable of the training step. `rho=0` is fixed: the
            channel is always discrete.
        granularity: String, scope of one draw: `"step_sample"` every word by
            itself, `"step"` all sequences at one step, `"sample"` all steps
            of one sequence, `"batch"` everything in one call. The step axis is
            the last but one of `logits`; logits of shape `(rows, V)` are one
            step of as many sequences. Draws of `"sample"` and `"batch"` are
            shared by the steps inside `with channel.decoding(rows)`, and are
            renewed at every call outside.
        seed: Integer, optional seed.
    """

    def __init__(
        self, rho=0.25, granularity="step_sample", seed=None, **kwargs
    ):
        super().__init__(seed=seed, **kwargs)
        check_choice(granularity, "granularity", GRANULARITIES)
        self.granularity = granularity
        if isinstance(rho, keras.Variable):
            check_not_trained(rho, "rho")
            if not 0 < initial_value(rho) <= 1:
                raise ValueError(
                    "`rho` must be in (0, 1] if it is a variable, since a "
                    "channel made with 0 is always discrete. "
                    f"Received: rho={rho!r}. Assign 0 later."
                )
        # A number of 0 is fixed, and has no variable.
        zero = not is_schedule(rho) and initial_value(rho) == 0
        self.hold("rho", rho, "in [0, 1]", _in_unit, held=not zero)
        self._discrete = zero
        self._coins = None

    @property
    def rho(self):
        """The current probability: a variable, the value of a schedule at
        this step, or `0.0` if built with 0."""
        return self.value_of("rho")

    @property
    def discrete(self):
        return self._discrete

    @contextlib.contextmanager
    def decoding(self, rows):
        shape = {"sample": (rows,), "batch": (1,)}.get(self.granularity)
        if shape is not None and not self.discrete:
            self._coins = self.uniform(shape)
        try:
            yield self
        finally:
            self._coins = None

    def candidates(self, logits, noise=None):
        """Computes the word, the relaxed vector and the draw between them.

        Args:
            logits: Float32 tensor of shape `(..., V)`.
            noise: As in `emit()`.

        Returns:
            Arguments of `mix()`, `(hard, soft, coins)`, optionally with
            `slope`.
        """
        raise NotImplementedError

    def word_noise(self, shape):
        """Draws the random numbers of `candidates()`, of logits `(n, V)`."""
        return self.uniform(shape[:-1])

    def relaxed(self, logits, noise):
        """Computes the relaxed vectors `(..., V)` from `word_noise()`."""
        raise NotImplementedError

    @property
    def replays(self):
        own = type(self)
        known = own.emit is PartialSampling.emit
        return known and own.relaxed is not PartialSampling.relaxed

    def noise(self, shape):
        words = self.word_noise(shape)
        return (words,) if self.discrete else (words, self.coins(shape[:-1]))

    def emit_words(self, logits, ids, noise):
        # From (T, n, ...), or (T, 1), to (n, T, ...).
        words, *coins = (ops.swapaxes(x, 0, 1) for x in noise)
        soft = self.relaxed(logits, words)
        return self.mix(self.one_hot(ids, logits), soft, *coins)

    def emit(self, logits, noise=None):
        return self.mix(*self.candidates(logits, noise))

    def mix(self, hard, soft, coins=None, slope=None):
        """Chooses between the word and the relaxed vector.

        Args:
            hard: Float32 one-hot tensor of shape `(..., V)`.
            soft: Float32 tensor of shape `(..., V)`, the relaxed vector.
            coins: Float tensor that broadcasts to `(...)`, uniform in
                `[0, 1)`, or `None` to draw it.
            slope: Float32 tensor of shape `(..., V)` whose gradient a word
                has. Defaults to `soft`.

        Returns:
            Float32 tensor of shape `(..., V)`.
        """
        words = remembered_words(hard) or WordIds(likeliest_words(hard))
        slope = soft if slope is None else slope
        if not self.discrete:
            if coins is None:
                coins = self.coins(ops.shape(soft)[:-1])
            relaxed = ops.broadcast_to(coins < self.rho, ops.shape(words.ids))
            words = words._replace(relaxed=relaxed, soft=soft)
            hard = ops.where(relaxed[..., None], soft, hard)
            if slope is not soft:
                slope = ops.where(relaxed[..., None], soft, slope)
        vectors = straight_through(ops.stop_gradient(hard), slope)
        return remember_words(vectors, words)

    def coins(self, shape):
        """Draws uniform numbers that broadcast to `shape`, by granularity."""
        if self._coins is not None:
            return self._coins
        rank = len(shape)
        if self.granularity == "step_sample" or rank == 0:
            return self.uniform(shape)
        if self.granularity == "batch":
            return self.uniform((1,) * rank)
        if rank == 1:
            return self.uniform((1,) if self.granularity == "step" else shape)
        if self.granularity == "step":
            return self.uniform((1,) * (rank - 1) + (shape[-1],))
        return self.uniform((*shape[:-1], 1))

    def get_config(self):
        return {
            **super().get_config(),
            "rho": self.config_of("rho"),
            "granularity": self.granularity,
        }


def check_not_trained(variable, name):
    """Rejects a variable that an optimizer would change."""
    if getattr(variable, "trainable", False):
        raise ValueError(
            f"`{name}` must be a number, or a variable that is not trainable. "
            f"Received: {name}={variable!r}. Make it with `trainable=False`."
        )


def _in_unit(value):
    return 0 <= value <= 1


@keras.saving.register_keras_serializable(package="tfcap")
class PartialSamplingST(PartialSampling):
    """Passes the whole distribution some of the time, a sampled word otherwise.

    For every distribution independently,

    ```
    p = softmax(logits)
    output = p                                  with probability rho
    output = one_hot(w) + p - stop_gradient(p)  otherwise, with w ~ p
    ```

    `rho=0` is the straight-through estimator for a multinomial, `rho=1` passes
    distributions only and is deterministic.

    Args:
        rho: Float in `[0, 1]`, probability of passing the distribution. The
            authors' code names the complement, the probability of sampling.
            If positive, it is held in a variable: `channel.rho.assign(0.5)`
            changes it during training, and it is saved with the model. With
            `rho=0` the channel is always discrete. Or a schedule, a callable
            of the training step such as an object of
            `keras.optimizers.schedules`. Defaults to `0.25`.
        granularity: String, scope of one draw between distribution and word:
            `"step_sample"` every word by itself, `"step"` all sequences at one
            step, `"sample"` all steps of one sequence, `"batch"` everything.
            The step axis is the last but one of `logits`; logits of shape
            `(rows, V)` are one step of as many sequences, and the draws of
            `"sample"` and `"batch"` are shared by the steps inside
            `with channel.decoding(rows)`. Defaults to `"step_sample"`.
        seed: Integer, optional seed of the sampling.

    Call arguments:
        logits: Float tensor of shape `(..., V)`.
        training: Boolean. If `False`, emits the argmax as a one-hot vector.

    Returns:
        Float tensor of shape `(..., V)`; each last axis sums to one.

    Example:

    >>> channel = tfcap.layers.PartialSamplingST(rho=1.0)
    >>> channel(np.log([[0.5, 0.25, 0.25]]), training=True).numpy()
    array([[0.5 , 0.25, 0.25]], dtype=float32)
    >>> channel(np.log([[0.5, 0.25, 0.25]])).numpy()
    array([[1., 0., 0.]], dtype=float32)

    Reference:

    - Vered et al., Joint Optimization for Cooperative Image Captioning,
      ICCV 2019, section 5. The paper describes a draw at each step, and a
      share of the images; the authors' code draws per step and sample, which
      is the default here.
    """

    def candidates(self, logits, noise=None):
        """See the base; `noise` is a pair `(words, coins)`, both uniform."""
        words, coins = (None, None) if noise is None else noise
        soft = self.relaxed(logits, words)
        return self.sample(soft, words), soft, coins

    def relaxed(self, logits, noise):
        return ops.softmax(logits, axis=-1)


@keras.saving.register_keras_serializable(package="tfcap")
class GumbelSoftmaxST(PartialSampling):
    """Samples words and differentiates through their Gumbel-softmax relaxation.

    ```
    u ~ uniform(0, 1), one number a word
    y = softmax((logits - log(-log(u))) / temperature)
    output = y                                          with probability rho
    output = one_hot(argmax(y)) + y - stop_gradient(y)  otherwise
    ```

    The argmax is a sample from `softmax(logits)` at every temperature. A
    positive `rho` is the partial-sampling form, which passes the relaxed
    sample `y`, noise included. With `backward_temperature` the gradient is
    always that of `y` at this temperature; without `rho`, `temperature` then
    has no effect.

    Args:
        temperature: Float, positive: at low temperatures, relaxed samples are
            close to words and gradients have a high variance. It is held in a
            variable: `channel.temperature.assign(0.7)` changes it during
            training, and it is saved with the model. Or that variable itself,
            made with `trainable=False`; or a schedule, a callable of the
            training step, such as `tfcap.training.ExponentialTemperature()`.
            Defaults to `0.5`.
        rho: Float in `[0, 1]`, probability of passing the relaxed sample. If
            positive, held in a variable as well; or a schedule. Defaults to
            `0.0`.
        granularity: String, what shares one draw of `rho`; see
            `PartialSamplingST`. Defaults to `"step_sample"`.
        seed: Integer, optional seed of the sampling.
        backward_temperature: Float, variable or schedule, the temperature at
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
      forward temperature also flattens the distribution of words; here it
      applies only to the relaxed sample.
    """

    def __init__(
        self, temperature=0.5, rho=0.0, backward_temperature=None, **kwargs
    ):
        super().__init__(rho=rho, **kwargs)
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


@keras.saving.register_keras_serializable(package="tfcap")
class ProbabilityChannel(WordChannel):
    """Emits samples of a TensorFlow Probability distribution over words.

    It emits the one-hot vector of the sample's largest entry, with the
    gradient of the sample if the distribution is reparameterized, as
    `RelaxedOneHotCategorical` is, and without gradient otherwise.

    It needs the TensorFlow backend and `pip install tfcap[probability]`.

    Args:
        distribution: String, a class of `tfp.distributions` that takes
            `logits` of shape `(..., V)` and returns samples of that shape.
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
        TypeError: If the distribution is not a string.

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
                f"saved. Received: distribution={distribution!r}. Pass "
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
        fully = _distributions().FULLY_REPARAMETERIZED
        return made.reparameterization_type == fully

    def emit(self, logits, noise=None):
        import tensorflow as tf

        made = self._make(logits=logits, **(self.options or {}))
        # TensorFlow Probability takes int32 seeds only.
        seed = tf.cast(self.seed_generator.next(), tf.int32)
        sample = tf.cast(made.sample(seed=seed), logits.dtype)
        sample = tf.ensure_shape(sample, logits.shape)
        hard = self.one_hot(likeliest_words(sample), logits)
        if not self.differentiable:
            return hard
        vectors = straight_through(hard, sample)
        return remember_words(vectors, remembered_words(hard))

    def get_config(self):
        names = "distribution options"
        return {**super().get_config(), **config_of(self, names)}


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
