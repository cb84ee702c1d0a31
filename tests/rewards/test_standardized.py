import numpy as np
import pytest

from tests import tiny
from tests.enumerated import Everything
from tests.enumerated import Known
from tfcap.decoding import Rollout
from tfcap.objectives import Episode
from tfcap.objectives import StructureLoss
from tfcap.objectives.ranking import PreferenceLoss
from tfcap.rewards import Standardized

RNG = np.random.default_rng(0)
VALUES = RNG.normal(size=(3, 4)).astype("float32")
VALUES[1] = 0.7
TOKENS = np.full((3, 4, 2), 3, "int32")
MASK = np.ones(TOKENS.shape, "float32")
MASK[2, 3] = 0.0


def test_each_reward_is_brought_to_one_scale_by_a_loop():
    one, two = Known(VALUES, "one"), Known(-50 * VALUES, "two")
    reward = Standardized(one) + 0.25 * Standardized(two)
    credit, parts, *_ = reward.scored(Rollout(TOKENS, MASK), None)
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
    with pytest.raises(ValueError, match="needs at least 2 samples"):
        Standardized(Known(np.ones((3, 1))))(
            Rollout(TOKENS[:, :1], MASK[:, :1]), None
        )
    with pytest.raises(TypeError, match="`reward` must be a"):
        Standardized(max)


@pytest.mark.parametrize("loss", [StructureLoss, PreferenceLoss])
def test_what_ranks_samples_logs_the_rewards_as_they_were(loss):
    worth = np.arange(7.0)[None]
    one, two = Known(worth, "one"), Known(10 * worth, "two")
    apart = Standardized(one) + 2.0 * Standardized(two)
    options = {"loss": "simpo"} if loss is PreferenceLoss else {}
    losses = []
    for reward in (Standardized(one + 2.0 * two), apart, 1.5 * one):
        made = loss(reward, Everything(), **options)
        episode = Episode(tiny.TableSpeaker(), tiny.batch(1))
        total, mean, logs = made.reduced_loss(episode)
        losses.append(float(total))
        if reward.terms == ("one", "two"):
            assert float(mean) == pytest.approx(3.0 * 21)
            assert float(logs["std"]) == pytest.approx(2.0 * 21, 1e-5)
            assert float(logs["one"]) == pytest.approx(3.0)
            assert float(logs["two_std"]) == pytest.approx(20.0, 1e-5)
    # Learned from in deviations: one of `one`, 2, is 1, and apart three.
    if loss is StructureLoss:
        np.testing.assert_allclose(
            losses, np.array([1, 3, 3]) * losses[0], 1e-4
        )
