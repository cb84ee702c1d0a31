import numpy as np
import pytest
import tensorflow as tf

from tfcap.layers import GumbelSoftmaxST

PROBS = np.array([0.6, 0.3, 0.1], "float32")
UNIFORM = np.array([[0.1, 0.5, 0.9, 0.3, 0.7], [0.8, 0.2, 0.4, 0.6, 0.95]])


def fill(*shape, k):
    n = int(np.prod(shape))
    return np.sin(np.arange(1, n + 1) * 0.7 * k).reshape(shape)


def test_values_and_gradient_of_the_released_code():
    logp = tf.nn.log_softmax(tf.constant(fill(2, 5, k=1.1), tf.float32))
    uniform = tf.constant(UNIFORM, tf.float32)
    channel = GumbelSoftmaxST(0.5)
    with tf.GradientTape() as tape:
        tape.watch(logp)
        out = channel.emit(logp, noise=uniform)
        loss = tf.reduce_sum(out * fill(2, 5, k=0.5).astype("float32"))
    np.testing.assert_array_equal(out, np.eye(5)[[2, 4]])
    # The layer normalizes its logits first: a projection that changes nothing
    # in gradients whose rows sum to zero, as these do.
    np.testing.assert_allclose(
        tape.gradient(loss, logp),
        [
            [-0.00189236, -0.01594306, 0.01606691, 0.00047663, 0.00129189],
            [0.00240600, 0.00005806, 0.00046097, 0.00314592, -0.00607095],
        ],
        atol=1e-7,
    )


def test_relaxed_samples_of_the_released_code():
    logp = tf.constant(fill(2, 5, k=1.1), tf.float32)
    uniform = tf.constant(UNIFORM, tf.float32)
    out = GumbelSoftmaxST(0.5, rho=1.0).emit(logp, noise=uniform)
    np.testing.assert_allclose(
        out[0],
        [0.00183331, 0.03711405, 0.95399971, 0.00188471, 0.00516822],
        atol=1e-6,
    )


def test_rho_is_the_rate_of_relaxed_samples():
    logits = np.tile(np.log(PROBS), (20_000, 1))
    channel = GumbelSoftmaxST(1.0, rho=0.25, seed=0)
    words = channel(logits, training=True).numpy()
    relaxed = words.max(-1) < 1
    assert abs(relaxed.mean() - 0.25) < 4 * np.sqrt(0.25 * 0.75 / 20_000)
    # They carry noise: no two alike.
    assert len(np.unique(words[relaxed][:, 0])) > 0.9 * relaxed.sum()


@pytest.mark.parametrize("rho", [0.0, 1.0])
def test_decoupled_values_are_of_one_temperature_and_gradients_of_another(rho):
    logits, uniform = fill(2, 5, k=1.1).astype("float32"), UNIFORM

    def emitted(*temperatures):
        one, *other = temperatures
        more = {"backward_temperature": other[0]} if other else {}
        channel = GumbelSoftmaxST(one, rho, **more)
        x = tf.constant(logits)
        with tf.GradientTape() as tape:
            tape.watch(x)
            out = channel.emit(x, noise=uniform.astype("float32"))
            loss = tf.reduce_sum(out * fill(2, 5, k=0.5).astype("float32"))
        return out, tape.gradient(loss, x)

    found = emitted(0.5, 2.0)
    np.testing.assert_array_equal(found[0], emitted(0.5)[0])
    np.testing.assert_allclose(found[1], emitted(2.0)[1], rtol=1e-6)
    assert np.abs(found[1] - emitted(0.5)[1]).max() > 0.01
