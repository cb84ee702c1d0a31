"""A speaker small enough to enumerate everything that it can say."""

import itertools

import keras
import numpy as np
from keras import ops

from tfcap.decoding import stepwise_log_probs
from tfcap.training.backends import backend

BOS, EOS = 1, 2
VOCABULARY = 5
#: Words that can be said: the end token and two others.
WORDS = (2, 3, 4)


class TableSpeaker(keras.Model):
    """The logits of the next word are a row of a table, by the last word."""

    vocabulary_size, bos, eos = VOCABULARY, BOS, EOS
    suppressed_ids = (0, BOS)

    def __init__(self, seed=0, scale=1.0):
        super().__init__()
        self.table = self.add_weight(
            shape=(VOCABULARY, VOCABULARY),
            initializer=keras.initializers.RandomNormal(
                stddev=scale, seed=seed
            ),
            name="table",
        )
        self.built = True

    def begin(self, inputs, training=False):
        return [ops.zeros((ops.shape(inputs["rows"])[0], 1))]

    def step(self, words, state, training=False):
        if len(words.shape) == 1:
            words = ops.one_hot(words, VOCABULARY)
        suppressed_ids = np.array([-1e9, -1e9, 0.0, 0.0, 0.0], "float32")
        return ops.matmul(words, self.table) + suppressed_ids, state

    def log_probs(self, state, tokens, training=False):
        return stepwise_log_probs(self, state, tokens, training)

    def references(self, inputs):
        if "references" in inputs:
            return inputs["references"]
        return ops.full((ops.shape(inputs["rows"])[0], 1, 1), EOS, "int32")


class MemorySpeaker(TableSpeaker):
    """The logits of the next word depend on all words before it."""

    units = 4

    def __init__(self, seed=0, dropout=0.0):
        keras.Model.__init__(self)
        shapes = {
            "read": (VOCABULARY, self.units),
            "keep": (self.units, self.units),
            "head": (self.units, VOCABULARY),
        }
        for place, (name, shape) in enumerate(shapes.items()):
            initializer = keras.initializers.RandomNormal(
                stddev=1.0, seed=10 * seed + place
            )
            setattr(
                self,
                name,
                self.add_weight(
                    shape=shape, initializer=initializer, name=name
                ),
            )
        self.drop = keras.layers.Dropout(dropout, seed=seed)
        self.built = True

    def begin(self, inputs, training=False):
        return ops.zeros((ops.shape(inputs["rows"])[0], self.units))

    def step(self, words, state, training=False):
        if len(words.shape) == 1:
            words = ops.one_hot(words, VOCABULARY)
        state = ops.matmul(state, self.keep) + ops.matmul(words, self.read)
        state = ops.tanh(self.drop(state, training=training))
        suppressed_ids = np.array([-1e9, -1e9, 0.0, 0.0, 0.0], "float32")
        return ops.matmul(state, self.head) + suppressed_ids, state


class FixedSpeaker:
    """A plain object that gives two rows the same logits at every step."""

    def __init__(self, logits, bos=BOS, eos=EOS, pad=None):
        self.logits = np.array(logits, "float32")
        self.vocabulary_size = self.logits.size
        self.bos, self.eos = bos, eos
        if pad is not None:
            self.pad = pad

    def begin(self, inputs, training=False):
        return ops.zeros((2, 1))

    def step(self, words, state, training=False):
        shape = (ops.shape(state)[0], self.logits.size)
        return ops.broadcast_to(self.logits, shape), state

    def log_probs(self, state, tokens, training=False):
        return stepwise_log_probs(self, state, tokens, training)

    def references(self, inputs):
        return inputs["references"]


def batch(rows, references=None):
    inputs = {"rows": np.zeros((rows, 1), "float32")}
    if references is not None:
        inputs["references"] = np.asarray(references, "int32")
    return inputs


def captions(length=2):
    """Everything of at most `length` words, padded with 0."""
    said = set()
    for words in itertools.product(WORDS, repeat=length):
        end = words.index(EOS) + 1 if EOS in words else length
        said.add(words[:end] + (0,) * (length - end))
    return np.array(sorted(said), "int32")


def probability(table, caption):
    """Probability of one caption under a table, by a plain loop."""
    last, total = BOS, 1.0
    for word in caption:
        if word == 0:
            break
        logits = table[last][list(WORDS)]
        p = np.exp(logits - logits.max())
        total *= (p / p.sum())[WORDS.index(word)]
        last = word
    return total


def chances(speaker, length=2):
    """Probability of each of `captions(length)`, with its gradient."""
    tokens = captions(length)[None]
    log_probs = speaker.log_probs(speaker.begin(batch(1)), tokens)
    return ops.exp(ops.sum(log_probs[0], axis=-1))


def decode(decoder, speaker, rows=2, references=None, training=False):
    """What a decoder has a speaker say of rows that are all alike."""

    def said():
        state = speaker.begin(batch(rows))
        return decoder.decode(speaker, state, references, training=training)

    return compiled(said)


def compiled(function):
    """What a function returns; JAX compiles all of its operations at once."""
    if keras.backend.backend() == "jax":
        return backend.graph(lambda _: function())(())
    return function()


def scores(logits, words=WORDS):
    """Log probabilities of the words that may be said, by NumPy."""
    left = np.asarray(logits)[list(words)]
    return dict(zip(words, left - np.log(np.exp(left).sum())))


def assert_as_often(found, p):
    """Of many draws, a share of `p` is true."""
    error = np.sqrt(max(p * (1 - p), 0.0) / np.size(found))
    assert abs(np.mean(found) - p) < 4.5 * error + 1e-6
