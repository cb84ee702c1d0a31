"""A decoder that says everything, to take expectations without chance."""

import numpy as np
from keras import ops

from tests import tiny
from tests.gradients import slopes
from tests.testing import tf
from tfcap.decoding import Decoder
from tfcap.decoding import Rollout
from tfcap.objectives import Episode
from tfcap.rewards import Reward

WORTH = np.array([0.0, 0.0, 0.5, 2.0, -1.0], "float32")


class Worth(Reward):
    """Each word is worth something, and a word said twice a lot more."""

    name = "worth"

    def __init__(self, constant=0.0):
        self.constant = constant

    def call(self, rollout, episode):
        tokens = rollout.tokens
        worth = ops.sum(ops.take(WORTH, tokens) * rollout.mask, axis=-1)
        twice = ops.cast(tokens[..., 0] == tokens[..., 1], "float32")
        return worth + 3.0 * twice + self.constant


def worth(tokens):
    """What captions are worth, by NumPy."""
    twice = tokens[..., 0] == tokens[..., 1]
    return WORTH[tokens].sum(-1) + 3.0 * twice


class Known(Reward):
    """Rewards that are given, whatever is said."""

    def __init__(self, values, name="reward"):
        self.values, self.name = np.float32(values), name

    def call(self, rollout, episode):
        return ops.convert_to_tensor(self.values)


class Everything(Decoder):
    """All captions of at most `length` words, as samples of every row."""

    def __init__(self, length=2):
        self.max_length = length
        self.tokens = tiny.captions(length)
        self.num_samples = len(self.tokens)

    def decode(self, speaker, state, references=None, training=False):
        rows = ops.shape(state[0])[0]
        tokens = ops.tile(self.tokens[None], (rows, 1, 1))
        log_probs = speaker.log_probs(state, tokens, training)
        mask = ops.cast(tokens != 0, "float32")
        return Rollout(tokens, mask, None, log_probs)


def gradient(speaker, objective, inputs, training=False):
    """Of a loss, by the table of a speaker; beside it the loss and the logs."""

    def loss():
        return objective.loss(Episode(speaker, inputs, training=training))

    slope, *found = slopes(loss, speaker.table)()
    return np.array(slope), *found


def estimates(speaker, objective, rows=500, repeats=60):
    """Estimates of the gradient of a reward, of so many rows each."""

    def loss():
        return objective.loss(Episode(speaker, tiny.batch(rows)))

    one = slopes(loss, speaker.table)
    if tf:
        one = tf.function(one, autograph=False)
    return np.stack([-np.array(one()[0]) for _ in range(repeats)])


def assert_unbiased(found, exact, within=0.03):
    """Estimates whose mean is exact, with errors `within` what would hide.

    With the default, a gradient that is wrong by a tenth would be noticed.
    """
    error = found.std(0, ddof=1) / np.sqrt(len(found))
    assert (np.abs(found.mean(0) - exact) <= 4.5 * error + 1e-6).all()
    assert error.max() < within * np.abs(exact).max()


def expectation(speaker, values):
    """Gradient by the table of an expectation, captions being drawn.

    Args:
        values: Callable from an `Episode` and a decoder of all captions to
            losses of captions `(1, S)`.
    """
    everything = Everything()

    def total():
        episode = Episode(speaker, tiny.batch(1))
        p = ops.exp(ops.sum(episode.rollout(everything).log_probs, axis=-1))
        return (ops.sum(ops.stop_gradient(p) * values(episode, everything)),)

    return np.array(slopes(total, speaker.table)()[0])


def exact_gradient(speaker, worth, length=2):
    """Gradient of the expected `worth(tokens)` of captions, NumPy to NumPy."""
    values = np.asarray(worth(tiny.captions(length)), "float32")

    def expected():
        return (ops.sum(tiny.chances(speaker, length) * values),)

    return np.array(slopes(expected, speaker.table)()[0])
