import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tfcap.layers import PartialSamplingST

PROBS = np.array([0.6, 0.3, 0.1], "float32")


def fill(*shape, k):
    n = int(np.prod(shape))
    return np.sin(np.arange(1, n + 1) * 0.7 * k).reshape(shape)


def test_rho_is_the_rate_of_whole_distributions():
    logits = np.tile(np.log(PROBS), (20_000, 1))
    words = PartialSamplingST(0.25, seed=0)(logits, training=True)
    whole = np.isclose(words, PROBS).all(-1)
    assert abs(whole.mean() - 0.25) < 4 * np.sqrt(0.25 * 0.75 / whole.size)


@pytest.mark.parametrize("rho", [0.0, 0.25, 1.0])
def test_gradient_is_that_of_the_softmax_whatever_is_emitted(rho):
    logits, upstream = tf.constant([[1.0, 0.0, -1.0]]), tf.constant([1.0, 2, 4])
    channel = PartialSamplingST(rho, seed=1)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(logits)
        out = tf.reduce_sum(channel(logits, training=True) * upstream)
        soft = tf.reduce_sum(tf.nn.softmax(logits) * upstream)
    np.testing.assert_allclose(
        tape.gradient(out, logits),
        tape.gradient(soft, logits),
        rtol=1e-6,
        atol=1e-6,
    )


def test_values_of_the_released_code():
    logits = tf.constant(fill(3, 4, k=1.2), tf.float32)
    probs = tf.nn.softmax(logits).numpy()
    edges = np.cumsum(probs, -1) - probs / 2
    words = np.array([edges[0, 2], 0.0, edges[2, 3]])
    coins = np.array([0.9, 0.1, 0.9])
    out = PartialSamplingST(0.25).emit(logits, noise=(words, coins)).numpy()
    np.testing.assert_array_equal(out[[0, 2]], np.eye(4)[[2, 3]])
    np.testing.assert_allclose(
        out[1], [0.13904347, 0.12896597, 0.22453063, 0.50745993], atol=1e-6
    )


def whole_rows(granularity, shape=(20, 30)):
    channel = PartialSamplingST(0.5, granularity, seed=0)
    logits = np.tile(np.log(PROBS), (*shape, 1))
    out = channel(logits, training=True).numpy()
    return np.isclose(out, PROBS).all(-1)


def test_granularity_says_what_shares_a_draw():
    def same(x, axis):
        return (x.all(axis) | ~x.any(axis)).all()

    free, step, sample, batch = (
        whole_rows(x) for x in ("step_sample", "step", "sample", "batch")
    )
    assert not same(free, 0) and not same(free, 1)
    assert same(step, 0) and not same(step, 1)
    assert same(sample, 1) and not same(sample, 0)
    assert same(batch, None)


@pytest.mark.parametrize("granularity", ["step", "sample", "batch"])
def test_a_draw_is_held_over_the_steps_of_a_decode(granularity):
    channel = PartialSamplingST(0.5, granularity, seed=2)
    logits = np.tile(np.log(PROBS), (40, 1))
    with channel.decoding(40):
        steps = [channel(logits, training=True) for _ in range(12)]
    whole = np.isclose(np.stack(steps, 1), PROBS).all(-1)
    over_steps = (whole == whole[:, :1]).all()
    over_rows = (whole == whole[:1]).all()
    assert over_steps == (granularity in ("sample", "batch"))
    assert over_rows == (granularity in ("step", "batch"))


def test_whole_distributions_do_not_depend_on_the_seed():
    logits = ops.convert_to_tensor(fill(6, 5, k=1.0), "float32")
    one = PartialSamplingST(1.0, seed=0)(logits, training=True)
    two = PartialSamplingST(1.0, seed=1)(logits, training=True)
    np.testing.assert_array_equal(one, two)


def test_a_whole_distribution_stands_for_the_word_drawn_with_it():
    logits = np.tile(np.log(PROBS), (20_000, 1))
    words, ids = PartialSamplingST(1.0, seed=0).draw(logits)
    assert np.isclose(words, PROBS).all()
    share = np.bincount(ids, minlength=3) / 20_000
    np.testing.assert_allclose(share, PROBS, atol=0.02)
