import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tests import tiny
from tests.enumerated import WORTH
from tests.enumerated import gradient
from tfcap.decoding import BeamSearch
from tfcap.decoding import Sample
from tfcap.layers import Categorical
from tfcap.layers import GumbelSoftmaxST
from tfcap.layers import PartialSamplingST
from tfcap.objectives import Pathwise
from tfcap.rewards import ConstantReward
from tfcap.rewards import Reward


class SoftWorth(Reward):
    differentiable = True
    name = "soft_worth"

    def __init__(self, power=1):
        self.power = power

    def call(self, rollout, episode):
        words = ops.matmul(rollout.listener_inputs, WORTH)
        return ops.sum(words, axis=-1) ** self.power


def found(channel, power=1, rows=1, length=1, feedback="index"):
    """Gradient of the reward, the loss and the logs."""
    decoder = Sample(channel, max_length=length, feedback=feedback)
    term = Pathwise(SoftWorth(power), decoder)
    slope, *rest = gradient(tiny.TableSpeaker(2), term, tiny.batch(rows))
    return -slope, *rest


def exact(power, rho):
    """Gradient of the expected reward of one word, at rho 0 or 1."""
    table = tf.Variable(ops.convert_to_numpy(tiny.TableSpeaker(2).table))
    with tf.GradientTape() as tape:
        p = tf.nn.softmax(table[tiny.BOS] + [-1e9, -1e9, 0.0, 0.0, 0.0])
        if rho == 1.0:
            value = tf.reduce_sum(p * WORTH) ** power
        else:
            value = tf.reduce_sum(p * WORTH**power)
    return tape.gradient(value, table).numpy()


def test_whole_distributions_give_the_exact_gradient():
    slope, *_ = found(PartialSamplingST(1.0), power=3)
    np.testing.assert_allclose(slope, exact(3, 1.0), rtol=1e-4, atol=1e-6)


def test_straight_through_is_exact_for_a_linear_reward():
    slope, *_ = found(PartialSamplingST(0.0, seed=0), rows=64)
    np.testing.assert_allclose(slope, exact(1, 0.0), rtol=1e-4, atol=1e-6)


def test_straight_through_is_biased_for_a_square_as_its_formula_says():
    # d/dp of the square at the drawn word: 2 * worth(word) * worth.
    slope, *_ = found(PartialSamplingST(0.0, seed=0), power=2, rows=40_000)
    table = ops.convert_to_numpy(tiny.TableSpeaker(2).table)[tiny.BOS]
    p = np.exp(table) * [0, 0, 1, 1, 1]
    p /= p.sum()
    rise = 2 * (p @ WORTH) * WORTH
    expected = p * (rise - p @ rise)
    np.testing.assert_allclose(slope[tiny.BOS], expected, atol=0.03)
    assert np.abs(slope - exact(2, 0.0)).max() > 0.1


def test_relaxed_feedback_carries_gradients_from_word_to_word():
    by_index, *_ = found(GumbelSoftmaxST(seed=1), rows=64, length=2)
    relaxed, *_ = found(
        GumbelSoftmaxST(seed=1), rows=64, length=2, feedback="relaxed"
    )
    # What is fed back moves the first word's logits further.
    assert np.abs(by_index[tiny.BOS] - relaxed[tiny.BOS]).max() > 1e-3


def test_the_logged_reward_is_minus_the_loss():
    _, loss, logs = found(GumbelSoftmaxST(seed=1), rows=8)
    np.testing.assert_allclose(logs["soft_worth"], -loss, rtol=1e-6, atol=1e-6)


def test_what_cannot_carry_a_gradient_is_refused_where_it_is_written():
    sample = Sample(GumbelSoftmaxST(), max_length=2)
    with pytest.raises(ValueError, match="ConstantReward. Use ScoreFunction"):
        Pathwise(ConstantReward(), sample)
    for decoder in (Sample(Categorical(), max_length=2), BeamSearch()):
        with pytest.raises(ValueError, match="`decoder`.*straight-through"):
            Pathwise(SoftWorth(), decoder)
