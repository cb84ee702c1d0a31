"""A decoder that says everything, to take expectations without chance."""

import numpy as np
import tensorflow as tf
from keras import ops

from tests import tiny
from tfcap.decoding import Decoder
from tfcap.decoding import Rollout
from tfcap.objectives import Episode


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


def expectation(speaker, values):
    """Gradient by the table of an expectation, captions being drawn.

    Args:
        values: Callable from an `Episode` and a decoder of all captions to
            losses of captions `(1, S)`.
    """
    everything = Everything()
    with tf.GradientTape() as tape:
        episode = Episode(speaker, tiny.batch(1))
        p = ops.exp(ops.sum(episode.rollout(everything).log_probs, axis=-1))
        total = ops.sum(ops.stop_gradient(p) * values(episode, everything))
    return tape.gradient(total, speaker.table.value).numpy()


def exact_gradient(speaker, worth):
    """Gradient of the expected `worth(tokens)` of captions, NumPy to NumPy."""
    tokens = tiny.captions()
    with tf.GradientTape() as tape:
        state = speaker.begin(tiny.batch(1))
        log_probs = speaker.log_probs(state, tokens[None])
        p = ops.exp(ops.sum(log_probs[0], axis=-1))
        expected = ops.sum(p * np.asarray(worth(tokens), "float32"))
    return tape.gradient(expected, speaker.table.value).numpy()
