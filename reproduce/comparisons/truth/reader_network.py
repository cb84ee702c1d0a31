"""A small network that answers the world's questions from a caption alone."""

import collections
import itertools

import keras
import numpy as np
from keras import ops

from reproduce.world import BACKGROUNDS
from reproduce.world import COLORS
from reproduce.world import COLUMNS
from reproduce.world import MOTIONS
from reproduce.world import ROWS
from reproduce.world import SHAPES
from reproduce.world import SIZES
from reproduce.world import TEXTURES
from reproduce.world.truth import Truth
from tfcap.layers import SoftEmbedding

_OF_SHAPES = {
    "exists": (False, True),
    "color": COLORS,
    "size": SIZES,
    "texture": TEXTURES,
    "row": ROWS,
    "column": COLUMNS,
}
_OF_PAIRS = {
    "side": ("left", "right", "level"),
    "height": ("above", "below", "level"),
}
#: Possible answers by question, see `reproduce.world.truth.true_answers()`.
QUESTIONS = {
    **{
        (kind, shape): options
        for kind, options in _OF_SHAPES.items()
        for shape in SHAPES
    },
    **{
        (kind, *pair): options
        for kind, options in _OF_PAIRS.items()
        for pair in itertools.combinations(SHAPES, 2)
    },
    ("ground",): BACKGROUNDS,
    ("number",): tuple(range(1, 9)),
    ("motion",): MOTIONS,
    ("mover",): SHAPES,
}
_MOST = max(map(len, QUESTIONS.values()))
#: Takes an option out of a softmax.
_NEVER = -1e9


class Answers:
    """True answers of many images, as arrays.

    Args:
        truth: `reproduce.world.truth.Truth` of M images.

    Attributes:
        numbers: Int32 array `(M, Q)`, the index of each answer among its
            options, 0 where the question does not apply.
        weights: Float32 array `(M, Q)`, which sum to 1 for each image, the same
            for all kinds of questions; 0 where the question does not apply.
    """

    def __init__(self, truth: Truth):
        shape = len(truth), len(QUESTIONS)
        self.numbers = np.zeros(shape, "int32")
        self.weights = np.zeros(shape, "float32")
        places = {question: i for i, question in enumerate(QUESTIONS)}
        for row in range(len(truth)):
            answers = truth.answers(row)
            counts = collections.Counter(kind for kind, *_ in answers)
            for question, answer in answers.items():
                place, options = places[question], QUESTIONS[question]
                self.numbers[row, place] = options.index(answer)
                weight = 1 / (counts[question[0]] * len(counts))
                self.weights[row, place] = weight


@keras.saving.register_keras_serializable(package="tfcap")
class ReaderNetwork(keras.Model):
    """Reads a caption word by word, and answers all questions at once.

    Args:
        vocabulary_size: Integer.
        units: Integer, size of words and states.

    Call arguments:
        inputs: Dict with `caption`, integers of shape `(B, S, T)`, 0 where
            there is no word; or distributions over words, floats of shape
            `(B, S, T, V)`. `mask` `(B, S, T)`, optional for integers, is 0
            where there is none.

    Returns:
        Float tensor of shape `(B, S, Q, A)`: logits of the answers to each of
        `QUESTIONS`, those that are none of its options far below all.

    Example:

    >>> from reproduce.comparisons.truth.reader_network import ReaderNetwork
    >>> network = ReaderNetwork(9, units=4)
    >>> network({"caption": np.array([[[5, 2, 0]]])}).shape
    TensorShape([1, 1, 108, 10])
    """

    def __init__(self, vocabulary_size: int, units: int = 128, **kwargs):
        super().__init__(**kwargs)
        self.vocabulary_size = vocabulary_size
        self.units = units
        self.words = keras.layers.Embedding(
            vocabulary_size, units, mask_zero=True
        )
        self.soft = SoftEmbedding.from_embedding(self.words)
        self.recurrent = keras.layers.GRU(units)
        self.answers = keras.layers.Dense(len(QUESTIONS) * _MOST)
        options = np.array([len(options) for options in QUESTIONS.values()])
        never = np.arange(_MOST) >= options[:, None]
        self._never = (never * _NEVER).astype("float32")

    def build(self, input_shape):
        self.soft.build(None)
        self.recurrent.build((None, None, self.units))
        self.answers.build((None, self.units))
        self.built = True

    def call(self, inputs, training=False):
        caption, mask = inputs["caption"], inputs.get("mask")
        if mask is None:
            mask = ops.not_equal(caption, 0)
        batch, samples, *word = ops.shape(caption)
        words = ops.reshape(caption, (batch * samples, *word))
        mask = ops.reshape(ops.cast(mask, "bool"), (batch * samples, word[0]))
        states = self.recurrent(self.soft(words), mask=mask)
        logits = self.answers(states)
        shape = batch, samples, len(QUESTIONS), _MOST
        return ops.reshape(logits, shape) + self._never

    def get_config(self):
        return {
            **super().get_config(),
            "vocabulary_size": self.vocabulary_size,
            "units": self.units,
        }


@keras.saving.register_keras_serializable(package="tfcap")
class AnswerLoss(keras.losses.Loss):
    """Cross-entropy of the answers to the questions that apply.

    Call arguments:
        y_true: Float tensor `(B, 2, Q)`: places of the answers, and weights.
        y_pred: Logits `(B, S, Q, A)`.
    """

    def call(self, y_true, y_pred):
        truth = ops.cast(y_true[:, :1], "int32")
        log_probs = ops.log_softmax(y_pred)
        picked = ops.sum(
            log_probs * ops.one_hot(truth, _MOST, dtype=log_probs.dtype), -1
        )
        return -ops.mean(ops.sum(picked * y_true[:, 1:], axis=-1), axis=-1)
