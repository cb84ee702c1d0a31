"""What has a gradient by hand has a gradient of its gradient, too."""

import pathlib
import re

import numpy as np
import pytest
import tensorflow as tf

import tfcap
from tfcap._ops import masked_logsumexp
from tfcap._ops import masked_mean
from tfcap._ops import masked_softmax
from tfcap._ops import straight_through
from tfcap._ops import token_log_probs
from tfcap.layers.conditional_gumbel import mean_relaxed

RNG = np.random.default_rng(0)
VALUES = RNG.normal(size=(4, 5)).astype("float32")
WORDS = np.array([3, 0, -1, 3], "int32")
NOISE = RNG.normal(size=(2, 4, 5)).astype("float32")
MASK = np.array([[1, 1, 0, 1, 1]] * 3 + [[0] * 5], "float32")
#: Sources of gradients by hand, and where each is differentiated twice.
BY_HAND = {
    "_ops/sequences.py": "here",
    "layers/conditional_gumbel.py": "here",
    "layers/_fast.py": "layers/test_word_vectors.py and test_stepwise.py",
    "models/causal_decoder.py": "models/test_causal_lm_speaker_adapters.py",
}


def log_softmax(x):
    return x - tf.math.log(tf.reduce_sum(tf.exp(x), axis=-1, keepdims=True))


#: What is ours, and the same of plain operations.
PAIRS = {
    "log_probs": (
        lambda x: token_log_probs(x, WORDS),
        lambda x: tf.reduce_sum(log_softmax(x) * tf.one_hot(WORDS % 5, 5), -1),
    ),
    "softmax": (
        lambda x: masked_softmax(x, MASK)[:3],
        lambda x: (
            (tf.exp(x) * MASK)[:3]
            / tf.reduce_sum((tf.exp(x) * MASK)[:3], axis=-1, keepdims=True)
        ),
    ),
    "logsumexp": (
        lambda x: masked_logsumexp(x, MASK)[:3],
        lambda x: tf.math.log(tf.reduce_sum(tf.exp(x) * MASK, -1)[:3]),
    ),
    "mean": (
        lambda x: masked_mean(x**3, MASK, axis=-1),
        lambda x: tf.reduce_sum(x**3 * MASK, axis=-1) / [4, 4, 4, 1],
    ),
    "mean_relaxed": (
        lambda x: mean_relaxed(
            x, [lambda k=k: tf.constant(VALUES + NOISE[k]) for k in (0, 1)], 0.7
        ),
        lambda x: tf.add_n([tf.nn.softmax((x + z) / 0.7) for z in NOISE]) / 2,
    ),
    "straight_through": (
        lambda x: straight_through(tf.round(x), tf.sin(x)) - tf.round(x),
        lambda x: tf.sin(x) - tf.stop_gradient(tf.sin(x)),
    ),
}


def penalty_and_slope(function):
    """A penalty on a gradient, and the gradient of that."""
    values = tf.constant(VALUES)
    weights = tf.sin(tf.range(40, dtype="float32"))
    with tf.GradientTape() as outer:
        outer.watch(values)
        with tf.GradientTape() as inner:
            inner.watch(values)
            found = tf.reshape(function(values), (-1,))
            loss = tf.reduce_sum(found * weights[: tf.size(found)])
        penalty = tf.reduce_sum(inner.gradient(loss, values) ** 2)
    return penalty, outer.gradient(penalty, values)


@pytest.mark.parametrize("graph", [False, True])
@pytest.mark.parametrize("name", PAIRS)
def test_second_derivatives_are_those_of_plain_operations(name, graph):
    ours, plain = PAIRS[name]
    run = (
        tf.function(penalty_and_slope, autograph=False)
        if graph
        else penalty_and_slope
    )
    wanted = penalty_and_slope(plain)
    assert np.abs(wanted[1]).max() > 0.01
    for one, other in zip(run(ours), wanted):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_every_gradient_by_hand_is_differentiated_twice():
    sources = pathlib.Path(tfcap.__file__).parent
    found = {
        path.relative_to(sources).as_posix()
        for path in sources.rglob("*.py")
        if re.search("custom_(gradient|vjp|jvp)", path.read_text("utf-8"))
    }
    # The identity there only notes that a gradient passes.
    assert found - {"training/_jax.py"} == set(BY_HAND)
