import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tfcap._ops import likeliest_words
from tfcap._ops import map_distinct
from tfcap._ops import repeat_samples
from tfcap._ops import take_rows
from tfcap._ops import token_log_probs

RNG = np.random.default_rng(0)
ROWS = RNG.integers(0, 2, size=(30, 3)).astype("int32")
TABLE = RNG.normal(size=(2, 4)).astype("float32")


def test_log_probs_of_words_by_a_loop():
    logits = RNG.normal(size=(2, 3, 5)).astype("float32")
    tokens = RNG.integers(0, 5, size=(2, 3))
    found = ops.convert_to_numpy(token_log_probs(logits, tokens))
    for place in np.ndindex(2, 3):
        p = np.exp(logits[place]) / np.exp(logits[place]).sum()
        np.testing.assert_allclose(
            found[place], np.log(p[tokens[place]]), rtol=1e-5, atol=1e-6
        )


def test_log_probs_are_float32_whatever_the_logits_are():
    for dtype in ("float16", "bfloat16"):
        logits = ops.cast(RNG.normal(size=(1, 50)) * 100, dtype)
        found = token_log_probs(logits, np.array([3]))
        assert keras.backend.standardize_dtype(found.dtype) == "float32"
        expected = token_log_probs(ops.cast(logits, "float32"), np.array([3]))
        np.testing.assert_array_equal(found, expected)


def test_a_word_that_cannot_be_said_leaves_finite_gradients():
    logits = tf.constant([[-1e9, 0.0, 1.0]])
    with tf.GradientTape() as tape:
        tape.watch(logits)
        score = token_log_probs(logits, np.array([0]))
    assert np.isfinite(tape.gradient(score, logits)).all()


def plain_log_probs(logits, tokens):
    picked = ops.take_along_axis(logits, tokens[..., None], axis=-1)[..., 0]
    return picked - ops.logsumexp(logits, axis=-1)


@pytest.mark.parametrize(
    "logits",
    [
        [[3.0, 2.0, 1.0], [0.0, 0.0, -1.0]],
        [[400.0, 0.0, 1.0], [-1e9, 0.0, 1.0]],
        [[64.0, 62.0, 0.0], [-np.inf, 0.0, 1.0]],
    ],
)
def test_gradients_of_log_probs_are_those_of_a_gather(logits):
    # A negative id counts from the end, as in a gather.
    for tokens in ([0, 1], [2, 2], [-1, 1]):
        found = []
        for function in (token_log_probs, plain_log_probs):
            x, words = tf.constant(logits), tf.constant(tokens)
            with tf.GradientTape() as tape:
                tape.watch(x)
                score = function(x, words)
            slope = tape.gradient(score, x, tf.constant([2.0, -3.0]))
            found.append((score, tf.convert_to_tensor(slope)))
        for ours, true in zip(*found):
            np.testing.assert_allclose(ours, true, rtol=1e-5, atol=1e-5)


def test_log_probs_of_shapes_that_are_not_one_to_one_or_not_known():
    logits, tokens = RNG.normal(size=(1, 3, 5)), np.array([[0, 1, 2]] * 4)
    true = plain_log_probs(ops.cast(logits, "float32"), tokens)
    np.testing.assert_allclose(
        token_log_probs(logits, tokens), true, rtol=1e-5, atol=1e-6
    )
    shapes = tf.TensorSpec([None, 3, None]), tf.TensorSpec([None, 3], tf.int32)
    unknown = tf.function(token_log_probs, input_signature=shapes)
    logits, tokens = np.repeat(logits, 4, 0), np.int32(tokens)
    np.testing.assert_allclose(
        unknown(logits, tokens), true, rtol=1e-5, atol=1e-6
    )
    inputs = keras.Input((3, 5)), keras.Input((3,), dtype="int32")
    model = keras.Model(inputs, token_log_probs(*inputs))
    np.testing.assert_allclose(
        model([logits, tokens]), true, rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_likeliest_word_is_the_first_of_the_largest(dtype):
    logits = ops.cast([[[1, 3, 3, 0], [-2, -1, -9, -1]]], dtype)
    found = likeliest_words(logits)
    assert keras.backend.standardize_dtype(found.dtype) == "int32"
    np.testing.assert_array_equal(found, [[1, 1]])


def test_copies_of_a_row_stand_side_by_side():
    tree = {"a": np.array([1, 2]), "b": [np.eye(2)]}
    found = repeat_samples(tree, 3)
    assert found["a"].numpy().tolist() == [1, 1, 1, 2, 2, 2]
    np.testing.assert_array_equal(found["b"][0], np.repeat(np.eye(2), 3, 0))
    assert repeat_samples(tree, 1) is tree


def test_rows_of_every_tensor_are_taken():
    found = take_rows({"a": np.arange(4), "b": np.eye(4)}, [3, 0])
    assert found["a"].numpy().tolist() == [3, 0]
    np.testing.assert_array_equal(found["b"], np.eye(4)[[3, 0]])


def embed(table, calls=None):
    def function(rows):
        if calls is not None:
            calls.append(np.asarray(rows))
        return tf.reduce_sum(tf.tanh(tf.gather(table, rows)), axis=1)

    return function


def test_distinct_rows_alone_are_passed():
    calls = []
    map_distinct(embed(TABLE, calls), ROWS)
    (passed,) = calls
    assert len(passed) == len(np.unique(ROWS, axis=0)) < len(ROWS)
    assert {*map(tuple, passed)} == {*map(tuple, ROWS)}


def test_values_and_gradients_are_those_of_all_rows():
    table = tf.Variable(TABLE)
    weights = RNG.normal(size=(30, 4)).astype("float32")

    def run(distinct):
        with tf.GradientTape() as tape:
            function = embed(table)
            y = map_distinct(function, ROWS) if distinct else function(ROWS)
            loss = tf.reduce_sum(y * weights)
        gradient = tape.gradient(loss, table)
        return y, tf.convert_to_tensor(gradient)

    for one, other in zip(run(True), run(False)):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


def test_a_graph_takes_any_number_of_rows():
    traces = []

    @tf.function(input_signature=[tf.TensorSpec([None, 3], "int32")])
    def graph(rows):
        traces.append(rows)
        return map_distinct(embed(TABLE), rows)

    for count in (30, 1, 0):
        rows = ROWS[:count]
        expected = embed(TABLE)(rows)
        assert graph(rows).shape == (count, 4)
        np.testing.assert_allclose(graph(rows), expected, rtol=1e-6, atol=1e-6)
    assert len(traces) == 1


def test_the_gradient_of_log_probs_is_that_of_a_softmax():
    logits = tf.constant(RNG.normal(size=(4, 3, 7)), tf.float32)
    tokens = RNG.integers(0, 7, size=(4, 3))
    slope = RNG.normal(size=(4, 3)).astype("float32")

    def plain(logits, tokens):
        return tf.gather(tf.nn.log_softmax(logits), tokens, batch_dims=2)

    found = []
    for function in (token_log_probs, plain, tf.function(token_log_probs)):
        with tf.GradientTape() as tape:
            tape.watch(logits)
            value = tf.reduce_sum(function(logits, tokens) * slope)
        found.append(tape.gradient(value, logits))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(found[2], found[1], rtol=1e-5, atol=1e-7)
