import contextlib
import copy

import numpy as np
import pytest
import tensorflow as tf

from tests import speakers
from tfcap.decoding import Sample
from tfcap.layers import GumbelSoftmaxST
from tfcap.layers import PartialSamplingST
from tfcap.layers import _fast
from tfcap.layers._fast import StepwiseDense
from tfcap.layers._fast import StepwiseProduct

RNG = np.random.default_rng(0)
KERNEL = RNG.normal(size=(3, 5)).astype("float32")
BIAS = RNG.normal(size=5).astype("float32")
STEPS = RNG.normal(size=(4, 2, 3)).astype("float32")


def gradients(make, kernel, bias, steps):
    """Of a recurrence through the product, as a decode is one."""
    kernel, bias = map(tf.convert_to_tensor, (kernel, bias))
    steps = tf.unstack(steps)
    with tf.GradientTape() as tape:
        tape.watch([kernel, bias, steps])
        product, carried = make(kernel, bias), 0.0
        for step in steps:
            carried = tf.sin(product(step + tf.reduce_mean(carried)))
        value = tf.reduce_sum(carried)
    return value, *tape.gradient(value, [kernel, bias, *steps])


def plain(kernel, bias):
    return lambda rows: tf.matmul(rows, kernel) + bias


@pytest.mark.parametrize("more", [0, 2])
def test_one_product_gives_the_sum_of_the_steps_gradients(more):
    def once(kernel, bias):
        return StepwiseProduct(kernel, bias, rows=2, steps=len(STEPS) + more)

    for run in (gradients, tf.function(gradients, autograph=False)):
        found = run(once, KERNEL, BIAS, STEPS)
        for ours, true in zip(found, gradients(plain, KERNEL, BIAS, STEPS)):
            np.testing.assert_allclose(ours, true, rtol=1e-4, atol=1e-6)


def second(make, kernel, bias, steps):
    """Gradients of a penalty on gradients."""
    kernel, bias = map(tf.convert_to_tensor, (kernel, bias))
    with tf.GradientTape() as tape:
        tape.watch([kernel, bias])
        _, *first = gradients(make, kernel, bias, steps)
        value = sum(tf.reduce_sum(tf.sin(3.0 * slope)) for slope in first)
    return tape.gradient(value, [kernel, bias])


def test_second_derivatives_are_those_of_plain_products():
    def once(kernel, bias):
        return StepwiseProduct(kernel, bias, rows=2, steps=len(STEPS) + 1)

    wanted = second(plain, KERNEL, BIAS, STEPS)
    for run in (second, tf.function(second, autograph=False)):
        for ours, true in zip(run(once, KERNEL, BIAS, STEPS), wanted):
            assert np.abs(true).max() > 0.1
            np.testing.assert_allclose(ours, true, rtol=1e-3, atol=1e-4)


def test_a_tape_may_be_asked_twice():
    kernel = tf.constant(KERNEL)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(kernel)
        product = StepwiseProduct(kernel, tf.constant(BIAS), 2, len(STEPS))
        values = [tf.reduce_sum(product(step) ** 2) for step in STEPS]
    each = [tape.gradient(value, kernel) for value in values]
    whole = tape.gradient(values, kernel)
    np.testing.assert_allclose(sum(each), whole, rtol=1e-5, atol=1e-6)


@pytest.fixture
def calls(monkeypatch):
    """Arguments of the products of a test."""
    found, call = [], StepwiseProduct.__call__

    def counted(self, rows):
        found.append(rows)
        return call(self, rows)

    monkeypatch.setattr(StepwiseProduct, "__call__", counted)
    return found


def step_by_step(monkeypatch, speaker):
    """Lets no layer share its steps."""
    monkeypatch.setattr(
        type(speaker), "decoding", lambda *sizes: contextlib.nullcontext()
    )
    monkeypatch.setattr(_fast, "known_words", lambda vectors: None)


def value_of(speaker, batch, channel, feedback):
    """A function of the words that a speaker draws, and of their chances."""
    sample = Sample(channel, 2, max_length=4, feedback=feedback, unroll=True)
    said = sample.decode(speaker, speaker.begin(batch), training=True)
    return tf.reduce_sum(said.log_probs) + tf.reduce_sum(
        tf.sin(said.words + 0.5)
    )


def check_close(speaker, ours, plain, least, atol):
    """Compares gradients by the size of each, or at least some size."""
    for variable, one, other in zip(
        speaker.trainable_variables, ours, plain, strict=True
    ):
        one, other = (tf.convert_to_tensor(x) for x in (one, other))
        scale = np.abs(other).max() + least
        np.testing.assert_allclose(
            one / scale, other / scale, atol=atol, err_msg=variable.path
        )


#: Layers of a speaker that share their steps.
SHARING = {"show_tell_start": 3, "att2in": 4, "up_down": 1, "transformer": 1}


@pytest.mark.parametrize("feedback", ["index", "relaxed"])
@pytest.mark.parametrize("kind", SHARING)
def test_a_speaker_has_the_gradients_of_its_steps(
    kind, feedback, monkeypatch, calls
):
    speaker, batch = speakers.speaker(kind), speakers.batch()

    def slopes(graph=False):
        channel = GumbelSoftmaxST(seed=0)

        def of_words():
            with tf.GradientTape() as tape:
                value = value_of(speaker, batch, channel, feedback)
            return tape.gradient(value, speaker.trainable_variables)

        if not graph:
            return of_words()
        return tf.function(of_words, autograph=False)()

    ours = slopes()
    every = len(calls)
    assert every >= 4 * SHARING[kind]
    calls.clear()
    # Of the four words of a graph, the first is traced, and all others once.
    traced = slopes(graph=True)
    assert 2 * SHARING[kind] <= len(calls) <= every // 2
    calls.clear()
    step_by_step(monkeypatch, speaker)
    plain = slopes()
    assert not calls
    check_close(speaker, ours, plain, 1e-6, 1e-5)
    check_close(speaker, traced, plain, 1e-6, 1e-5)


@pytest.mark.parametrize("kind", ["show_tell_start", "att2in"])
def test_a_penalty_on_a_speakers_gradients_is_that_of_its_steps(
    kind, monkeypatch
):
    speaker, batch = speakers.speaker(kind), speakers.batch(images=2)
    weights = speaker.trainable_variables

    def second():
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                channel = PartialSamplingST(0.5, seed=0)
                value = value_of(speaker, batch, channel, "relaxed")
            first = inner.gradient(value, weights)
            first = [tf.convert_to_tensor(x) for x in first if x is not None]
            penalty = sum(tf.reduce_sum(x**2) for x in first)
        return outer.gradient(penalty, weights, unconnected_gradients="zero")

    ours = second()
    step_by_step(monkeypatch, speaker)
    plain = [tf.convert_to_tensor(x) for x in second()]
    largest = max(np.abs(x).max() for x in plain)
    check_close(speaker, ours, plain, 1e-3 * largest, 1e-3)


def test_what_is_no_step_is_computed_as_ever(calls):
    layer = StepwiseDense(5, activation="relu")
    rows = RNG.normal(size=(2, 3)).astype("float32")
    rows = tf.constant(rows)
    true = layer(rows)
    with layer.decoding(rows=2, steps=1):
        np.testing.assert_allclose(layer(rows), true, rtol=1e-5, atol=1e-6)
        assert len(calls) == 1
        # One step too many, other rows, another rank.
        np.testing.assert_array_equal(layer(rows), true)
    with layer.decoding(rows=2, steps=9):
        np.testing.assert_array_equal(layer(rows[:1]), true[:1])
        np.testing.assert_array_equal(layer(rows[None]), true[None])
    assert len(calls) == 1


@pytest.mark.parametrize("kind", ["state_gates", "head"])
def test_layers_can_be_copied(kind):
    layer = getattr(speakers.speaker("show_tell_start"), kind)
    assert type(copy.deepcopy(layer)) is type(layer)


def test_the_head_weighs_as_before_once_a_decode_is_over():
    head = speakers.speaker("show_tell_start").head
    hidden = RNG.normal(size=(2, head.units)).astype("float32")
    with head.decoding(rows=2, steps=3):
        inside = head(hidden)
    np.testing.assert_allclose(inside, head(hidden), rtol=1e-6, atol=1e-6)
    assert head(RNG.normal(size=(7, head.units))).shape == (7, 13)
