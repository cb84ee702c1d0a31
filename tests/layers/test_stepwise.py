import keras
import numpy as np
import pytest
import tensorflow as tf

from tfcap._ops import straight_through
from tfcap.layers import GumbelSoftmaxST
from tfcap.layers import SoftEmbedding
from tfcap.layers._fast import StepwiseLookup
from tfcap.layers._fast import WordIds
from tfcap.layers._fast import decoding_layers
from tfcap.layers._fast import remember_words


def embedding():
    layer = SoftEmbedding(5, 3)
    layer.build((None, 5))
    return layer


CHANNEL = GumbelSoftmaxST(seed=0)


def of_a_channel(rows):
    return CHANNEL(tf.zeros((rows, 5)), training=True)


def test_what_is_shared_ends_with_the_decode():
    layer = embedding()
    with layer.decoding(2, 3):
        outer = layer.shared(of_a_channel(2))
        with layer.decoding(4, 5):
            assert layer.shared(of_a_channel(4)) is not None
            assert layer.shared(of_a_channel(2)) is None
        assert layer.shared(of_a_channel(2)) is outer is not None
    assert layer.shared(of_a_channel(2)) is None


def test_a_graph_that_outlives_the_decode_shares_nothing():
    layer, found = embedding(), []

    @tf.function(autograph=False)
    def step():
        found.append(layer.shared(of_a_channel(2)))
        return layer(tf.ones((2, 5)))

    with layer.decoding(2, 3):
        before = step().numpy()
    layer.embeddings.assign(2 * layer.embeddings)
    assert found == [None]
    np.testing.assert_allclose(step(), 2 * before, rtol=1e-6, atol=1e-6)


def test_a_gradient_that_no_step_shares_is_not_in_the_graph():
    layer = embedding()

    @tf.function(autograph=False)
    def decode(ids):
        with layer.decoding(2, 3):
            return layer(ids)

    graph = decode.get_concrete_function(tf.constant([1, 2])).graph
    assert not [x for x in graph.get_operations() if x.type == "IdentityN"]


def test_all_steps_of_a_decode_have_one_dense_gradient():
    layer = embedding()
    words = tf.one_hot([1, 1], 5)
    with tf.GradientTape() as tape:
        with decoding_layers(keras.Sequential([layer]), 2, 3):
            value = sum(tf.reduce_sum(layer(words)) for _ in range(3))
    slope = tape.gradient(value, layer.embeddings.value)
    assert isinstance(slope, tf.Tensor)
    np.testing.assert_array_equal(slope[:, 0], [0, 6, 0, 0, 0])


def test_steps_in_half_precision_add_up_equal_words():
    layer = SoftEmbedding(3, 2, dtype="mixed_bfloat16")
    layer.build((None, 3))
    ids = np.ones(1024, int)
    words = remember_words(tf.one_hot(ids, 3, dtype="bfloat16"), WordIds(ids))
    with tf.GradientTape() as tape:
        with layer.decoding(1024, 4):
            said = [tf.cast(layer(words), "float32") for _ in range(4)]
        value = sum(map(tf.reduce_sum, said))
    slope = tape.gradient(value, layer.embeddings.value)
    np.testing.assert_array_equal(slope[:, 0], [0, 4096, 0])


def drawn(logits, kind):
    """Words of the largest logits; some of them relaxed."""
    soft, ids = tf.nn.softmax(logits), tf.argmax(logits, -1)
    hard = straight_through(tf.one_hot(ids, logits.shape[-1]), soft)
    if kind == "words":
        return remember_words(hard, WordIds(ids))
    relaxed = tf.constant([True, False, False, True])
    vectors = tf.where(relaxed[:, None], soft, hard)
    return remember_words(vectors, WordIds(ids, relaxed, soft))


def spoken(kind, embedded, table, start):
    """A decode that hears itself: every word is drawn after the last."""
    value = 0.0
    for _ in range(3):
        logits = tf.matmul(start, table, transpose_b=True)
        start = tf.sin(embedded(drawn(logits, kind)))
        value = value + tf.reduce_sum(start)
    return value


def once_and_twice(kind, make, table, start):
    """Gradients, and gradients of a penalty on them."""
    table, start = map(tf.convert_to_tensor, (table, start))
    with tf.GradientTape() as outer:
        outer.watch([table, start])
        with tf.GradientTape() as inner:
            inner.watch([table, start])
            value = spoken(kind, make(table), table, start)
        first = inner.gradient(value, [table, start])
        penalty = sum(tf.reduce_sum(tf.sin(3.0 * x)) for x in first)
    return *first, *outer.gradient(penalty, [table, start])


@pytest.mark.parametrize("kind", ["words", "some words"])
def test_a_decode_differentiated_once_and_twice_is_that_of_products(kind):
    rng = np.random.default_rng(0)
    table = rng.normal(size=(7, 3)).astype("float32")
    start = rng.normal(size=(4, 3)).astype("float32")

    def shared(table):
        # One step more than there are.
        return StepwiseLookup(table, rows=4, steps=4)

    def plain(table):
        return lambda words: tf.matmul(words + 0.0, table)

    wanted = once_and_twice(kind, plain, table, start)
    graph = tf.function(once_and_twice, autograph=False)
    for run in (once_and_twice, graph):
        found = run(kind, shared, table, start)
        for one, other in zip(found, wanted, strict=True):
            scale = np.abs(other).max()
            np.testing.assert_allclose(
                one / scale, other / scale, rtol=1e-3, atol=1e-4
            )


def test_what_is_no_word_of_a_step_is_multiplied():
    layer = embedding()
    words = of_a_channel(2)
    with layer.decoding(2, 1):
        assert layer.shared(words) is not None
        assert layer.shared(words + 0.0) is None
        assert layer.shared(of_a_channel(1)) is None
        true = layer(words)
        assert layer.shared(words) is None
        np.testing.assert_array_equal(layer(words + 0.0), true)
