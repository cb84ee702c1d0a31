import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tests import tiny
from tests.enumerated import Everything
from tfcap.decoding import Sample
from tfcap.decoding import ScheduledSampling
from tfcap.layers import Categorical
from tfcap.objectives import ClippedRatio
from tfcap.objectives import LearnedBaseline
from tfcap.objectives import SampleMeanBaseline
from tfcap.objectives import ScoreFunction
from tfcap.objectives import TeacherForcing
from tfcap.objectives.proximal import KLDivergence
from tfcap.objectives.ranking import PreferenceLoss
from tfcap.rewards import ConstantReward
from tfcap.rewards import Reward
from tfcap.rewards.text_rewards import as_reward
from tfcap.training import JointTraining
from tfcap.training import Learner
from tfcap.training import rollout_updates


def samples(**options):
    return Sample(Categorical(seed=0), 3, max_length=3, **options)


TWO = tiny.batch(2, [[[3, 2]], [[4, 2]]])


TOKENS = tiny.captions()


WORTH = np.array([0.0, 0.0, 0.5, 2.0, -1.0], "float32")[TOKENS].sum(-1)


class Worth(Reward):
    asked = 0

    def call(self, rollout, episode):
        self.asked += 1
        return ops.tile(WORTH[None], (2, 1))


def updated(objective, speaker, rate=0.5, **options):
    model = JointTraining(speaker, objective, **options)
    model.compile(keras.optimizers.SGD(rate), run_eagerly=True)
    data = tf.data.Dataset.from_tensors(TWO)
    logs = model.fit(data, shuffle=False, verbose=0).history
    assert options.keys() <= {"clipped_ratio"} or logs["clipped_words"][0] > 0
    return speaker.table.numpy()


def term(reward=None):
    baseline = SampleMeanBaseline()
    return ScoreFunction(reward or Worth(), Everything(), baseline)


def test_the_first_update_is_that_without_a_ratio():
    @as_reward
    def length(rollout, episode):
        return ops.sum(rollout.mask, axis=-1)

    tables = []
    for options in ({}, {"clipped_ratio": ClippedRatio()}):
        decoder = Sample(Categorical(seed=1), 4, max_length=2)
        objective = ScoreFunction(length, decoder, SampleMeanBaseline())
        objective += TeacherForcing() * 0.5
        tables.append(updated(objective, tiny.TableSpeaker(1), **options))
    np.testing.assert_allclose(*tables, rtol=1e-5, atol=1e-6)


def test_several_updates_by_a_loop(monkeypatch):
    """Of clipped ratios, the sampler's log probabilities kept."""
    reward, speaker = Worth(), tiny.TableSpeaker(1)
    scored = rollout_updates._Scored
    # What says everything has no processors.
    monkeypatch.setattr(
        scored, "_processors_of", lambda *_: rollout_updates.NONE
    )
    found = updated(
        term(reward),
        speaker,
        updates_per_rollout=3,
        clipped_ratio=ClippedRatio(0.1, 0.2),
    )
    assert reward.asked == 1
    speaker = tiny.TableSpeaker(1)
    advantage = WORTH - WORTH.mean()
    state, before, cut = speaker.begin(TWO), None, 0
    for _ in range(3):
        with tf.GradientTape() as tape:
            tokens = np.tile(TOKENS[None], (2, 1, 1))
            scores = speaker.log_probs(state, tokens)
            before = scores.numpy() if before is None else before
            loss = 0.0
            for b, s, t in np.ndindex(tokens.shape):
                if tokens[b, s, t]:
                    ratio = tf.exp(scores[b, s, t] - before[b, s, t])
                    kept = tf.clip_by_value(ratio, 0.9, 1.2)
                    a = advantage[s]
                    cut += float(a * kept) < float(a * ratio)
                    loss -= tf.minimum(a * ratio, a * kept)
            loss = loss / (2 * len(TOKENS))
        slope = tape.gradient(loss, speaker.table.value)
        speaker.table.assign_sub(0.5 * slope)
    assert cut > 0
    np.testing.assert_allclose(found, speaker.table, rtol=1e-4, atol=1e-5)


def test_a_divergence_holds_a_speaker_beyond_the_bounds_of_its_ratio():
    def moved(updates):
        speaker = tiny.TableSpeaker(1)
        before = np.array(speaker.table)
        samples = Sample(Categorical(seed=1), 4, max_length=2)
        anchor = KLDivergence(tiny.TableSpeaker(2), samples, "k3")
        model = JointTraining(
            speaker,
            anchor,
            updates_per_rollout=updates,
            clipped_ratio=ClippedRatio(1e-4),
        )
        model.compile(keras.optimizers.SGD(0.01))
        model.fit(tiny.batch(4), verbose=0)
        return np.abs(np.array(speaker.table) - before).sum()

    # After the first update all ratios are out of bounds.
    once = moved(1)
    assert once > 0 and moved(3) == pytest.approx(3 * once, rel=0.1)


def joint(*learners):
    named = {str(number): each for number, each in enumerate(learners)}
    return JointTraining(learners[0].network, named, updates_per_rollout=2)


def test_what_has_no_ratio_is_refused():
    speaker, drawn = tiny.TableSpeaker(), samples(keep_states=True)
    baseline = LearnedBaseline(1)
    learned = ScoreFunction(ConstantReward(), drawn, baseline)
    preference = PreferenceLoss(Worth(), samples(), loss="simpo")
    warm = Sample(Categorical(temperature=0.5), 2, max_length=3)
    for learners, told in (
        (
            [Learner(speaker, learned), Learner(baseline.network, learned)],
            "`learners` must be the speaker",
        ),
        ([Learner(speaker, preference)], "`learners` must be Score"),
        (
            [Learner(speaker, ScoreFunction(ConstantReward(), warm))],
            "drawn at temperature 1",
        ),
    ):
        with pytest.raises(ValueError, match=told):
            joint(*learners)
    anchor = KLDivergence(tiny.TableSpeaker(1), samples())
    assert joint(Learner(speaker, anchor)).clipped_ratio.upper == 0.2
    mixed = TeacherForcing(decoder=ScheduledSampling(0.5))
    model = joint(Learner(speaker, mixed))
    with pytest.raises(ValueError, match="`steps_per_execution` must be 1 fo"):
        model.compile("sgd", steps_per_execution=2)
    model.compile("sgd", run_eagerly=True)
    with pytest.raises(ValueError, match="decoder=ScheduledSampling. Use Samp"):
        model.train_on_batch(TWO)
