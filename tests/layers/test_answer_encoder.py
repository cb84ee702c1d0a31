import numpy as np
import pytest
import tensorflow as tf

from tests import testing
from tfcap.layers import AnswerEncoder
from tfcap.layers import SoftEmbedding

RNG = np.random.default_rng(0)
WORDS = RNG.normal(size=(2, 3, 5, 4)).astype("float32")
MASK = np.arange(5) < RNG.integers(1, 6, size=(2, 3, 1))


def test_self_attention_is_the_papers():
    encode = AnswerEncoder(6, output_units=3)
    got = encode(WORDS, mask=MASK).numpy()
    states = encode.read(WORDS, mask=MASK).numpy()
    (w1, b1), (w2,) = encode.hidden.get_weights(), encode.score.get_weights()
    w, b = encode.project.get_weights()
    for i in range(2):
        for j in range(3):
            h = states[i, j][MASK[i, j]]
            a = np.exp(np.tanh(h @ w1 + b1) @ w2[:, 0])
            pooled = (a / a.sum()) @ h
            np.testing.assert_allclose(
                got[i, j], np.tanh(pooled @ w + b), atol=1e-5
            )


@pytest.mark.parametrize("attention", [True, False])
def test_nothing_under_the_mask_matters(attention):
    testing.check_mask(
        lambda: AnswerEncoder(6, attention=attention),
        {"inputs": WORDS},
        {"inputs": ("mask", MASK)},
    )


@pytest.mark.parametrize("attention", [True, False])
def test_an_answer_without_words_is_finite_with_finite_gradients(attention):
    encode = AnswerEncoder(6, attention=attention)
    words = tf.constant(WORDS)
    with tf.GradientTape() as tape:
        tape.watch(words)
        value = tf.reduce_sum(encode(words, mask=np.zeros((2, 3, 5))))
    grads = tape.gradient(value, [words, *encode.trainable_variables])
    assert np.isfinite(value)
    for grad in grads:
        assert grad is None or np.isfinite(grad).all()


@pytest.mark.parametrize("attention", [True, False])
def test_ids_and_one_hot_words_give_the_same(attention):
    embed, encode = SoftEmbedding(9, 4), AnswerEncoder(6, attention=attention)
    ids = np.array([[3, 4, 2, 0, 0], [5, 2, 0, 0, 0]])
    words = np.eye(9, dtype="float32")[ids]
    np.testing.assert_allclose(
        encode(embed(ids)), encode(embed(words), mask=ids != 0), atol=1e-6
    )


def test_dropout_is_only_for_training():
    encode = AnswerEncoder(6, dropout=0.5, seed=0)
    still = encode(WORDS, mask=MASK)
    assert not np.allclose(still, encode(WORDS, mask=MASK, training=True))
    np.testing.assert_array_equal(still, encode(WORDS, mask=MASK))
