import math

import numpy as np
import pytest
import tensorflow as tf

from tfcap.objectives import ClippedRatio

RNG = np.random.default_rng(0)
SLOPES = RNG.normal(size=(2, 3, 4)).astype("float32")
DRAWN = RNG.normal(size=SLOPES.shape).astype("float32")
MOVED = DRAWN + RNG.normal(scale=0.3, size=SLOPES.shape).astype("float32")
MASK = np.ones(SLOPES.shape, "float32")
MASK[0, 1, 2:] = MASK[1, 2, 1:] = 0.0


def surrogate(clipped, slopes, moved=MOVED):
    """Losses, words that are clipped away, and the gradient by the scores."""
    moved = tf.constant(moved)
    with tf.GradientTape() as tape:
        tape.watch(moved)
        losses, away = clipped(slopes, moved, DRAWN, MASK)
        loss = tf.reduce_sum(losses)
    return losses.numpy(), away.numpy(), tape.gradient(loss, moved).numpy()


@pytest.mark.parametrize("level", ["word", "sequence"])
def test_the_surrogate_by_a_loop(level):
    lower, upper = (0.1, 0.25) if level == "word" else (0.02, 0.05)
    losses, away, slopes = surrogate(ClippedRatio(lower, upper, level), SLOPES)
    for b, s, t in np.ndindex(SLOPES.shape):
        words = MASK[b, s] > 0
        gaps = (MOVED - DRAWN)[b, s]
        ratio = np.exp(gaps[t] if level == "word" else gaps[words].mean())
        bound = min(max(ratio, 1 - lower), 1 + upper)
        g = SLOPES[b, s, t] if words[t] else 0.0
        cut = words[t] and g * bound > g * ratio
        assert losses[b, s, t] == pytest.approx(max(g * ratio, g * bound), 1e-4)
        assert away[b, s, t] == cut
        assert slopes[b, s, t] == pytest.approx(0 if cut else g * ratio, 1e-4)
    assert 0 < away.sum() < MASK.sum() / 2


def test_a_policy_that_has_not_moved_has_the_gradient_of_the_loss():
    for level in ("word", "sequence"):
        _, away, slopes = surrogate(ClippedRatio(level=level), SLOPES, DRAWN)
        np.testing.assert_allclose(slopes, SLOPES * MASK, rtol=1e-6)
        assert not away.any()


def test_one_advantage_of_a_sequence_has_the_published_gradient():
    """The gradient of GSPO: that of the ratio of the whole sequence."""
    slopes = SLOPES[..., :1] * np.ones(4, "float32")
    _, _, found = surrogate(ClippedRatio(1.0, math.inf, "sequence"), slopes)
    moved = tf.constant(MOVED)
    with tf.GradientTape() as tape:
        tape.watch(moved)
        words = MASK.sum(-1)
        ratio = tf.exp(tf.reduce_sum((moved - DRAWN) * MASK, -1) / words)
        loss = tf.reduce_sum(slopes[..., 0] * words * ratio)
    wanted = tape.gradient(loss, moved)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    "wrong, told",
    [
        ({"lower": 0.0}, "`lower` must be in"),
        ({"upper": -1.0}, "`upper` must be positive.*math.inf"),
        ({"level": "token"}, "`level` must be one of"),
    ],
)
def test_bounds_are_refused_with_the_cure(wrong, told):
    with pytest.raises(ValueError, match=told):
        ClippedRatio(**wrong)
