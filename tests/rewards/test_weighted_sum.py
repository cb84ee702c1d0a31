import keras
import numpy as np
import pytest
import tensorflow as tf

from tests import tiny
from tfcap.decoding import Sample
from tfcap.layers import Categorical
from tfcap.objectives import Episode
from tfcap.objectives import ScoreFunction
from tfcap.rewards import ConstantReward
from tfcap.rewards.reward import WeightedSum
from tfcap.rewards.text_rewards import as_reward
from tfcap.training import JointTraining


def words(rollout, episode):
    return keras.ops.sum(rollout.mask, axis=-1)


LENGTH = as_reward(words)


def every_word(rollout, episode):
    return rollout.mask


class Differentiable(ConstantReward):
    differentiable = True


def decoder():
    return Sample(Categorical(seed=5), num_samples=3, max_length=3)


def logged(reward, rows=50):
    speaker, sample = tiny.TableSpeaker(seed=1), decoder()
    episode = Episode(speaker, tiny.batch(rows))
    objective = ScoreFunction(reward, sample)
    _, logs = objective.loss(episode)
    lengths = np.sum(episode.rollout(sample).mask, axis=-1)
    return {k: float(v) for k, v in logs.items()}, lengths


def test_the_sum_is_weighted_and_every_term_is_logged():
    logs, lengths = logged(2.0 * LENGTH + 0.5 * ConstantReward(3.0))
    wanted = {
        "weighted_sum": 2 * lengths.mean() + 1.5,
        "weighted_sum/words": lengths.mean(),
        "weighted_sum/words_std": lengths.std(),
        "weighted_sum/constant": 3.0,
        "weighted_sum/constant_std": 0.0,
    }
    assert lengths.std() > 0.5
    for name, value in wanted.items():
        np.testing.assert_allclose(logs[name], value, rtol=1e-5, atol=1e-6)


def test_sums_of_sums_are_one_sum():
    reward = 2.0 * (LENGTH + 3.0 * ConstantReward(1.0)) + LENGTH
    assert [weight for weight, _ in reward.weighted] == [2.0, 6.0, 1.0]
    assert reward.terms == ("words", "constant", "words_2")
    reward = sum([LENGTH, ConstantReward(1.0)]) - 2.0 * -LENGTH
    assert [weight for weight, _ in reward.weighted] == [1.0, 1.0, 2.0]


def test_a_named_sum_may_be_a_term():
    inner = WeightedSum([(1.0, LENGTH)], name="inner")
    reward = WeightedSum([(2.0, inner), (1.0, ConstantReward(1.0))])
    assert reward.terms == ("inner", "constant")
    logs, lengths = logged(reward)
    np.testing.assert_allclose(
        logs["weighted_sum"], 2 * lengths.mean() + 1, rtol=1e-6, atol=1e-6
    )


def test_credit_for_words_and_for_captions_add_up():
    speaker, sample = tiny.TableSpeaker(seed=1), decoder()
    episode = Episode(speaker, tiny.batch(4))
    rollout = episode.rollout(sample)
    reward = as_reward(every_word) + 10.0 * ConstantReward(1.0)
    found = reward(rollout, episode)
    np.testing.assert_array_equal(found, rollout.mask + 10.0)
    # Logged is the mean over the words that were said.
    logs, _ = logged(reward)
    np.testing.assert_allclose(
        logs["weighted_sum/every_word"], 1.0, rtol=1e-5, atol=1e-6
    )


def test_a_variable_weight_is_read_at_every_step():
    weight = keras.Variable(1.0)
    reward = 1.0 * (ConstantReward(2.0) * weight)
    rollout = Episode(tiny.TableSpeaker(), tiny.batch(1)).rollout(decoder())
    graph = tf.function(lambda: reward(rollout, None))
    np.testing.assert_array_equal(graph(), [[2.0, 2.0, 2.0]])
    weight.assign(3.0)
    np.testing.assert_array_equal(graph(), [[6.0, 6.0, 6.0]])


def test_it_is_differentiable_where_all_terms_are():
    assert (Differentiable(1.0) + 2.0 * Differentiable(1.0)).differentiable
    assert not (Differentiable(1.0) + ConstantReward(1.0)).differentiable


def test_training_shows_the_terms():
    reward = LENGTH + 0.5 * ConstantReward(3.0)
    names = {f"weighted_sum{x}" for x in ("", "/words", "/words_std")}
    names |= {"weighted_sum/constant", "weighted_sum/constant_std"}
    speaker = tiny.TableSpeaker()
    model = JointTraining(speaker, ScoreFunction(reward, decoder()))
    model.compile("sgd")
    logs = model.train_on_batch(tiny.batch(8), return_dict=True)
    assert logs.keys() >= {"loss", *names}
    assert logs["weighted_sum/constant"] == 3.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LENGTH + 1.0, "unsupported operand"),
        (lambda: LENGTH * LENGTH, "unsupported operand"),
        (lambda: 1.0 + LENGTH, "unsupported operand"),
        (lambda: LENGTH + "two", "unsupported operand"),
        (lambda: LENGTH + len, "added to a reward.*TextReward"),
    ],
)
def test_what_is_no_term_is_refused(make, message):
    with pytest.raises(TypeError, match=message):
        make()
