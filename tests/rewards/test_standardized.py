import numpy as np
import pytest
from keras import ops

from tfcap.decoding import Rollout
from tfcap.rewards import Reward
from tfcap.rewards import Standardized

RNG = np.random.default_rng(0)
VALUES = RNG.normal(size=(3, 4)).astype("float32")
VALUES[1] = 0.7
TOKENS = np.full((3, 4, 2), 3, "int32")
MASK = np.ones(TOKENS.shape, "float32")
MASK[2, 3] = 0.0


class Known(Reward):
    def __init__(self, scale, name):
        self.scale, self.name = scale, name

    def call(self, rollout, episode):
        return ops.convert_to_tensor(self.scale * VALUES)


def test_each_reward_is_brought_to_one_scale_by_a_loop():
    one, two = Known(1.0, "one"), Known(-50.0, "two")
    reward = Standardized(one) + 0.25 * Standardized(two)
    credit, _, parts = reward.credited(Rollout(TOKENS, MASK), None)
    for row in range(3):
        there = MASK[row, :, 0] > 0
        values = VALUES[row][there]
        wanted = np.zeros(4)
        if values.std() > 1e-5:
            wanted[there] = (values - values.mean()) / values.std()
        np.testing.assert_allclose(credit[row], 0.75 * wanted, 1e-3, 1e-5)
    # What is logged is as it was.
    np.testing.assert_array_equal(parts["one"], VALUES)
    assert reward.terms == ("one", "two") and reward.compares_samples


def test_one_sample_has_no_scale():
    class One(Reward):
        def call(self, rollout, episode):
            return ops.ones((3, 1))

    with pytest.raises(ValueError, match="needs at least 2 samples"):
        Standardized(One())(Rollout(TOKENS[:, :1], MASK[:, :1]), None)
    with pytest.raises(TypeError, match="`reward` must be a"):
        Standardized(max)
