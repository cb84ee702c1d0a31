"""What a run draws goes on exactly, or is told before its first step."""

import random

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.training.test_resume import Stop
from tfcap.training import Resume

ROWS = np.ones((4, 4, 4, 1), "float32")
GENERATOR = tf.random.Generator.from_seed(1)
SEEDS = keras.random.SeedGenerator(1)


class Drawing(keras.Model):
    """Its training step changes its inputs by a function."""

    def __init__(self, draw):
        super().__init__()
        self.dense = keras.layers.Dense(1)
        self.flip = keras.layers.RandomFlip(seed=1)
        self.dropout = keras.layers.Dropout(0.5, seed=1)
        self.seeds = keras.random.SeedGenerator(1)
        self.draw = draw
        self.build(ROWS.shape)
        self.compile(keras.optimizers.SGD(0.01))

    def build(self, shape):
        self.dense.build((None, 16))

    def call(self, x):
        return self.dense(keras.ops.reshape(x, (-1, 16)))

    def train_step(self, data):
        x = self.draw(self, data)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self(x) - 1.0) ** 2)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply(gradients, self.trainable_variables)
        return {"loss": loss}


def sampled(x):
    negatives = tf.nn.sampled_softmax_loss(
        tf.ones((9, 4)),
        tf.zeros(9),
        tf.constant([[1]]),
        tf.ones((1, 4)),
        num_sampled=3,
        num_classes=9,
    )
    return x + negatives[0]


#: Functions that draw, by the words of the warning.
TOLD = {
    "normal": ("RandomStandardNormal", lambda m, x: x + tf.random.normal([])),
    "in a branch": (
        "RandomUniform",
        lambda m, x: tf.cond(
            x[0, 0, 0, 0] > 0, lambda: x + uniform(), lambda: x
        ),
    ),
    "in a loop": (
        "RandomGamma",
        lambda m, x: tf.map_fn(lambda row: row * tf.random.gamma([], 1.0), x),
    ),
    "words": (
        "Multinomial",
        lambda m, x: x + word(),
    ),
    "order": ("RandomShuffle", lambda m, x: tf.random.shuffle(x)),
    "images": (
        "RandomUniform",
        lambda m, x: tf.image.random_brightness(x, 0.1),
    ),
    "dropout": ("RandomUniform", lambda m, x: tf.nn.dropout(x, 0.5)),
    "candidates": ("LogUniformCandidateSampler", lambda m, x: sampled(x)),
    "generator": (
        "draws from a generator",
        lambda m, x: x + GENERATOR.normal([]),
    ),
    "generator in a branch": (
        "draws from a generator",
        lambda m, x: tf.cond(
            x[0, 0, 0, 0] > 0, lambda: x + GENERATOR.normal([]), lambda: x
        ),
    ),
    "seeds of another": (
        "draws from a generator",
        lambda m, x: x + keras.random.normal((), seed=SEEDS),
    ),
    "NumPy": ("makes a constant", lambda m, x: x + np.random.normal()),
    "Python": ("makes a constant", lambda m, x: x + random.random()),
}
EXACT = {
    "a layer that flips": lambda m, x: m.flip(x, training=True),
    "a layer that drops out": lambda m, x: m.dropout(x, training=True),
    "seeds of the model": lambda m, x: (
        x + keras.random.normal((), seed=m.seeds)
    ),
    "Keras": lambda m, x: x + keras.random.normal(()),
    "eager operations": lambda m, x: (
        x + in_python(lambda: tf.random.normal([]))
    ),
    "the generator of NumPy": lambda m, x: x + in_python(np.random.normal),
    "the global generator": lambda m, x: (
        x + tf.random.get_global_generator().normal([])
    ),
    "seeds of the step": lambda m, x: (
        x
        + tf.random.stateless_normal(
            [], [1, tf.cast(m.optimizer.iterations, "int32")]
        )
    ),
}


def in_python(draw):
    return tf.py_function(lambda: np.float32(draw()), [], tf.float32)


def uniform():
    return tf.random.uniform([])


def word():
    return tf.cast(tf.random.categorical([[0.0, 1.0]], 1)[0, 0], "float32")


def program(draw, folder, *callbacks):
    Resume._ended_with.clear()
    keras.backend.clear_session()
    keras.utils.set_random_seed(1)
    tf.random.set_global_generator(tf.random.Generator.from_seed(1))
    model = Drawing(draw)
    model.fit(
        tf.data.Dataset.from_tensor_slices(ROWS).batch(2),
        epochs=2,
        shuffle=False,
        callbacks=[Resume(folder), *callbacks],
        verbose=0,
    )
    return model.get_weights()


@pytest.mark.parametrize("name", TOLD)
def test_a_step_whose_draws_nobody_can_save_is_told_of(name, tmp_path, capsys):
    words, draw = TOLD[name]
    with pytest.warns(UserWarning, match=f"be resumed exactly.*{words}"):
        with pytest.raises(SystemExit):
            program(draw, tmp_path, Stop(0, 0))
    assert "To go on, run the same command" in capsys.readouterr().err


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.filterwarnings("error:A run with random draws")
def test_a_step_whose_draws_are_saved_goes_on_exactly(name, tmp_path, capsys):
    whole = program(EXACT[name], tmp_path / "whole")
    with pytest.raises(SystemExit):
        program(EXACT[name], tmp_path / "parts", Stop(0, 0))
    assert "To go on exactly, run" in capsys.readouterr().err
    parts = program(EXACT[name], tmp_path / "parts")
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(one, other)
