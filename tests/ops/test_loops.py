import keras
import numpy as np
import pytest
from keras import ops

from tests.gradients import differentiated
from tfcap._ops.loops import each_word


def test_a_loop_gives_values_and_gradients_of_unrolled_steps():
    rng = np.random.default_rng(0)
    words, weight, shares = (
        rng.normal(size=shape).astype("float32")
        for shape in ((2, 40, 3), (3, 3), (2, 40, 3))
    )
    state, calls = {"hidden": np.zeros((2, 3), "float32")}, []

    def total(unroll):
        def of_weight(weight):
            def step(x, state):
                calls.append(x)
                hidden = ops.tanh(x + ops.matmul(state["hidden"], weight))
                return hidden, {"hidden": hidden}

            outputs = each_word(step, state, ops.array(words), unroll=unroll)
            return ops.sum(outputs * shares)

        calls.clear()
        return differentiated(of_weight, weight)

    for one, other in zip(total(True), total(None)):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
    if keras.backend.backend() == "jax":
        assert len(calls) < 10


@pytest.mark.parametrize("length", [3, 40])
def test_a_state_that_grows_is_unrolled(length):
    def step(x, state):
        state = ops.concatenate([state, x[:, None]], axis=1)
        return ops.sum(state, axis=1), state

    words = np.ones((1, length), "float32")
    found = each_word(step, ops.zeros((1, 0)), ops.array(words))
    np.testing.assert_allclose(found, np.arange(1, length + 1)[None])


def test_a_loop_draws_other_numbers_at_every_step():
    def drawn(unroll):
        layer = keras.layers.Dropout(0.5, seed=0)

        def step(x, state):
            return layer(x, training=True), state

        words = ops.ones((1, 6, 20))
        state = ops.zeros((1, 1))
        found = each_word(step, state, words, unroll=unroll, network=layer)
        return np.array(found), np.array(layer.seed_generator.state)

    for one, other in zip(drawn(True), drawn(False), strict=True):
        np.testing.assert_array_equal(one, other)
