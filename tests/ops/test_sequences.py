import functools
from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tfcap._ops import likeliest_words
from tfcap._ops import map_distinct
from tfcap._ops import masked_logsumexp
from tfcap._ops import masked_mean
from tfcap._ops import masked_softmax
from tfcap._ops import reference_mask
from tfcap._ops import repeat_samples
from tfcap._ops import sequence_mask
from tfcap._ops import straight_through
from tfcap._ops import take_rows
from tfcap._ops import token_log_probs
from tfcap._ops import without_start

RNG = np.random.default_rng(0)
LOGITS = RNG.normal(size=(5, 4)).astype("float32")
MASK = np.array(
    [[1, 1, 1, 1], [1, 0, 1, 0], [0, 0, 0, 1], [0] * 4, [1, 1, 0, 0]]
)
#: The largest logits that float16 has.
LARGEST = 60_000 * LOGITS / np.abs(LOGITS).max()
#: What may stand where nobody looks.
HIDDEN = [1e30, np.inf, -np.inf, np.nan]


def softmax_by_loop(logits, mask):
    weights = np.zeros(logits.shape)
    for row, (scores, keep) in enumerate(zip(logits, mask)):
        if keep.any():
            seen = np.exp(scores[keep > 0] - scores[keep > 0].max())
            weights[row, keep > 0] = seen / seen.sum()
    return weights


def length_by_loop(row, eos):
    for place, token in enumerate(row):
        if token == eos:
            return place + 1
    return sum(token != 0 for token in row)


def slope(function, values, upstream=None):
    """What a function gives, and its gradient, in single precision."""
    x = tf.convert_to_tensor(values)
    with tf.GradientTape() as tape:
        tape.watch(x)
        found = function(x)
    gradient = tape.gradient(found, x, upstream)
    return found, tf.cast(tf.convert_to_tensor(gradient), "float32").numpy()


same = functools.partial(np.testing.assert_allclose, rtol=1e-5, atol=1e-6)


def test_a_sequence_ends_with_its_first_end_token():
    tokens = RNG.integers(1, 4, size=(2, 20, 5))
    tokens[:, ::3, 3:] = 0
    tokens[1, 1] = 0  # An absent sequence has no words.
    mask = ops.convert_to_numpy(sequence_mask(tokens, 2))
    assert mask.dtype == np.float32
    for row, found in zip(tokens.reshape(-1, 5), mask.reshape(-1, 5)):
        length = length_by_loop(row, 2)
        assert found.tolist() == [1.0] * length + [0.0] * (5 - length)


@pytest.mark.parametrize(
    "bos, eos, pad",
    [
        (1, 2, 0),
        (1, 2, 2),
        (2, 2, 0),
        (1, (2, 1), 0),
        (2, 2, 2),
        (1, 2, 1),
        (None, 2, 0),
    ],
)
def test_a_start_token_is_left_out_whatever_else_it_is(bos, eos, pad):
    rows = [[5, 6, 2], [5, 6, 7], [5, pad, pad], [pad, pad, pad]]
    plain = np.pad(rows, [(0, 0), (0, 1)], constant_values=pad)
    reader = SimpleNamespace(bos=bos, eos=eos, pad=pad)
    np.testing.assert_array_equal(without_start(plain, reader), plain)
    if bos is None:
        return
    start = [[bos], [bos], [bos], [pad]]  # What is absent does not start.
    begun = np.concatenate([start, rows], axis=1)
    found = ops.convert_to_numpy(without_start(begun, reader))
    masks = [
        ops.convert_to_numpy(reference_mask(x, eos, pad))
        for x in (found, plain)
    ]
    np.testing.assert_array_equal(*masks)
    np.testing.assert_array_equal(found * masks[0], plain * masks[1])


def test_softmax_sees_only_what_is_not_masked():
    wanted = softmax_by_loop(LOGITS, MASK)
    found = np.asarray(masked_softmax(LOGITS, MASK))
    same(found, wanted)
    assert (found[MASK == 0] == 0).all()
    same(masked_softmax(LOGITS.T, MASK.T, axis=0), wanted.T)
    for mask in (None, np.ones((1, 4))):
        same(masked_softmax(LOGITS, mask), ops.softmax(LOGITS))


@pytest.mark.parametrize("value", HIDDEN)
def test_what_is_masked_changes_neither_softmax_nor_gradient(value):
    plain, changed = (
        slope(lambda x: masked_softmax(x, MASK) * LOGITS, x)
        for x in (LOGITS, np.where(MASK, LOGITS, np.float32(value)))
    )
    for a, b in zip(plain, changed):
        np.testing.assert_array_equal(a, b)
    assert np.isfinite(changed[1]).all()
    assert (changed[1][MASK == 0] == 0).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_softmax_in_half_precision(dtype):
    logits = tf.cast(LARGEST, dtype)
    weights, gradient = slope(lambda x: masked_softmax(x, MASK), logits)
    assert weights.dtype == dtype
    expected = softmax_by_loop(tf.cast(logits, "float32").numpy(), MASK)
    np.testing.assert_allclose(tf.cast(weights, "float32"), expected, atol=4e-3)
    assert np.isfinite(gradient).all()


def test_logsumexp_sees_only_what_is_not_masked():
    found = np.asarray(masked_logsumexp(LOGITS, MASK))
    same(found[:3], np.log((np.exp(LOGITS) * MASK).sum(axis=-1)[:3]))
    # That of nothing is finite, and its exponential is 0.
    assert np.isfinite(found[3]) and np.exp(found[3]) == 0.0
    across = masked_logsumexp(LOGITS.T, MASK.T, axis=0)
    np.testing.assert_array_equal(across, found)
    plain = masked_logsumexp(LOGITS, None, axis=(0, 1))
    same(plain, np.log(np.exp(LOGITS).sum()))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("value", HIDDEN)
def test_what_is_masked_changes_no_logsumexp(value, dtype):
    plain, (found, slopes) = (
        slope(lambda x: masked_logsumexp(x, MASK), tf.cast(x, dtype))
        for x in (LARGEST, np.where(MASK, LARGEST, np.float32(value)))
    )
    for a, b in zip(plain, (found, slopes)):
        np.testing.assert_array_equal(a, b)
    assert found.dtype == "float32" and np.isfinite(found).all()
    rounded = tf.cast(tf.cast(LARGEST, dtype), "float32").numpy()
    wanted = softmax_by_loop(rounded, MASK)
    np.testing.assert_allclose(slopes, wanted, atol=4e-3)


def test_mean_by_a_loop():
    for axis in (None, 0, -1, (0, 1)):
        total = (LOGITS * MASK).sum(axis)
        expected = total / np.maximum(MASK.sum(axis), 1)
        same(masked_mean(LOGITS, MASK, axis=axis), expected)
    same(masked_mean(LOGITS, None, axis=0), LOGITS.mean(0))
    assert float(masked_mean(LOGITS, np.zeros((5, 1)))) == 0.0


@pytest.mark.parametrize("value", HIDDEN)
def test_what_is_masked_changes_no_mean(value):
    hidden = np.where(MASK, LOGITS, np.float32(value))
    mean, gradient = slope(lambda x: masked_mean(x, MASK), hidden)
    same(mean, LOGITS[MASK > 0].mean())
    same(gradient, MASK / MASK.sum())


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_mean_in_half_precision_neither_overflows_nor_stops_counting(dtype):
    values = tf.cast(tf.fill((2000,), 100.0), dtype)
    for mask in (np.ones(2000), None):
        mean = masked_mean(values, mask)
        assert mean.dtype == dtype
        assert float(mean) == 100.0


RNG = np.random.default_rng(0)
ROWS = RNG.integers(0, 2, size=(30, 3)).astype("int32")
TABLE = RNG.normal(size=(2, 4)).astype("float32")


def test_log_probs_of_words_by_a_loop():
    logits = RNG.normal(size=(2, 3, 5)).astype("float32")
    tokens = RNG.integers(0, 5, size=(2, 3))
    found = ops.convert_to_numpy(token_log_probs(logits, tokens))
    for place in np.ndindex(2, 3):
        p = np.exp(logits[place]) / np.exp(logits[place]).sum()
        same(found[place], np.log(p[tokens[place]]))


def test_log_probs_are_float32_whatever_the_logits_are():
    for dtype in ("float16", "bfloat16"):
        logits = ops.cast(RNG.normal(size=(1, 50)) * 100, dtype)
        found = token_log_probs(logits, np.array([3]))
        assert keras.backend.standardize_dtype(found.dtype) == "float32"
        expected = token_log_probs(ops.cast(logits, "float32"), np.array([3]))
        np.testing.assert_array_equal(found, expected)


def test_a_word_that_cannot_be_said_leaves_finite_gradients():
    _, gradient = slope(
        lambda x: token_log_probs(x, np.array([0])), [[-1e9, 0.0, 1.0]]
    )
    assert np.isfinite(gradient).all()


UPSTREAM = tf.constant([2.0, -3.0])


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
    graph = tf.function(token_log_probs, autograph=False)
    # A negative id counts from the end, as in a gather.
    for tokens in map(tf.constant, ([0, 1], [2, 2], [-1, 1])):
        true, *found = (
            slope(functools.partial(score, tokens=tokens), logits, UPSTREAM)
            for score in (plain_log_probs, token_log_probs, graph)
        )
        for score, gradient in found:
            np.testing.assert_allclose(score, true[0], rtol=1e-5, atol=1e-5)
            np.testing.assert_allclose(gradient, true[1], rtol=1e-5, atol=1e-5)


def test_log_probs_of_shapes_that_are_not_one_to_one_or_not_known():
    logits, tokens = RNG.normal(size=(1, 3, 5)), np.array([[0, 1, 2]] * 4)
    true = plain_log_probs(ops.cast(logits, "float32"), tokens)
    same(token_log_probs(logits, tokens), true)
    shapes = tf.TensorSpec([None, 3, None]), tf.TensorSpec([None, 3], tf.int32)
    unknown = tf.function(token_log_probs, input_signature=shapes)
    logits, tokens = np.repeat(logits, 4, 0), np.int32(tokens)
    same(unknown(logits, tokens), true)
    inputs = keras.Input((3, 5)), keras.Input((3,), dtype="int32")
    model = keras.Model(inputs, token_log_probs(*inputs))
    same(model([logits, tokens]), true)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_likeliest_word_is_the_first_of_the_largest(dtype):
    logits = ops.cast([[[1, 3, 3, 0], [-2, -1, -9, -1]]], dtype)
    found = likeliest_words(logits)
    assert keras.backend.standardize_dtype(found.dtype) == "int32"
    np.testing.assert_array_equal(found, [[1, 1]])


def test_rows_of_every_tensor_are_copied_or_taken():
    tree = {"a": np.array([1, 2]), "b": [np.eye(2)]}
    found = repeat_samples(tree, 3)
    assert found["a"].numpy().tolist() == [1, 1, 1, 2, 2, 2]
    np.testing.assert_array_equal(found["b"][0], np.repeat(np.eye(2), 3, 0))
    assert repeat_samples(tree, 1) is tree
    found = take_rows(tree, [1, 0])
    assert found["a"].numpy().tolist() == [2, 1]
    np.testing.assert_array_equal(found["b"][0], np.eye(2)[[1, 0]])


def embed(table, calls=None):
    def function(rows):
        if calls is not None:
            calls.append(np.asarray(rows))
        return tf.reduce_sum(tf.tanh(tf.gather(table, rows)), axis=1)

    return function


def test_values_and_gradients_are_those_of_all_rows():
    weights, calls = RNG.normal(size=(30, 4)).astype("float32"), []

    def distinct(table):
        return map_distinct(embed(table, calls), ROWS) * weights

    found = slope(distinct, TABLE)
    wanted = slope(lambda table: embed(table)(ROWS) * weights, TABLE)
    for one, other in zip(found, wanted):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)
    # Distinct rows alone are passed.
    (passed,) = calls
    assert len(passed) == len(np.unique(ROWS, axis=0)) < len(ROWS)
    assert {*map(tuple, passed)} == {*map(tuple, ROWS)}


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


SOFT = np.random.default_rng(0).dirichlet(np.ones(50), size=200)
HARD = np.eye(50)[SOFT.argmax(-1)]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_what_comes_out_is_hard_to_the_bit(dtype):
    hard, soft = tf.cast(HARD, dtype), tf.cast(SOFT, dtype)
    for function in (straight_through, tf.function(straight_through)):
        found = function(hard, soft)
        assert found.dtype == dtype
        np.testing.assert_array_equal(tf.cast(found, "float32"), HARD)


def test_gradients_are_those_of_soft_and_hard_keeps_its_own():
    slopes = np.random.default_rng(1).normal(size=SOFT.shape)
    _, of_soft = slope(lambda x: straight_through(HARD, x**2) * slopes, SOFT)
    same(of_soft, 2 * SOFT * slopes)
    _, of_hard = slope(lambda x: straight_through(3 * x, SOFT), HARD)
    np.testing.assert_array_equal(of_hard, np.full(HARD.shape, 3.0))
