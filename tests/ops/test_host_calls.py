import keras
import numpy as np
import pytest
import tensorflow as tf

from tfcap._ops import Resident
from tfcap._ops import call_on_host
from tfcap._ops import compiled


def test_a_compiled_function_gives_the_same_anywhere():
    function = compiled(lambda x, y: keras.ops.sum(x * y, axis=-1))
    x, y = np.ones((2, 3), "float32"), np.arange(3.0, dtype="float32")
    for call in (function, tf.function(function)):
        np.testing.assert_array_equal(call(x, y), [3.0, 3.0])


def test_it_is_compiled_within_a_step_that_is_not():
    traced = []

    @compiled
    def function(x):
        traced.append(x.shape)
        return x + 1.0

    step = tf.function(lambda x: function(x))
    for _ in range(2):
        step(tf.zeros(3))
    assert traced == [(3,)]
    step(tf.zeros(4))
    assert traced == [(3,), (4,)]


def test_a_resident_is_held_once_and_captured_by_graphs():
    array = np.arange(6, dtype="float32").reshape(2, 3)
    resident = Resident(array)
    step = tf.function(lambda: resident.tensor() * 2.0)
    np.testing.assert_array_equal(step(), 2 * array)
    graph = step.get_concrete_function().graph
    assert len(graph.captures) == 1
    assert resident.tensor() is resident.tensor()
    np.testing.assert_array_equal(resident.tensor(), array)


TOKENS = np.array([[[4, 5, 2], [5, -1, -1]], [[-1, -1, -1], [4, 4, 4]]])


def lengths(words):
    return (words >= 0).sum(axis=-1).astype("float32")


def test_a_graph_gets_what_eager_code_gets():
    wanted = lengths(TOKENS)
    found = call_on_host(lengths, (TOKENS,), (2, 2))
    np.testing.assert_array_equal(found, wanted)

    @tf.function(input_signature=[tf.TensorSpec([None, 2, 3], tf.int64)])
    def graph(words):
        found = call_on_host(lengths, (words,), (None, 2))
        assert found.shape == (None, 2)
        return found

    np.testing.assert_array_equal(graph(TOKENS), wanted)


@pytest.mark.parametrize("wrap", [lambda x: x, tf.function])
def test_numbers_come_back_as_float32_of_the_right_shape(wrap):
    call = wrap(lambda x: call_on_host(lambda y: [1, 2.5], (x,), (2,)))
    found = call(tf.constant(TOKENS))
    assert found.dtype == "float32" and found.numpy().tolist() == [1, 2.5]
    call = wrap(lambda x: call_on_host(lengths, (x,), (2, 3)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Shape"):
        call(tf.constant(TOKENS))
