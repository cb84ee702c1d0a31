import numpy as np
import pytest
from keras import ops

from tests import tiny
from tests.enumerated import Everything
from tfcap.objectives import GAE
from tfcap.objectives import Episode
from tfcap.objectives import RunningMeanBaseline
from tfcap.objectives import ScoreFunction
from tfcap.objectives.estimator import Baseline
from tfcap.rewards import ConstantReward

TOKENS = tiny.captions(3)
MASK = (TOKENS > 0).astype("float32")
RNG = np.random.default_rng(0)
VALUES = RNG.normal(size=(1, *TOKENS.shape)).astype("float32")
REWARDS = RNG.normal(size=(1, len(TOKENS))).astype("float32")


def known():
    return Baseline(lambda rewards, episode: ops.convert_to_tensor(VALUES))


def credit(**options):
    decoder = Everything(3)
    episode = Episode(tiny.TableSpeaker(), tiny.batch(1))
    gae = GAE(known(), **options)
    return np.array(gae(REWARDS, episode, None, decoder))


def test_advantages_by_a_loop():
    lambda_, gamma = 0.7, 0.9
    found = credit(lambda_=lambda_, gamma=gamma)[0] - VALUES[0] * MASK
    for s, words in enumerate(MASK.sum(-1).astype(int)):
        for t in range(words):
            wanted = 0.0
            for u in range(t, words):
                last = u == words - 1
                after = 0.0 if last else gamma * VALUES[0, s, u + 1]
                delta = REWARDS[0, s] * last + after - VALUES[0, s, u]
                wanted += (gamma * lambda_) ** (u - t) * delta
            assert found[s, t] == pytest.approx(wanted, 1e-4, 1e-5)


def test_without_bootstrapping_the_credit_is_the_reward():
    found = credit(lambda_=1.0)
    wanted = REWARDS[..., None] * np.ones_like(VALUES)
    # After the end, too: a deviation of rows reads all places.
    np.testing.assert_allclose(found, wanted, 1e-4, 1e-6)


def test_an_estimator_takes_it():
    decoder, critic = Everything(3), known()
    term = ScoreFunction(ConstantReward(), decoder, credit=GAE(critic))
    assert term.baseline is critic
    loss, logs = term.loss(Episode(tiny.TableSpeaker(), tiny.batch(1)))
    assert np.isfinite(float(loss)) and "constant/advantage" in logs
    with pytest.raises(ValueError, match="`baseline` must be that of"):
        ScoreFunction(ConstantReward(), decoder, known(), credit=GAE(critic))
    for other in (None, RunningMeanBaseline()):
        with pytest.raises(TypeError, match="`baseline` of GAE.*Use Learned"):
            GAE(other)
    with pytest.raises(ValueError, match="`lambda_` must be in"):
        GAE(critic, lambda_=2.0)
