"""What every reward of this package keeps, whatever it wants."""

import inspect

import keras
import numpy as np
import pytest

import tests.testing as contract
import tfcap.rewards
from tests import captions
from tests.methods import stranger
from tfcap import rewards
from tfcap.decoding import Sample
from tfcap.layers import GumbelSoftmaxST
from tfcap.objectives import Pathwise
from tfcap.rewards.reward import WeightedSum

BATCH = captions.Batch()
TABLE = captions.frequencies()
PLAIN, COMPILED = {"jit_compile": False}, {"jit_compile": True}
#: Compiled as parts of a step that is not.
CASES = {
    "BLEU": lambda x: rewards.BLEU(4, "exponential", **x),
    "CIDErD": lambda x: rewards.CIDErD(TABLE, **x),
    "PairwiseDiversity": lambda x: rewards.PairwiseDiversity("bleu", **x),
    "ROUGEL": lambda x: rewards.ROUGEL(),
    "WeightedSum": lambda x: rewards.BLEU(1, **x) + rewards.BLEU(2, **x),
    "LengthPenalty": lambda x: rewards.LengthPenalty(2, 4),
    "Standardized": lambda x: rewards.Standardized(rewards.LengthPenalty(2, 4)),
    "ConstantReward": lambda x: rewards.ConstantReward(2.0),
    "TextReward": lambda x: rewards.TextReward(
        lambda texts: [len(text) for text in texts], captions.VOCABULARY
    ),
}
ABSTRACT = {"Reward"}
#: What networks make of captions, tested with networks.
OF_NETWORKS = {
    "BidirectionalContrastive",
    "CLIPScore",
    "DialogScore",
    "Grammar",
    "KLPenalty",
    "MatchProbability",
    "Retrieval",
    "Surprisal",
    "Utility",
}
#: Programs for Java, tested each with a program that answers as it does.
OF_JAVA = {"BCMR", "METEOR", "SPICE", "SPICESpaCy", "SPIDEr"}


def episode(rows):
    return captions.episode(BATCH.human[rows])


@pytest.fixture(params=CASES)
def case(request):
    return request.param, CASES[request.param]


def test_every_exported_reward_has_a_case():
    exported = {
        name
        for name, value in vars(tfcap.rewards).items()
        if inspect.isclass(value) and issubclass(value, rewards.Reward)
    }
    assert exported - ABSTRACT - OF_NETWORKS - OF_JAVA == {*CASES} - {
        "WeightedSum"
    }


def test_values_are_of_what_is_said(case):
    name, make = case
    rollout = captions.rollout(BATCH.tokens)
    reward, on_host = make(PLAIN), name in ("TextReward", "ROUGEL")
    contract.check_reward(reward, rollout, episode, on_host)


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="others compile the step"
)
@pytest.mark.parametrize("name", [*CASES][:5])
def test_compiled_within_a_step_values_are_the_same(name):
    import tensorflow as tf

    rollout, batch = captions.rollout(BATCH.tokens), episode(slice(None))
    reward = CASES[name](COMPILED)

    @tf.function(autograph=False)
    def step(tokens, mask):
        return reward(rollout._replace(tokens=tokens, mask=mask), batch)

    found = step(tf.constant(rollout.tokens), tf.constant(rollout.mask))
    wanted = CASES[name](PLAIN)(rollout, batch)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_a_reward_without_gradient_is_refused_where_one_is_needed(case):
    _, make = case
    reward = make(PLAIN)
    assert reward.differentiable is False and reward.name
    with pytest.raises(ValueError, match="Use ScoreFunction"):
        Pathwise(reward, Sample(GumbelSoftmaxST()))


@pytest.mark.parametrize("name", ["BLEU", "CIDErD", "ROUGEL"])
def test_values_do_not_depend_on_how_references_are_laid_out(name):
    rollout, reward = captions.rollout(BATCH.tokens), CASES[name](PLAIN)
    found = np.asarray(reward(rollout, episode(slice(None))))
    noise = np.random.default_rng(0).integers(3, 8, BATCH.human.shape)
    ended = np.cumsum(BATCH.human == captions.EOS, axis=-1) > 0
    after = ended & (BATCH.human != captions.EOS)
    noisy = np.where(after, noise, BATCH.human).astype("int32")
    longer = np.pad(BATCH.human, [[0, 0], [0, 2], [0, 3]])
    for human in (noisy, longer, BATCH.human[:, ::-1]):
        moved = reward(rollout, captions.episode(human))
        np.testing.assert_allclose(moved, found, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["BLEU", "CIDErD", "ROUGEL"])
def test_references_must_have_their_axes_and_may_be_absent(name):
    rollout, reward = captions.rollout(BATCH.tokens), CASES[name](PLAIN)
    with pytest.raises(ValueError, match="`inputs` must hold 'references'"):
        reward(rollout, captions.episode())
    with pytest.raises(ValueError, match="must have shape .B, N, T."):
        reward(rollout, captions.episode(BATCH.human[:, 0]))
    wanted = np.array(captions.score(reward, BATCH))
    wanted[2] = 0
    found = captions.score(reward, captions.unheard())
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)


NAMED = [
    lambda **x: rewards.BidirectionalContrastive(stranger.listener(), **x),
    lambda **x: rewards.CLIPScore(stranger.listener(), **x),
    lambda **x: rewards.KLPenalty(stranger.speaker(), **x),
    lambda **x: rewards.Retrieval(stranger.listener(), **x),
    lambda **x: rewards.ROUGEL(**x),
    lambda **x: rewards.Surprisal(**x),
    lambda **x: rewards.LengthPenalty(2, 4, **x),
    lambda **x: WeightedSum([(1.0, rewards.LengthPenalty(2, 4))], **x),
    lambda **x: rewards.BLEU(4, **x),
    lambda **x: rewards.CIDErD(TABLE, **x),
    lambda **x: rewards.PairwiseDiversity("bleu", **x),
]


@pytest.mark.parametrize("make", NAMED)
def test_a_reward_is_logged_by_the_name_that_it_is_given(make):
    assert make(name="mine").name == "mine" != make().name
