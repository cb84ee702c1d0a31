import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tests import tiny
from tests.enumerated import Worth
from tests.enumerated import assert_unbiased
from tests.enumerated import exact_gradient
from tests.enumerated import worth
from tfcap.decoding import Sample
from tfcap.layers import Categorical
from tfcap.objectives import RELAX
from tfcap.objectives import Episode
from tfcap.training import JointTraining
from tfcap.training import Learner
from tfcap.training import Resume


class Placed(tiny.TableSpeaker):
    """Its state is the last word."""

    def begin(self, inputs, training=False):
        return ops.zeros((ops.shape(inputs["rows"])[0], tiny.VOCABULARY))

    def step(self, words, state, training=False):
        logits, _ = super().step(words, state, training)
        return logits, ops.one_hot(words, tiny.VOCABULARY)


def decoder():
    return Sample(
        Categorical(seed=5), 2, max_length=2, keep_states=True, unroll=True
    )


def relax(**options):
    options = {"temperature": 0.7, "seed": 1, **options}
    return RELAX(Worth(2.0), decoder(), 5, tiny.VOCABULARY, **options)


def test_the_slopes_are_those_of_both_relaxations():
    """By a tape through z at fixed noise, and through z given the word."""
    made = relax()
    rng = np.random.default_rng(0)
    log_p = tf.math.log_softmax(
        tf.constant(rng.normal(size=(40, 5)), "float32")
    )
    ids = rng.integers(0, 5, 40)
    word = np.eye(5, dtype="float32")[ids]
    z, kept = made._relaxed(log_p, word)
    np.testing.assert_array_equal(np.argmax(z, -1), ids)
    # Given the word, its own z is fixed and another's the soft maximum of
    # two: z = -log(exp(a - log_p) + exp(first)).
    first = -z.numpy()[np.arange(40), ids][:, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        times = np.log(np.exp(-z.numpy()) - np.exp(first)) + log_p.numpy()
    with tf.GradientTape() as tape:
        tape.watch(log_p)
        given = -tf.math.log(tf.exp(times - log_p) + tf.exp(first))
        total = tf.reduce_sum(tf.where(word > 0, 0.0, given))
    moved = tape.gradient(total, log_p).numpy()
    wanted = np.where(word > 0, 1.0, 1.0 - moved)
    good = np.isfinite(wanted) & (np.abs(first - times + log_p) < 8)
    np.testing.assert_allclose(kept.numpy()[good], wanted[good], 0.02, 0.02)
    assert good.mean() > 0.5


def test_the_mean_gradient_is_exact_and_training_quietens_it():
    speaker, term = Placed(2), relax()
    wanted = exact_gradient(speaker, worth)
    critic = term.network.trainable_variables
    adam = keras.optimizers.Adam(0.35)
    adam.build(critic)

    def step():
        with tf.GradientTape() as tape:
            loss, _ = term.loss(Episode(speaker, tiny.batch(2000)))
        own = [weight.value for weight in critic]
        slope, slopes = tape.gradient(loss, (speaker.table.value, own))
        return -slope, slopes

    def gradients(repeats):
        return np.stack([step()[0].numpy() for _ in range(repeats)])

    kernel = term.network.layers[-1].kernel
    kernel.assign(np.zeros((5, 5)))
    # Of no control, the gradient is that of REINFORCE.
    plain = gradients(4)
    kernel.assign(np.random.default_rng(3).normal(size=(5, 5)))
    found = gradients(8)
    assert_unbiased(found, wanted, 0.05)
    for _ in range(10):
        adam.apply(step()[1], critic)
    assert gradients(4).var(0).sum() < 0.3 * plain.var(0).sum()


def test_a_resumed_training_draws_the_noise_that_it_would_have_drawn(tmp_path):
    def trained(epochs, folder):
        keras.utils.set_random_seed(0)
        speaker, term = Placed(2), relax()
        learners = {
            "s": Learner(speaker, term),
            "b": Learner(term.network, term),
        }
        model = JointTraining(speaker, learners)
        sgd = {name: keras.optimizers.SGD(1.0) for name in learners}
        model.compile(sgd, run_eagerly=True)
        batches = tf.data.Dataset.from_tensors(tiny.batch(4))
        resume = Resume(tmp_path / folder)
        options = {"shuffle": False, "callbacks": [resume], "verbose": 0}
        model.fit(batches, epochs=epochs, **options)
        return model.speaker.get_weights()

    whole = trained(2, "whole")
    trained(1, "parts")
    np.testing.assert_array_equal(trained(2, "parts"), whole)


def test_what_cannot_be_relaxed_is_refused():
    for wrong in (
        Sample(Categorical(), max_length=2),
        Sample(Categorical(2.0), max_length=2, keep_states=True),
    ):
        with pytest.raises(ValueError, match="`decoder` must be Sample"):
            RELAX(Worth(), wrong, 5, 5)
