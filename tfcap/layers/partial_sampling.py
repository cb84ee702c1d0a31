"""Base class of the channels that sometimes pass a whole distribution."""

import contextlib

import keras
from keras import ops

from tfcap._ops import likeliest_words
from tfcap._ops import straight_through
from tfcap._ops.arguments import initial_value
from tfcap._ops.schedules import is_schedule
from tfcap.layers._fast.word_vectors import WordIds
from tfcap.layers._fast.word_vectors import remember_words
from tfcap.layers._fast.word_vectors import remembered_words
from tfcap.layers.word_channel import WordChannel

GRANULARITIES = ("step_sample", "step", "sample", "batch")


class PartialSampling(WordChannel):
    """Passes a relaxed vector with probability `rho`, a word otherwise.

    Subclasses compute the word and the relaxed vector in `candidates()`, and
    the latter alone, of the noise of `word_noise()`, in `relaxed()`.

    Args:
        rho: Float in `[0, 1]`, probability of passing the relaxed vector. If
            positive, it is held in a non-trainable variable, `layer.rho`,
            that may be assigned during training; or that variable itself; or
            a schedule, a callable of the training step.
            `rho=0` is fixed: the channel is discrete for good.
        granularity: String, what shares one draw: `"step_sample"` nothing,
            `"step"` all sequences at one step, `"sample"` all steps of one
            sequence, `"batch"` everything in one call. The step axis is the
            last but one of `logits`; logits of shape `(rows, V)` are one step
            of as many sequences. Step by step, `"sample"` and `"batch"` are
            held over the steps inside `with channel.decoding(rows)`, and are
            drawn at every call outside.
        seed: Integer, optional seed.
    """

    def __init__(
        self, rho=0.25, granularity="step_sample", seed=None, **kwargs
    ):
        super().__init__(seed=seed, **kwargs)
        if granularity not in GRANULARITIES:
            raise ValueError(
                f"`granularity` must be one of {GRANULARITIES}. "
                f"Received: granularity={granularity!r}."
            )
        self.granularity = granularity
        if isinstance(rho, keras.Variable):
            check_not_trained(rho, "rho")
            if not 0 < initial_value(rho) <= 1:
                raise ValueError(
                    "`rho` must be in (0, 1] when a variable of it is handed "
                    "over: a channel that is made with 0 is discrete for good. "
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
        """The two vectors to choose from, and what decides.

        Args:
            logits: Float32 tensor of shape `(..., V)`.
            noise: As of `emit()`.

        Returns:
            `(hard, soft, coins)`, or with `slope` too, the arguments of
            `mix()`.
        """
        raise NotImplementedError

    def word_noise(self, shape):
        """Draws the random numbers of `candidates()`, of logits `(n, V)`."""
        return self.uniform(shape[:-1])

    def relaxed(self, logits, noise):
        """The relaxed vectors `(..., V)` alone, of noise as of a word."""
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
            slope: Float32 tensor of shape `(..., V)` whose gradient passes
                where a word does. Defaults to `soft`.

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
        """Uniform numbers that broadcast to `shape`, shared as configured."""
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
    """Refuses a variable that an optimizer would change."""
    if getattr(variable, "trainable", False):
        raise ValueError(
            f"`{name}` must be a number, or a variable that is not trained. "
            f"Received: {name}={variable!r}. Make it with `trainable=False`."
        )


def _in_unit(value):
    return 0 <= value <= 1
