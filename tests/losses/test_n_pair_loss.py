import numpy as np
import pytest
import tensorflow as tf

from tfcap.losses import NPairLoss
from tfcap.losses.embedding_norm import embedding_norm
from tfcap.losses.masked_loss import n_pair_loss
from tfcap.losses.masked_loss import one_pair_loss


def losses_of(labels, scores):
    return n_pair_loss(labels, scores)[0]


def of_embeddings(anchor, positive, negatives):
    """Losses of an anchor, by the scores of a positive and negatives."""
    rows = tf.concat([positive[:, None], negatives], axis=1)
    scores = tf.einsum("bd,bnd->bn", anchor, rows)
    return losses_of(np.eye(1, rows.shape[1]).repeat(len(anchor), 0), scores)


def fill(*shape, k):
    size = np.prod(shape)
    return np.sin(np.arange(1, size + 1) * 0.7 * k).reshape(shape)


def oracle(labels, scores):
    losses = []
    for row_labels, row in zip(labels, scores):
        truth = row[list(row_labels).index(1)]
        wrong = [s for y, s in zip(row_labels, row) if y == 0]
        losses.append(np.log(1 + sum(np.exp(s - truth) for s in wrong)))
    return np.array(losses)


def random_batch(rng, rows=6, candidates=5):
    labels = rng.choice([0, -1], size=(rows, candidates), p=[0.7, 0.3])
    labels[np.arange(rows), rng.integers(candidates, size=rows)] = 1
    return labels, rng.normal(size=(rows, candidates)) * 3


def test_golden_values_of_the_released_code():
    anchor = tf.constant(fill(3, 4, k=1))
    right = fill(3, 4, k=1.3)
    wrong, others = fill(3, 2, 4, k=0.9), fill(3, 5, 4, k=1.7)
    with tf.GradientTape() as tape:
        tape.watch(anchor)
        loss = of_embeddings(anchor, right, np.concatenate([wrong, others], 1))
        loss = tf.reduce_mean(loss)
        parts = (anchor, right, wrong, others)
        total = loss + sum(
            embedding_norm(x, convention="frobenius") for x in parts
        )
    np.testing.assert_allclose(loss, 2.47981453, rtol=1e-8)
    np.testing.assert_allclose(total, 2.95186009, rtol=1e-8)
    wanted = [-0.09033834, -0.04138989, 0.06903735, 0.17117226]
    np.testing.assert_allclose(tape.gradient(total, anchor)[0], wanted, 1e-6)


def test_equals_a_loop_over_the_formula():
    labels, scores = random_batch(np.random.default_rng(0))
    loss = losses_of(labels, scores)
    np.testing.assert_allclose(loss, oracle(labels, scores), rtol=1e-10)


def test_one_negative_is_the_one_pair_loss():
    a, p, n = (np.random.default_rng(i).normal(size=(5, 3)) for i in range(3))
    np.testing.assert_allclose(
        of_embeddings(a, p, n[:, None]),
        one_pair_loss(a, positive=n, sample=p),
        rtol=1e-12,
    )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_extreme_scores_keep_losses_and_gradients_finite(dtype):
    scores = tf.constant([[1e4, -1e4, 0.0], [-1e4, 1e4, 1e4]], dtype)
    labels = tf.constant([[1, 0, 0], [1, 0, 0]])
    with tf.GradientTape() as tape:
        tape.watch(scores)
        loss = losses_of(labels, scores)
    slopes = tf.cast(tape.gradient(loss, scores), "float32")
    np.testing.assert_allclose(loss, [0, 2e4], rtol=1e-2)
    np.testing.assert_allclose(slopes[1], [-1, 0.5, 0.5], atol=1e-2)


def test_absent_rows_and_ignored_candidates_have_no_gradient():
    labels = tf.constant([[1, 0, -1], [-1, -1, -1], [0, 0, 0]])
    scores = tf.constant([[1.0, 2.0, np.inf], [np.nan] * 3, [np.nan] * 3])
    with tf.GradientTape() as tape:
        tape.watch(scores)
        loss = NPairLoss()(labels, scores)
    slopes = tape.gradient(loss, scores).numpy()
    assert np.isfinite(loss)
    assert (slopes.ravel()[2:] == 0).all() and (slopes[0, :2] != 0).all()


def test_nothing_present_is_no_loss():
    assert float(NPairLoss()(np.full((2, 3), -1), np.zeros((2, 3)))) == 0.0


def test_weights_and_reductions_follow_keras_over_present_rows():
    labels, scores = random_batch(np.random.default_rng(3), rows=4)
    labels[3] = -1
    each = oracle(labels[:3], scores[:3])
    weights = np.array([1.0, 0.5, 2.0, 7.0])

    def loss(reduction):
        return NPairLoss(reduction=reduction)(labels, scores, weights)

    total = (each * weights[:3]).sum()
    np.testing.assert_allclose(loss("sum"), total, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(loss("mean"), total / 3, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        loss("mean_with_sample_weight"), total / 3.5, rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(loss(None)[3], 0, rtol=1e-6, atol=1e-6)


def test_weights_of_dialogs_reach_their_rounds():
    labels, scores = random_batch(np.random.default_rng(4))
    labels, scores = labels.reshape(2, 3, 5), scores.reshape(2, 3, 5)
    loss = NPairLoss(reduction=None)
    np.testing.assert_allclose(
        loss(labels, scores, np.array([2.0, 0.0])),
        loss(labels, scores) * np.array([[2.0], [0.0]]),
        rtol=1e-6,
        atol=1e-6,
    )


def test_a_keras_mask_hides_rounds():
    labels, scores = random_batch(np.random.default_rng(5))
    labels, scores = labels.reshape(2, 3, 5), scores.reshape(2, 3, 5)
    scores = tf.constant(scores)
    wanted = NPairLoss()(labels[:, :2], scores[:, :2])
    scores._keras_mask = tf.constant([[True, True, False]] * 2)
    np.testing.assert_allclose(
        NPairLoss()(labels, scores), wanted, rtol=1e-6, atol=1e-6
    )


def test_one_pair_is_equation_five_with_its_gradients():
    e, truth, sample = np.random.default_rng(0).normal(size=(3, 4, 6))
    tensors = [tf.constant(x) for x in (e, truth, sample)]
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        found = one_pair_loss(*tensors)
        loss = tf.reduce_sum(found)
    gap = np.sum(e * (truth - sample), axis=-1, keepdims=True)
    np.testing.assert_allclose(found, np.log1p(np.exp(gap))[:, 0], rtol=1e-6)
    chance = 1 / (1 + np.exp(-gap))
    wanted = chance * (truth - sample), chance * e, -chance * e
    for one, other in zip(tape.gradient(loss, tensors), wanted):
        np.testing.assert_allclose(one, other, rtol=1e-6)
