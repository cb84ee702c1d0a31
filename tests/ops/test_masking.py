from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tfcap._ops import masked_logsumexp
from tfcap._ops import masked_mean
from tfcap._ops import masked_softmax
from tfcap._ops import reference_mask
from tfcap._ops import sequence_mask
from tfcap._ops import without_start

RNG = np.random.default_rng(0)
LOGITS = RNG.normal(size=(5, 4)).astype("float32")
MASK = np.array(
    [[1, 1, 1, 1], [1, 0, 1, 0], [0, 0, 0, 1], [0] * 4, [1, 1, 0, 0]]
)
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


def test_a_sequence_ends_with_its_first_end_token():
    tokens = RNG.integers(1, 4, size=(2, 20, 5))
    tokens[:, ::3, 3:] = 0
    mask = ops.convert_to_numpy(sequence_mask(tokens, 2))
    assert mask.dtype == np.float32
    for row, found in zip(tokens.reshape(-1, 5), mask.reshape(-1, 5)):
        length = length_by_loop(row, 2)
        assert found.tolist() == [1.0] * length + [0.0] * (5 - length)


def test_an_absent_sequence_has_no_words():
    assert not ops.convert_to_numpy(
        sequence_mask(np.zeros((2, 3), int), 2)
    ).any()


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
    found = masked_softmax(LOGITS, MASK)
    np.testing.assert_allclose(
        found, softmax_by_loop(LOGITS, MASK), rtol=1e-5, atol=1e-6
    )
    hidden = np.asarray(found)[MASK == 0]
    assert (hidden == 0).all()


def test_softmax_reduces_the_axis_it_is_told():
    found = masked_softmax(LOGITS.T, MASK.T, axis=0)
    expected = softmax_by_loop(LOGITS, MASK).T
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_softmax_without_a_mask_is_the_plain_one():
    np.testing.assert_allclose(
        masked_softmax(LOGITS, None), ops.softmax(LOGITS), rtol=1e-6, atol=1e-6
    )
    full = masked_softmax(LOGITS, np.ones((1, 4)))
    np.testing.assert_allclose(full, ops.softmax(LOGITS), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("value", HIDDEN)
def test_what_is_masked_changes_neither_softmax_nor_gradient(value):
    def run(logits):
        x = tf.constant(logits)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(masked_softmax(x, MASK) * LOGITS)
        return y.numpy(), tape.gradient(y, x).numpy()

    plain = run(LOGITS)
    changed = run(np.where(MASK, LOGITS, np.float32(value)))
    for a, b in zip(plain, changed):
        np.testing.assert_array_equal(a, b)
    assert np.isfinite(changed[1]).all()
    assert (changed[1][MASK == 0] == 0).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_softmax_in_half_precision(dtype):
    logits = tf.cast(60_000 * LOGITS / np.abs(LOGITS).max(), dtype)
    with tf.GradientTape() as tape:
        tape.watch(logits)
        weights = masked_softmax(logits, MASK)
    gradient = tape.gradient(weights, logits)
    assert weights.dtype == dtype
    expected = softmax_by_loop(tf.cast(logits, "float32").numpy(), MASK)
    np.testing.assert_allclose(tf.cast(weights, "float32"), expected, atol=4e-3)
    assert np.isfinite(tf.cast(gradient, "float32")).all()


def test_logsumexp_sees_only_what_is_not_masked():
    found = np.asarray(masked_logsumexp(LOGITS, MASK))
    wanted = np.log((np.exp(LOGITS) * MASK).sum(axis=-1)[:-2])
    np.testing.assert_allclose(found[:3], wanted, rtol=1e-5, atol=1e-6)
    across = masked_logsumexp(LOGITS.T, MASK.T, axis=0)
    np.testing.assert_array_equal(across, found)
    plain = masked_logsumexp(LOGITS, None, axis=(0, 1))
    np.testing.assert_allclose(
        plain, np.log(np.exp(LOGITS).sum()), rtol=1e-5, atol=1e-6
    )


def test_logsumexp_of_nothing_is_finite_and_its_exponential_is_zero():
    found = masked_logsumexp(LOGITS, MASK)[3]
    assert np.isfinite(found) and float(ops.exp(found)) == 0.0


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("value", HIDDEN)
def test_what_is_masked_changes_no_logsumexp(value, dtype):
    largest = 60_000 * LOGITS / np.abs(LOGITS).max()

    def run(scores):
        x = tf.cast(scores, dtype)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = masked_logsumexp(x, MASK)
        return y.numpy(), tf.cast(tape.gradient(y, x), "float32").numpy()

    found, slopes = run(np.where(MASK, largest, np.float32(value)))
    for a, b in zip(run(largest), (found, slopes)):
        np.testing.assert_array_equal(a, b)
    assert found.dtype == np.float32 and np.isfinite(found).all()
    rounded = tf.cast(tf.cast(largest, dtype), "float32").numpy()
    wanted = softmax_by_loop(rounded, MASK)
    np.testing.assert_allclose(slopes, wanted, atol=4e-3)


def test_mean_by_a_loop():
    for axis in (None, 0, -1, (0, 1)):
        found = masked_mean(LOGITS, MASK, axis=axis)
        total = (LOGITS * MASK).sum(axis)
        expected = total / np.maximum(MASK.sum(axis), 1)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(
        masked_mean(LOGITS, None, axis=0), LOGITS.mean(0), rtol=1e-5, atol=1e-6
    )


def test_the_mean_of_nothing_is_zero():
    assert float(masked_mean(LOGITS, np.zeros((5, 1)))) == 0.0


@pytest.mark.parametrize("value", HIDDEN)
def test_what_is_masked_changes_no_mean(value):
    x = tf.constant(np.where(MASK, LOGITS, np.float32(value)))
    with tf.GradientTape() as tape:
        tape.watch(x)
        mean = masked_mean(x, MASK)
    np.testing.assert_allclose(
        mean, LOGITS[MASK > 0].mean(), rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(
        tape.gradient(mean, x), MASK / MASK.sum(), rtol=1e-6, atol=1e-6
    )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_mean_in_half_precision_neither_overflows_nor_stops_counting(dtype):
    values = tf.cast(tf.fill((2000,), 100.0), dtype)
    for mask in (np.ones(2000), None):
        mean = masked_mean(values, mask)
        assert mean.dtype == dtype
        assert float(mean) == 100.0
