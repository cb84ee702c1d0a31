import functools

import numpy as np
import pytest

from tests import captions
from tests import tiny
from tfcap.decoding import GroundTruth
from tfcap.decoding import Sample
from tfcap.layers import Categorical
from tfcap.objectives import DecoderBaseline
from tfcap.objectives import Episode
from tfcap.objectives import ScoreFunction
from tfcap.rewards import BLEU
from tfcap.rewards import TextReward
from tfcap.rewards.text_rewards import as_reward


def test_rewards_stay_what_they_are():
    reward = BLEU(4)
    assert as_reward(reward) is reward


@pytest.mark.parametrize(
    ("function", "form"),
    [
        (lambda captions: captions, "captions"),
        (lambda texts, human: texts, "references"),
        (lambda captions, references=None: captions, "references"),
        (lambda captions, strict=True: captions, "captions"),
        (lambda completions, **columns: completions, "columns"),
        (lambda completions, ground_truth: completions, "columns"),
        (lambda *, prompts, completions: completions, "columns"),
        (functools.partial(lambda captions, k: captions, k=2), "captions"),
        (len, "captions"),
    ],
)
def test_the_signature_decides_what_a_function_is_given(function, form):
    made = as_reward(function)
    assert isinstance(made, TextReward) and made.form == form
    assert made.name.isidentifier()


@pytest.mark.parametrize(
    "function",
    [
        "spice",
        None,
        BLEU,
        lambda: 0,
        lambda a, b, c: 0,
        lambda captions, *, strict: 0,
        lambda **columns: 0,
    ],
)
def test_other_functions_are_refused_with_both_forms(function):
    with pytest.raises(TypeError) as refusal:
        as_reward(function)
    for form in ("reward(captions, references)", "reward(completions, **col"):
        assert form in str(refusal.value)


def length(episode, rollout):
    return rollout.mask.sum(axis=-1)


def test_a_function_of_tensors_is_a_reward_by_value():
    reward = as_reward(length)
    assert reward.name == "length" and not reward.differentiable
    rollout = captions.rollout(captions.Batch().tokens)
    found = reward(rollout, None)
    np.testing.assert_array_equal(found, rollout.mask.sum(axis=-1))


def test_a_list_of_rewards_is_their_sum():
    def some(captions):
        return [1.0 if len(text) > 4 else None for text in captions]

    rollout, apart = captions.rollout(captions.Batch().tokens), []
    for rewards in ([length, some], (some, as_reward(length)), [some]):
        made = as_reward(rewards, captions.VOCABULARY)
        apart.append(np.asarray(made(rollout, None)))
    lengths = rollout.mask.sum(axis=-1)
    np.testing.assert_array_equal(apart[0], apart[1])
    judged = np.isfinite(apart[2])
    assert 0 < judged.sum() < judged.size
    wanted = np.where(judged, lengths + 1.0, lengths)
    np.testing.assert_array_equal(apart[0], wanted)
    with pytest.raises(TypeError, match="must be a `tfcap.rewards.Reward`"):
        as_reward([])


class Words:
    """Decodes the ids of the tiny speakers."""

    def decode(self, ids):
        return " ".join(f"w{i}" for i in ids)


def test_estimators_and_baselines_take_functions():
    def sevens(captions):
        return [float(text.split().count("w3")) for text in captions]

    speaker = tiny.TableSpeaker()
    speaker.vocabulary = Words()
    human = np.array([[[3, 3, 2]], [[4, 3, 2]]], "int32")
    inputs = {"rows": np.zeros(2), "references": human}
    sample = Sample(Categorical(seed=0), max_length=3)
    objective = ScoreFunction(
        sevens, sample, DecoderBaseline(sevens, GroundTruth())
    )
    episode = Episode(speaker, inputs)
    _, logs = objective.loss(episode)
    tokens = np.asarray(episode.rollout(sample).tokens)
    np.testing.assert_allclose(
        logs["sevens"], (tokens == 3).sum(axis=-1).mean(), rtol=1e-6
    )
    np.testing.assert_allclose(logs["sevens/baseline"], 1.5, rtol=1e-6)
