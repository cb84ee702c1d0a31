"""Base class of the layers that turn word logits into words."""

import contextlib
import math

import keras
from keras import ops

from tfcap._ops import SeedGenerator
from tfcap._ops import likeliest_words
from tfcap._ops.arguments import checked_scalar
from tfcap._ops.arguments import initial_value
from tfcap._ops.schedules import StepCounter
from tfcap._ops.schedules import at_step
from tfcap._ops.schedules import checked_schedule
from tfcap._ops.schedules import is_held
from tfcap._ops.schedules import is_schedule
from tfcap._ops.schedules import schedule_config
from tfcap._ops.schedules import traced_function
from tfcap.layers._fast.word_vectors import WordIds
from tfcap.layers._fast.word_vectors import cast_words
from tfcap.layers._fast.word_vectors import ids_of_words
from tfcap.layers._fast.word_vectors import remember_words
from tfcap.layers.inverse_cdf import sample_words


class WordChannel(keras.layers.Layer):
    """Turns word logits into word vectors that a listener can read.

    In training, subclasses decide in `emit()` what is passed on: a sampled
    one-hot vector, a relaxed one, or a mixture. At inference every channel
    emits the one-hot vector of the most likely word.

    Channels compute in float32 whatever the dtype policy, and return the
    policy's compute dtype: half precision holds neither the probabilities of
    a large vocabulary nor a sum over them.

    A number of a channel, such as a temperature, may be a schedule: a callable
    of the training step, such as an object of `keras.optimizers.schedules`.
    The channel then counts the training steps, in a variable that is saved,
    `step`: one in each batch of a `fit()`, however often the channel is called
    in it, in a cell of an RNN, say, or twice in a model. A loop of one's own
    counts alike in a `tf.function` of one batch, whose loops and branches are
    part of the step. Where several batches share a function by `tf.range()`,
    make the step a `tf.function` of its own. Eagerly, and on JAX, every
    outermost call of a layer, every decode, and every call that `keras.remat`
    computes again is a step; what else is one step, assign before each:
    `channel.step.assign(optimizer.iterations)`.

    To write a channel, override `emit()`; if it may pass anything but one-hot
    vectors forward, `discrete`; if it passes no gradient back,
    `differentiable`.

    Args:
        seed: Integer, optional seed of the channel's sampling.

    Call arguments:
        logits: Float tensor of shape `(..., V)`, unnormalized log
            probabilities of the `V` words of the vocabulary.
        training: Boolean, whether to sample (`emit()`) or take the argmax.

    Returns:
        Float tensor of shape `(..., V)`; each last axis sums to one.
    """

    def __init__(self, seed=None, **kwargs):
        kwargs.setdefault("autocast", False)
        super().__init__(**kwargs)
        self.seed = seed
        self.seed_generator = SeedGenerator(self.seed)
        self.supports_masking = True
        self.step = None
        # Untracked: a variable that is not held is its owner's.
        self.__dict__["_numbers"] = {}
        self.__dict__["_configs"] = {}
        self.__dict__["_logged"] = {}

    @property
    def discrete(self):
        """Boolean: every emitted vector is exactly one-hot in training."""
        return True

    @property
    def differentiable(self):
        """Boolean: gradients pass from what is emitted to the logits."""
        return True

    def build(self, input_shape):
        if input_shape[-1] is None:
            raise ValueError(
                "`logits` must have a static last axis, the vocabulary. "
                f"Received: shape={tuple(input_shape)}."
            )
        self.built = True

    def emit(self, logits, noise=None):
        """Emits the vectors that are passed on in training.

        Args:
            logits: Float32 tensor of shape `(..., V)`.
            noise: The random numbers to use instead of drawing them; what
                they are is the subclass's affair. For tests.

        Returns:
            Float32 tensor of shape `(..., V)`.
        """
        raise NotImplementedError

    @property
    def replays(self):
        """Boolean: `emit_words()` gives what `emit()` gave, for known words.

        So it does of itself for a channel that emits words and passes no
        gradient. A loop of the graph asks for it, see `tfcap.decoding.Sample`.
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
        """Emits what `emit()` did at every step, of words that are known.

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
        """Holds a number that may change in training: call it to read it.

        Args:
            name: String, the argument's name.
            value: Float, `keras.Variable`, or schedule.
            wanted: String, what it must be, for messages.
            fits: Callable from a float to a boolean.
            held: Boolean, whether a float is held in a variable that may be
                assigned, and is saved. Defaults to `True`.
            logged: String, under which a schedule's value is logged. Defaults
                to `name`.
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
        """A number that is held: a variable, or its value at this step."""
        value = self._numbers[name]
        if self.step is None or not callable(value):
            return value
        return at_step(value, self._counter())

    def config_of(self, name):
        """A number that is held, for `get_config()`."""
        value = self._configs[name]
        if isinstance(value, keras.Variable):
            return initial_value(value)
        return schedule_config(value)

    def scheduled_values(self):
        """Values of the schedules at this step, by the names to log."""
        return {key: self.value_of(name) for key, name in self._logged.items()}

    def next_step(self):
        """Moves the schedules on by a training step, where none holds them."""
        if self.step is not None and not is_held(self):
            self._counter.advance()

    def _called_before(self):
        """Check whether the outermost layer's call has called this one before.

        Outside of functions of TensorFlow nothing else tells. Keras clears
        losses when an outermost call begins: one of 0 is the sign.
        """
        if self.step is None or traced_function() is not None or is_held(self):
            return False
        before = bool(self.losses)
        if not before:
            self.add_loss(ops.zeros(()))
        return before

    @contextlib.contextmanager
    def decoding(self, rows):
        """Context of one decode, in which the channel is called step by step.

        A decoder that emits `rows` sequences one step at a time wraps its
        loop in this context, so that a channel can hold what it shares over
        the steps. The base class holds nothing.

        Args:
            rows: Integer or scalar tensor, the number of sequences.
        """
        yield self

    def call(self, logits, training=False):
        logits = ops.cast(logits, "float32")
        if training:
            words = self.emit(logits)
            if not self._called_before():
                self.next_step()
        else:
            words = self.one_hot(likeliest_words(logits), logits)
        return cast_words(words, self.compute_dtype)

    def draw(self, logits):
        """Emits in training, and names the word each vector stands for.

        A relaxed vector stands for the word that was drawn with it, which
        need not be its largest entry: a decoder ends a sequence by it.

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
        """Float32 tensor, uniform in `[minval, 1)`, from the layer's seed."""
        return keras.random.uniform(
            shape, minval=minval, dtype="float32", seed=self.seed_generator
        )

    def one_hot(self, ids, logits):
        """One-hot vectors of `ids`, as wide as the last axis of `logits`.

        They remember the ids: what embeds them need not multiply. A vector is
        NaN where the logits are NaN or infinite, or all minus infinity: there
        is no word to draw.
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
