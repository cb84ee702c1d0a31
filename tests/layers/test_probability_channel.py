import importlib.util

import numpy as np
import pytest
import tensorflow as tf

from tfcap.layers import GumbelSoftmaxST
from tfcap.layers import ProbabilityChannel

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("tensorflow_probability") is None,
    reason="needs TensorFlow Probability",
)
PROBS = np.array([0.6, 0.3, 0.1], "float32")
LOGITS = np.tile(np.log(PROBS), (20_000, 1))
RELAXED = ("RelaxedOneHotCategorical", {"temperature": 0.5})


@pytest.mark.parametrize("arguments", [(), RELAXED])
def test_words_are_one_hot_and_from_the_distribution(arguments):
    channel = ProbabilityChannel(*arguments, seed=0)
    words = channel(LOGITS, training=True).numpy()
    assert set(np.unique(words)) == {0.0, 1.0}
    error = np.sqrt(PROBS * (1 - PROBS) / len(words))
    assert (np.abs(words.mean(0) - PROBS) < 4 * error).all()


def gradients(channel):
    logits = tf.constant(LOGITS)
    with tf.GradientTape() as tape:
        tape.watch(logits)
        words = channel(logits, training=True)
        value = tf.reduce_sum(words * [1.0, 2.0, 4.0])
    return tape.gradient(value, logits)


def test_our_gumbel_softmax_has_the_gradients_of_theirs():
    ours = gradients(GumbelSoftmaxST(0.5, seed=1)).numpy()
    theirs = gradients(ProbabilityChannel(*RELAXED, seed=1)).numpy()
    # Of different draws: the distributions are compared by two moments.
    error = 5 * np.sqrt((ours.var(0) + theirs.var(0)) / len(ours))
    assert (np.abs(ours.mean(0) - theirs.mean(0)) < error).all()
    np.testing.assert_allclose(ours.std(0), theirs.std(0), rtol=0.05)


def test_what_is_not_reparameterized_passes_no_gradient():
    assert gradients(ProbabilityChannel()) is None


def test_it_runs_in_a_graph():
    channel = ProbabilityChannel(*RELAXED, seed=0)
    emit = tf.function(lambda x: channel(x, training=True), autograph=False)
    assert emit(LOGITS[:4]).shape == (4, 3)


@pytest.mark.parametrize(
    "given, error, told",
    [
        ("Wordy", ValueError, "distribution='Wordy'"),
        (dict, TypeError, "`distribution` must be the name.*'dict"),
    ],
)
def test_a_distribution_is_given_by_its_name(given, error, told):
    with pytest.raises(error, match=told):
        ProbabilityChannel(given)
