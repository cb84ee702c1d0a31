"""Gradients of channels that draw a word first, against enumeration."""

import gc
import graphlib

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tests import tiny
from tfcap.decoding import Sample
from tfcap.layers import GumbelRao
from tfcap.layers import GumbelSoftmaxST
from tfcap.layers import ReinMax
from tfcap.layers import ReinMaxCV
from tfcap.layers import ReinMaxRao
from tfcap.layers.conditional_gumbel import perturbed

CHANNELS = [GumbelRao, ReinMax, ReinMaxCV, ReinMaxRao]
LOGITS = np.float32([0.3, -1.0, 0.8, 0.1])
P = np.exp(LOGITS) / np.exp(LOGITS).sum()


def jacobian(p):
    return np.diag(p) - np.outer(p, p)


def of_words(channel, slopes, logits=LOGITS):
    """Gradient to the logits of each word, `slopes` what passes to it.

    Words are all there is, so often as 1,000 rows of noise have room for.
    """
    size = len(logits)
    rows = np.tile(logits, (1000, size, 1))
    uniform = np.cumsum(softmax(logits)) - softmax(logits) / 2
    noise = channel.noise(rows.shape)
    ((_, *seeds), *_) = noise
    uniform = np.tile(uniform, (1000, 1)).astype("float32")
    with tf.GradientTape() as tape:
        rows = tf.constant(rows)
        tape.watch(rows)
        words = channel.emit(rows, noise=((uniform, *seeds),))
        value = tf.reduce_sum(words * slopes)
    np.testing.assert_array_equal(words[0], np.eye(size))
    return tape.gradient(value, rows).numpy()


def softmax(x):
    return np.exp(x) / np.exp(x).sum()


def test_reinmax_is_its_formula_at_every_temperature():
    slopes = np.random.default_rng(0).normal(size=(4, 4)).astype("float32")
    for temperature in (1.0, 2.0):
        found = of_words(ReinMax(temperature), slopes)[0]
        q = softmax(LOGITS / temperature)
        for d, slope, row in zip(np.eye(4), slopes, found):
            wanted = 2 * jacobian((d + q) / 2) - 0.5 * jacobian(P)
            np.testing.assert_allclose(row, wanted @ slope, atol=1e-6)


def test_reinmax_is_exact_for_a_quadratic_function():
    rng = np.random.default_rng(1)
    square, line = rng.normal(size=(4, 4)), rng.normal(size=4)
    square += square.T
    # f(d) = d A d / 2 + b d, whose slope at a word is A d + b.
    values = np.diag(square) / 2 + line
    slopes = (square + line).astype("float32")
    found = P @ of_words(ReinMax(), slopes)[0]
    np.testing.assert_allclose(found, jacobian(P) @ values, atol=1e-6)
    straight = jacobian(P) @ (P @ slopes)
    assert np.abs(straight - found).max() > 0.1


def test_perturbed_scores_have_their_largest_at_the_word_and_the_right_mean():
    rows = np.tile(np.log(P), (40_000, 1)).astype("float32")
    rng = np.random.default_rng(0)
    uniform = rng.uniform(1e-7, 1, rows.shape).astype("float32")
    ids = rng.choice(4, size=len(rows), p=P)
    found = ops.convert_to_numpy(perturbed(rows, ids, uniform))
    np.testing.assert_array_equal(found.argmax(-1), ids)
    # Over all words they are what they would be without being given one.
    plain = rows - np.log(-np.log(rng.uniform(size=rows.shape)))
    for moment in (1, 2):
        a, b = found**moment, plain**moment
        error = np.sqrt((a.var(0) + b.var(0)) / len(rows))
        assert (np.abs(a.mean(0) - b.mean(0)) < 4.5 * error).all()


def rejected(logits, word, seed):
    """Gumbel noise of the draws in which the word is the largest of four."""
    noise = np.random.default_rng(seed).gumbel(size=(200_000, 4))
    return noise[(logits + noise).argmax(-1) == word]


def slope_of_soft(scores, temperature, slope):
    """Mean of `J(y) slope / temperature`, and the variance of a draw."""
    y = np.exp((scores - scores.max(-1, keepdims=True)) / temperature)
    y /= y.sum(-1, keepdims=True)
    each = y * (slope - (y @ slope)[:, None]) / temperature
    return each.mean(0), each.var(0) / len(each)


@pytest.mark.parametrize("kind", ["gumbel_rao", "reinmax_rao", "reinmax_cv"])
def test_mean_gradients_given_each_of_four_words(kind):
    tau, draws = 0.7, 20
    slopes = np.random.default_rng(2).normal(size=(4, 4)).astype("float32")
    channel = {
        "gumbel_rao": GumbelRao(tau, draws, seed=0),
        "reinmax_rao": ReinMaxRao(tau, draws, seed=0),
        "reinmax_cv": ReinMaxCV(tau, 0.5, draws, seed=0),
    }[kind]
    found = of_words(channel, slopes)
    for word, slope in enumerate(slopes):
        d = np.eye(4)[word]
        theta = np.log((P + d) / 2)
        own = rejected(LOGITS, word, 10 + word)
        rao = slope_of_soft(theta + rejected(theta, word, word), tau, slope)
        if kind == "gumbel_rao":
            wanted, extra = slope_of_soft(LOGITS + own, tau, slope)
        elif kind == "reinmax_rao":
            wanted = 2 * rao[0] - 0.5 * jacobian(P) @ slope
            extra = 4 * rao[1]
        else:
            reinmax = 2 * jacobian((P + d) / 2) - 0.5 * jacobian(P)
            z = slope_of_soft(theta + own, tau, slope)
            wanted = reinmax @ slope + 0.5 * (rao[0] - z[0])
            extra = 0.25 * (rao[1] + z[1])
        each = found[:, word]
        error = np.sqrt(each.var(0) / len(each) + extra)
        assert (np.abs(each.mean(0) - wanted) < 4.5 * error).all()
        assert error.max() < 0.05 * np.abs(wanted).max()


def test_gumbel_rao_has_the_mean_of_gumbel_and_less_variance():
    slope = np.float32([1.0, -2.0, 0.5, 1.5])
    rows = tf.constant(np.tile(LOGITS, (20_000, 1)))
    found = {}
    for name, channel in {
        "gumbel": GumbelSoftmaxST(0.5, seed=0),
        "rao": GumbelRao(0.5, 10, seed=0),
    }.items():
        with tf.GradientTape() as tape:
            tape.watch(rows)
            words = channel(rows, training=True)
            # A square, so that what a word is matters to its gradient.
            value = tf.reduce_sum(tf.linalg.matvec(words, slope) ** 2)
        found[name] = tape.gradient(value, rows).numpy()
    one, rao = found["gumbel"], found["rao"]
    error = np.sqrt((one.var(0) + rao.var(0)) / len(rows))
    assert (np.abs(one.mean(0) - rao.mean(0)) < 4.5 * error).all()
    assert rao.var(0).sum() < 0.8 * one.var(0).sum()


@pytest.mark.parametrize("channel", CHANNELS)
def test_where_rho_passes_the_relaxed_vector_its_own_gradient_does(channel):
    layer = channel(rho=1.0, seed=0)
    rows = tf.constant(np.tile(LOGITS, (3, 1)))
    slope = np.float32([1.0, -2.0, 0.5, 1.5])
    with tf.GradientTape() as tape:
        tape.watch(rows)
        words, ids = layer.draw(rows)
        value = tf.reduce_sum(words * slope)
    found = tape.gradient(value, rows).numpy()
    np.testing.assert_allclose(np.sum(words, -1), 1, rtol=1e-5)
    if channel is GumbelRao:
        np.testing.assert_array_equal(np.argmax(words, -1), ids)
        return
    np.testing.assert_allclose(words[0], P, rtol=1e-5)
    np.testing.assert_allclose(found[0], jacobian(P) @ slope, rtol=1e-4)


def in_turns(graph, size):
    """Length of the longest chain of draws `(..., size)` that wait in turn."""
    before = {
        op: {x.op for x in op.inputs} | set(op.control_inputs)
        for op in graph.get_operations()
    }
    longest = {}
    for op in graphlib.TopologicalSorter(before).static_order():
        random = "RandomUniform" in op.type
        drawn = random and op.outputs[0].shape[-1] == size
        longest[op] = drawn + max((longest[x] for x in before[op]), default=0)
    return max(longest.values())


@pytest.mark.parametrize(
    "channel, rho, expected",
    [
        *((each, 0.0, 6) for each in (GumbelRao, ReinMaxRao, ReinMaxCV)),
        *((each, 0.5, 6) for each in (ReinMaxRao, ReinMaxCV)),
        # The relaxed vector is their mean, of which there are six more.
        (GumbelRao, 0.5, 12),
    ],
)
def test_draws_wait_for_each_other_so_that_one_is_in_memory(
    channel, rho, expected
):
    layer = channel(num_samples=6, rho=rho, seed=0)

    @tf.function(autograph=False)
    def slopes(logits):
        with tf.GradientTape() as tape:
            tape.watch(logits)
            value = tf.reduce_sum(tf.sin(layer(logits, training=True)))
        return tape.gradient(value, logits)

    graph = slopes.get_concrete_function(tf.zeros((3, 7))).graph
    assert in_turns(graph, 7) == expected


@pytest.mark.parametrize("channel", [GumbelRao, ReinMaxRao, ReinMaxCV])
def test_a_tape_keeps_no_more_of_more_draws(channel):
    kept = []
    for num_samples in (2, 9):
        layer = channel(num_samples=num_samples, rho=0.5, seed=0)
        logits = tf.zeros((3, 7))
        gc.collect()
        with tf.GradientTape() as tape:
            tape.watch(logits)
            words = layer(logits, training=True)
            found = gc.get_objects()
            found = [x for x in found if isinstance(x, type(logits))]
            kept.append(sum(x.shape == (3, 7) for x in found))
        assert tape.gradient(words, logits) is not None
        del words, found, tape
    assert 0 < kept[0] == kept[1]


def test_words_do_not_depend_on_the_draws_of_the_gradient():
    said = [
        channel(seed=5)(np.zeros((50, 7), "float32"), training=True)
        for channel in CHANNELS
    ]
    for words in said[1:]:
        np.testing.assert_array_equal(words, said[0])


@pytest.mark.parametrize("channel", [GumbelRao, ReinMax])
def test_a_loop_draws_and_differentiates_as_an_unrolled_decode(channel):
    speaker, found = tiny.MemorySpeaker(), []
    for unroll in (True, False):
        samples = Sample(channel(rho=0.5, seed=2), 2, 3, unroll=unroll)
        with tf.GradientTape() as tape:
            state = speaker.begin(tiny.batch(4))
            rollout = samples.decode(speaker, state)
            value = tf.reduce_sum(tf.sin(rollout.words * np.arange(5.0)))
        slopes = tape.gradient(value, [x.value for x in speaker.weights[:3]])
        found.append([rollout.tokens, rollout.words, *slopes])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_a_schedule_cools_the_samples_of_the_gradient():
    halved = keras.optimizers.schedules.ExponentialDecay(1.0, 1, 0.5)
    for channel in CHANNELS:
        layer = channel(halved, seed=0)
        layer(LOGITS[None], training=True)
        values = layer.scheduled_values()
        assert {k: float(v) for k, v in values.items()} == {"temperature": 0.5}
