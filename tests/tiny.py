"""A speaker small enough to enumerate everything that it can say."""

import itertools

import keras
import numpy as np
from keras import ops

from tfcap.decoding import stepwise_log_probs

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
