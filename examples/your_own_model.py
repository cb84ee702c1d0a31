"""Train a speaker of your own by four published methods.

    python examples/your_own_model.py --out runs/own
    tensorboard --logdir runs/own     # the tab "Trade-off"

The speaker is a GRU with four methods, the data a `padded_batch()` of a plain
`tf.data.Dataset`: random scenes and captions about them. Maximum likelihood
comes first, then PSST with a listener, self-critical training, sequence-level
exploration, and weighted teacher forcing with a frozen retriever. Press Ctrl-C
whenever you like: the same command resumes exactly.
"""

import argparse
import pathlib

import keras
import numpy as np
import tensorflow as tf

from tfcap.decoding import stepwise_log_probs
from tfcap.layers import SoftEmbedding
from tfcap.losses import HingeRetrievalLoss
from tfcap import methods
from tfcap.models import RetrievalListener
from tfcap.rewards import CIDErD
from tfcap.text import DocumentFrequencies
from tfcap.text import Vocabulary
from tfcap.training import Evaluator
from tfcap.training import Resume
from tfcap.training import TradeoffLogger

COUNTS, COLORS = ["one", "two", "three"], ["red", "green", "blue", "white"]
THINGS = ["cup", "dog", "boat", "tree", "kite"]


class GRUSpeaker(keras.Model):
    """Any object with these methods and attributes is a speaker."""

    def __init__(self, vocabulary, units=96):
        super().__init__()
        self.vocabulary_size = vocabulary.size
        self.bos, self.eos = vocabulary.bos, vocabulary.eos
        self.image = keras.layers.Dense(units, "tanh")
        self.words = SoftEmbedding(vocabulary.size, units)
        self.cell = keras.layers.GRUCell(units)
        self.head = keras.layers.Dense(vocabulary.size)

    def begin(self, inputs, training=False):
        return self.image(inputs["features"])

    def step(self, words, state, training=False):
        hidden, _ = self.cell(self.words(words), [state])
        return self.head(hidden), hidden

    def log_probs(self, state, tokens, training=False):
        return stepwise_log_probs(self, state, tokens, training)

    def references(self, inputs):
        return inputs["texts"]

    def call(self, inputs, training=False):
        state = self.begin(inputs, training)
        return self.log_probs(state, self.references(inputs), training)
