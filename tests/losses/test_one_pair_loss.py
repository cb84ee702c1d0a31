import numpy as np
import pytest
import tensorflow as tf

from tfcap.losses import OnePairLoss
from tfcap.losses import one_pair_loss


def test_equals_equation_five():
    e, truth, sample = np.random.default_rng(0).normal(size=(3, 4, 6))
    wanted = [
        np.log(1 + np.exp(e[i] @ truth[i] - e[i] @ sample[i])) for i in range(4)
    ]
    np.testing.assert_allclose(
        one_pair_loss(e, truth, sample), wanted, rtol=1e-6, atol=1e-6
    )


def test_the_class_reads_the_truths_score_first():
    scores = np.array([[2.0, -1.0], [0.0, 5.0]])
    wanted = np.log1p(np.exp([3.0, -5.0]))
    loss = OnePairLoss(reduction=None)
    np.testing.assert_allclose(
        loss(np.zeros(2), scores), wanted, rtol=1e-6, atol=1e-6
    )
    np.testing.assert_allclose(
        loss(np.ones((2, 1)), scores), wanted, rtol=1e-6, atol=1e-6
    )


def test_the_sample_is_pushed_up_and_the_truth_down():
    scores = tf.constant([[1.0, 0.0]])
    with tf.GradientTape() as tape:
        tape.watch(scores)
        loss = OnePairLoss()(np.zeros(1), scores)
    truth, sample = tape.gradient(loss, scores).numpy()[0]
    assert truth > 0 > sample and np.isclose(truth, -sample)


def test_absent_rows_leave_the_mean():
    scores = np.array([[2.0, -1.0], [np.nan, 5.0], [0.0, 1.0]])
    loss = OnePairLoss()(np.array([0.0, -1.0, 0.0]), scores)
    wanted = np.log1p(np.exp([3.0, -1.0])).mean()
    np.testing.assert_allclose(loss, wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_extreme_scores_stay_finite(dtype):
    scores = tf.constant([[1e4, -1e4], [-1e4, 1e4]], dtype)
    loss = OnePairLoss(reduction=None)(np.zeros(2), scores)
    np.testing.assert_allclose(loss, [2e4, 0.0], atol=1e-3)


def test_anything_but_two_scores_is_refused():
    with pytest.raises(ValueError, match=r"`y_pred` must have shape"):
        OnePairLoss()(np.zeros(1), np.zeros((1, 3)))


def test_gradients_reach_the_anchor_the_truth_and_the_sample():
    e, truth, sample = (
        tf.constant(np.random.default_rng(i).normal(size=(4, 3)))
        for i in range(3)
    )
    with tf.GradientTape() as tape:
        tape.watch((e, truth, sample))
        loss = one_pair_loss(e, truth, sample, reduction="sum")
    found = tape.gradient(loss, (e, truth, sample))
    gap = np.sum(e * (truth - sample), axis=-1, keepdims=True)
    chance = 1 / (1 + np.exp(-gap))
    wanted = chance * (truth - sample), chance * e, -chance * e
    for one, other in zip(found, wanted):
        np.testing.assert_allclose(one, other, rtol=1e-6)
