import keras
import numpy as np
import pytest
import tensorflow as tf

from tfcap.training.update import prepare
from tfcap.training.update import weight_penalty

RNG = np.random.default_rng(0)
GRADIENTS = [RNG.normal(size=s).astype("float32") for s in ((3, 2), (4,))]
NORM = np.sqrt(sum((g**2).sum() for g in GRADIENTS))


def moved(gradients, clipnorm=None, optimizer=None):
    """How far SGD at rate 1 moves two variables."""
    variables = [
        keras.Variable(np.zeros(g.shape, "float32")) for g in GRADIENTS
    ]
    optimizer = optimizer or keras.optimizers.SGD(1.0)
    optimizer.build(variables)
    step = prepare(optimizer, gradients, variables, clipnorm)
    optimizer.apply(step.gradients, step.variables)
    return [-v.numpy() for v in variables]


def test_gradients_are_applied_as_they_are():
    for a, b in zip(moved(GRADIENTS), GRADIENTS):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("clipnorm", [0.5, 1e6])
def test_the_norm_of_all_gradients_is_clipped(clipnorm):
    factor = min(1.0, clipnorm / NORM)
    for a, b in zip(moved(GRADIENTS, clipnorm), GRADIENTS):
        np.testing.assert_allclose(a, factor * b, rtol=1e-5, atol=1e-6)


def test_a_scaled_loss_is_clipped_as_if_it_were_not():
    scaled = [1024.0 * g for g in GRADIENTS]
    optimizer = keras.optimizers.LossScaleOptimizer(
        keras.optimizers.SGD(1.0), initial_scale=1024.0
    )
    for a, b in zip(moved(scaled, 0.5, optimizer), GRADIENTS):
        np.testing.assert_allclose(a, 0.5 / NORM * b, rtol=1e-5, atol=1e-6)


def test_an_infinite_gradient_of_a_scaled_loss_moves_nothing():
    optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(1.0))
    broken = [GRADIENTS[0] * np.inf, GRADIENTS[1]]
    assert not any(x.any() for x in moved(broken, 0.5, optimizer))
    assert float(optimizer.dynamic_scale) < 2**15


def test_rows_of_a_table_are_clipped_as_a_table():
    rows = tf.IndexedSlices(
        tf.ones((2, 2)), tf.constant([1, 1]), dense_shape=(3, 2)
    )
    found, still = moved([rows, None], 1.0)
    dense = np.zeros((3, 2))
    dense[1] = 2.0
    np.testing.assert_allclose(found, dense / np.sqrt(8), rtol=1e-6, atol=1e-6)
    assert not still.any()


def test_gradients_that_reach_nothing_are_refused():
    with pytest.raises(ValueError, match="2 trainable variables. See that"):
        moved([None, None])


def test_penalties_on_weights_are_those_of_keras():
    layer = keras.layers.Dense(3, kernel_regularizer=keras.regularizers.L2(0.1))
    layer.build((None, 2))
    found = weight_penalty(layer.trainable_variables)
    np.testing.assert_allclose(found, layer.losses[0], rtol=1e-6, atol=1e-6)
    bare = keras.layers.Dense(3)
    bare.build((None, 2))
    assert weight_penalty(bare.trainable_variables) == 0.0
