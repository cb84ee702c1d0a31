import numpy as np
import pytest
import tensorflow as tf

from tfcap._ops import straight_through

SOFT = np.random.default_rng(0).dirichlet(np.ones(50), size=200)
HARD = np.eye(50)[SOFT.argmax(-1)]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_what_comes_out_is_hard_to_the_bit(dtype):
    hard, soft = tf.cast(HARD, dtype), tf.cast(SOFT, dtype)
    for function in (straight_through, tf.function(straight_through)):
        found = function(hard, soft)
        assert found.dtype == dtype
        np.testing.assert_array_equal(tf.cast(found, "float32"), HARD)


def test_gradients_are_those_of_soft():
    soft = tf.constant(SOFT)
    slope = np.random.default_rng(1).normal(size=SOFT.shape)
    with tf.GradientTape() as tape:
        tape.watch(soft)
        out = tf.reduce_sum(straight_through(HARD, soft**2) * slope)
    np.testing.assert_allclose(
        tape.gradient(out, soft), 2 * SOFT * slope, rtol=1e-6, atol=1e-6
    )


def test_hard_keeps_a_gradient_of_its_own():
    hard, soft = tf.constant(HARD), tf.constant(SOFT)
    with tf.GradientTape() as tape:
        tape.watch([hard, soft])
        out = tf.reduce_sum(straight_through(3 * hard, soft**2))
    slopes = tape.gradient(out, [hard, soft])
    np.testing.assert_array_equal(slopes[0], np.full(HARD.shape, 3.0))
    np.testing.assert_allclose(slopes[1], 2 * SOFT, rtol=1e-6, atol=1e-6)
