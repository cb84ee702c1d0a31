import keras
import numpy as np
import tensorflow as tf

from tfcap.layers import SoftEmbedding
from tfcap.layers.stepwise import decoding_layers


def embedding():
    layer = SoftEmbedding(5, 3)
    layer.build((None, 5))
    return layer


def test_what_is_shared_ends_with_the_decode():
    layer = embedding()
    with layer.decoding(2, 3):
        outer = layer.shared
        with layer.decoding(4, 5):
            assert layer.shared is not outer
        assert layer.shared is outer
    assert layer.shared is None


def test_a_graph_that_outlives_the_decode_shares_nothing():
    layer, found = embedding(), []

    @tf.function(autograph=False)
    def step():
        found.append(layer.shared)
        return layer(tf.ones((2, 5)))

    with layer.decoding(2, 3):
        before = step().numpy()
    layer.embeddings.assign(2 * layer.embeddings)
    assert found == [None]
    np.testing.assert_allclose(step(), 2 * before, rtol=1e-6, atol=1e-6)


def test_all_steps_of_a_decode_have_one_dense_gradient():
    layer = embedding()
    words = tf.one_hot([1, 1], 5)
    with tf.GradientTape() as tape:
        with decoding_layers(keras.Sequential([layer]), 2, 3):
            value = sum(tf.reduce_sum(layer(words)) for _ in range(3))
    slope = tape.gradient(value, layer.embeddings.value)
    assert isinstance(slope, tf.Tensor)
    np.testing.assert_array_equal(slope[:, 0], [0, 6, 0, 0, 0])
