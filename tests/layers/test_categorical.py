import numpy as np
import pytest
import tensorflow as tf

from tfcap.layers import Categorical

PROBS = np.array([0.6, 0.3, 0.1], "float32")


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_words_come_from_the_tempered_distribution(temperature):
    n = 20_000
    logits = np.tile(np.log(PROBS), (n, 1))
    words = Categorical(temperature, seed=0)(logits, training=True).numpy()
    wanted = PROBS ** (1 / temperature)
    wanted /= wanted.sum()
    error = np.sqrt(wanted * (1 - wanted) / n)
    assert (np.abs(words.mean(0) - wanted) < 4 * error).all()


def test_no_gradient_passes_through_the_words():
    logits = tf.constant([[1.0, 0.0, -1.0]])
    with tf.GradientTape() as tape:
        tape.watch(logits)
        words = Categorical(seed=0)(logits, training=True)
    assert tape.gradient(words, logits) is None


def test_it_is_discrete():
    assert Categorical().discrete


@pytest.mark.parametrize("temperature", [0.0, -1.0])
def test_a_temperature_that_is_not_positive_is_refused(temperature):
    with pytest.raises(ValueError, match="must be positive.*temperature="):
        Categorical(temperature)
