import numpy as np
import tensorflow as tf

from tfcap.losses.masked_loss import one_pair_loss


def test_equals_equation_five():
    e, truth, sample = np.random.default_rng(0).normal(size=(3, 4, 6))
    wanted = [
        np.log(1 + np.exp(e[i] @ truth[i] - e[i] @ sample[i])) for i in range(4)
    ]
    np.testing.assert_allclose(
        one_pair_loss(e, truth, sample), wanted, rtol=1e-6, atol=1e-6
    )


def test_gradients_reach_the_anchor_the_truth_and_the_sample():
    e, truth, sample = (
        tf.constant(np.random.default_rng(i).normal(size=(4, 3)))
        for i in range(3)
    )
    with tf.GradientTape() as tape:
        tape.watch((e, truth, sample))
        loss = tf.reduce_sum(one_pair_loss(e, truth, sample))
    found = tape.gradient(loss, (e, truth, sample))
    gap = np.sum(e * (truth - sample), axis=-1, keepdims=True)
    chance = 1 / (1 + np.exp(-gap))
    wanted = chance * (truth - sample), chance * e, -chance * e
    for one, other in zip(found, wanted):
        np.testing.assert_allclose(one, other, rtol=1e-6)
