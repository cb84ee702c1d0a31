"""Each method raises a reward that can be computed by enumeration."""

import keras
import numpy as np
import pytest
from keras import ops

from tests import tiny
from tests.enumerated import Worth
from tests.enumerated import worth
from tfcap import methods
from tfcap.objectives import ClippedRatio
from tfcap.objectives import Episode
from tfcap.objectives.proximal import KLDivergence
from tfcap.rewards import LengthPenalty

WORDS = {"max_length": 2, "seed": 0, "num_samples": 4}


def expected(speaker):
    return float(np.sum(tiny.chances(speaker) * worth(tiny.captions())))


METHODS = {
    "grpo": {"updates_per_rollout": 2, "reference": True},
    "dr_grpo": {},
    "dapo": {"updates_per_rollout": 2},
    "gspo": {"updates_per_rollout": 2},
    "gdpo": {},
    "rloo": {"reference": True},
    "ppo": {"baseline": "greedy", "updates_per_rollout": 2},
    "actor_critic": {"state_units": 1},
    "dpo": {"reference": True, "beta": 1.0},
    "ipo": {"reference": True, "pairs": "all"},
    "simpo": {},
    "structured": {"loss": "softmax_margin"},
}


@pytest.mark.parametrize("name", METHODS)
def test_a_reward_rises(name):
    speaker, options = tiny.TableSpeaker(2), dict(METHODS[name])
    if options.get("reference"):
        options["reference"] = tiny.TableSpeaker(2)
    reward = Worth()
    if name == "gdpo":
        reward = reward + 0.1 * LengthPenalty(1, 2)
    made = getattr(methods, name)(speaker, reward, **WORDS, **options)
    learners = ("speaker", "baseline") if name == "actor_critic" else ()
    made.compile(
        {k: keras.optimizers.Adam(0.3) for k in learners}
        or keras.optimizers.Adam(0.3),
        run_eagerly=True,
    )
    before = expected(speaker)
    made.fit(tiny.batch(8), batch_size=4, shuffle=False, verbose=0)
    assert expected(speaker) > before + 0.1
    if "reference" in options:
        fixed = tiny.TableSpeaker(2).table.numpy()
        np.testing.assert_array_equal(options["reference"].table, fixed)


def test_a_reference_must_be_another_speaker():
    speaker = tiny.TableSpeaker()
    with pytest.raises(ValueError, match="`reference` must be another object"):
        methods.dpo(speaker, Worth(), speaker)
    with pytest.raises(TypeError, match="`reference` must satisfy"):
        methods.grpo(speaker, Worth(), reference="before")


@pytest.mark.parametrize("name", ["grpo", "dr_grpo", "gdpo", "rloo", "ppo"])
def test_a_clip_that_one_update_would_never_read_is_refused(name):
    method = getattr(methods, name)
    clip = ClippedRatio(0.01, 0.02)

    def ratio(**options):
        speaker = tiny.TableSpeaker(1)
        return method(speaker, Worth(), clip=clip, **options).clipped_ratio

    with pytest.raises(ValueError, match="`updates_per_rollout=4`"):
        ratio(updates_per_rollout=1)
    if name != "ppo":
        with pytest.raises(ValueError, match="`clip` must be left out"):
            ratio()
    assert ratio(updates_per_rollout=2) is clip


@pytest.mark.parametrize(
    "name, upper", [("dapo", 0.28), ("gspo", 4e-4), ("ppo", 0.2)]
)
def test_what_a_paper_clips_is_clipped_by_default(name, upper):
    def made(**options):
        method = getattr(methods, name)
        return method(tiny.TableSpeaker(1), Worth(), **options)

    training = made()
    assert training.updates_per_rollout == 4
    assert training.clipped_ratio.upper == upper
    # One update has a ratio of 1, and a clip of the method's own none to clip.
    once = made(updates_per_rollout=1)
    assert once.updates_per_rollout == 1 and once.clipped_ratio is None
    wide = ClippedRatio(0.3)
    assert made(clip=wide).clipped_ratio is wide
    with pytest.raises(ValueError, match="`clip` must be left out"):
        made(clip=wide, updates_per_rollout=1)


def test_advantages_by_batch_are_above_the_mean_of_their_own_row():
    """Of two images the worse caption of the easy one is worse all the same."""
    speaker = tiny.TableSpeaker(1)
    model = methods.grpo(speaker, Worth(), standardize="batch", **WORDS)
    ((_, term),) = model.learners["speaker"].objective.terms
    rewards = ops.convert_to_tensor([[10.0, 11.0] * 2, [0.0, 1.0] * 2])
    episode = Episode(speaker, tiny.batch(2))
    above = rewards - term.baseline(rewards, episode)
    found = term._standardized_by_batch(above, episode)
    np.testing.assert_allclose(found, [[-1.0, 1.0] * 2] * 2, rtol=1e-5)


@pytest.mark.parametrize("name", ["grpo", "dapo", "dr_grpo"])
def test_a_divergence_is_of_the_size_of_the_reward_term(name):
    speakers = tiny.TableSpeaker(1), tiny.TableSpeaker(2)
    method = getattr(methods, name)
    training = method(speakers[0], Worth(), reference=speakers[1])
    terms = [x for _, x in training.learners["speaker"].objective.terms]
    (divergence,) = (x for x in terms if isinstance(x, KLDivergence))
    assert divergence.normalize == "length"
