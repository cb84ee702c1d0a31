"""A caption from which a reward abstains counts as if it were not there."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tests import tiny
from tests.enumerated import Worth
from tests.objectives.test_absent_entries import Rows
from tfcap import objectives
from tfcap import rewards
from tfcap.decoding import Greedy
from tfcap.decoding import Rollout
from tfcap.decoding import Sample
from tfcap.decoding import SumAndSample
from tfcap.layers import Categorical
from tfcap.objectives import Episode
from tfcap.objectives import LeaveOneOutBaseline
from tfcap.objectives import SampleMeanBaseline
from tfcap.objectives import ScoreFunction
from tfcap.training import JointTraining

LEAVE, MEAN = LeaveOneOutBaseline(), SampleMeanBaseline()
BATCH = tiny.batch(6, np.tile([[[3, 4, 2], [4, 2, 0]]], (6, 1, 1)))


def judged(rollout):
    """Captions that begin with word 3 are not judged; all others are."""
    return rollout.tokens[..., 0] != 3


class Reticent(Worth):
    """Abstains from some captions."""

    abstains = True

    def call(self, rollout, episode):
        worth = super().call(rollout, episode)
        return ops.where(judged(rollout), worth, -np.inf)


class Leaving:
    """Does not say what is not judged."""

    def decode(self, *args, **kwargs):
        said = super().decode(*args, **kwargs)
        present = ops.cast(judged(said), "float32")
        # Tokens stay, so that both read the same words again.
        return said.masked(present)._replace(tokens=said.tokens)


class LeavingSample(Leaving, Sample):
    pass


class LeavingGreedy(Leaving, Greedy):
    pass


class LeavingSum(Leaving, SumAndSample):
    pass


class Parts:
    """The reward and the decoders of one of two runs that are compared."""

    def __init__(self, abstains):
        self.reward = Reticent() if abstains else Worth()
        self.sample = Sample if abstains else LeavingSample
        self.greedy = (Greedy if abstains else LeavingGreedy)(max_length=4)
        self.sum = SumAndSample if abstains else LeavingSum

    def samples(self, **options):
        return self.sample(Rows(), 4, max_length=4, **options)

    def scored(self, baseline=None, reward=None, **options):
        reward = reward or self.reward
        return ScoreFunction(reward, self.samples(), baseline, **options)


def learned(p, credit=False):
    samples = p.samples(keep_states=True)
    critic = objectives.LearnedBaseline(tiny.MemorySpeaker.units)
    credit = objectives.GAE(critic, 0.9) if credit else None
    return ScoreFunction(p.reward, samples, critic, credit=credit)


def summed(p, samples):
    decoder = p.sum(width=3, num_samples=samples, max_length=3, seed=0)
    return ScoreFunction(p.reward, decoder, LEAVE)


def twice(p):
    one, two = (rewards.Standardized(p.reward) for _ in range(2))
    return p.scored(reward=one + 0.5 * two, standardize="batch")


def relaxed(p):
    channel, sizes = Categorical(seed=0), (tiny.MemorySpeaker.units, 5)
    samples = p.sample(channel, 4, max_length=4, keep_states=True)
    return objectives.RELAX(p.reward, samples, *sizes, seed=0)


def ranked(kind, pairs):
    def make(p):
        reference = None if kind == "simpo" else tiny.MemorySpeaker(5)
        return objectives.ranking.PreferenceLoss(
            p.reward, p.samples(), reference, loss=kind, pairs=pairs
        )

    return make


def mean_of_row(rewards, episode):
    return ops.mean(rewards, 1, keepdims=True)


def penalized(p):
    reward = p.reward + 0.5 * rewards.LengthPenalty(2, 4)
    return p.scored(LEAVE, reward)


def structured(kind):
    return lambda p: objectives.StructureLoss(p.reward, p.samples(), loss=kind)


CASES = {
    "reinforced": lambda p: p.scored(),
    "summed up": lambda p: p.scored(reduction="sum"),
    "leave one out": lambda p: p.scored(LEAVE),
    "of words": lambda p: p.scored(LEAVE, normalize="token"),
    "of lengths": lambda p: p.scored(
        MEAN, normalize="length", standardize=True
    ),
    "constant": lambda p: p.scored(MEAN, normalize="constant"),
    "unfinished": lambda p: p.scored(MEAN, mask_unfinished=True),
    "of the batch": lambda p: p.scored(standardize="batch"),
    "greedy": lambda p: p.scored(objectives.DecoderBaseline(Worth(), p.greedy)),
    "running mean": lambda p: p.scored(objectives.RunningMeanBaseline(0.5)),
    "function": lambda p: p.scored(mean_of_row),
    "monte carlo": lambda p: p.scored(
        objectives.PrefixBaseline(), credit=objectives.MonteCarlo(2)
    ),
    "learned": learned,
    "gae": lambda p: learned(p, credit=True),
    "gdpo": twice,
    "penalized": penalized,
    "scaled": lambda p: p.scored(LEAVE, -2.0 * p.reward),
    "relax": relaxed,
    "sum and sample": lambda p: summed(p, 2),
    "sum and one": lambda p: summed(p, 1),
    **{
        f"{kind} of {pairs}": ranked(kind, pairs)
        for kind in ("dpo", "ipo", "simpo")
        for pairs in ("best_worst", "all")
    },
    **{kind: structured(kind) for kind in objectives.ranking.STRUCTURES},
}


def outcome(make, abstains):
    keras.utils.set_random_seed(3)
    speaker, objective = tiny.MemorySpeaker(2), make(Parts(abstains))
    episode = Episode(speaker, BATCH, training=True)
    with tf.GradientTape() as tape:
        loss, logs = objective.loss(episode)
    slopes = tape.gradient(loss, [w.value for w in speaker.weights])
    found = {"loss": loss, **logs, **dict(enumerate(slopes))}
    return {name: np.array(value) for name, value in found.items()}


@pytest.mark.filterwarnings("ignore:The reward")
@pytest.mark.parametrize("case", CASES)
def test_it_is_left_out_of_losses_gradients_and_logs(case):
    found, wanted = (outcome(CASES[case], own) for own in (True, False))
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        assert np.isfinite(found[name]).all(), name
        np.testing.assert_allclose(
            found[name], value, rtol=1e-4, atol=1e-5, err_msg=str(name)
        )
    assert any(np.any(wanted[name]) for name in wanted)


@pytest.mark.filterwarnings("ignore:The reward")
@pytest.mark.parametrize(
    "options",
    [
        {"updates_per_rollout": 2},
        {"clipped_ratio": objectives.ClippedRatio(3e-4, level="sequence")},
    ],
    ids=["ppo", "gspo"],
)
def test_several_updates_leave_it_out(options):
    weights, before = [], tiny.MemorySpeaker(2).get_weights()
    for own in (True, False):
        speaker = tiny.MemorySpeaker(2)
        term = CASES["of lengths"](Parts(own))
        model = JointTraining(speaker, term, **options)
        model.compile(keras.optimizers.SGD(0.5), run_eagerly=True)
        model.train_on_batch(BATCH)
        weights.append(speaker.get_weights())
    for was, found, wanted in zip(before, *weights):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)
        assert np.abs(found - was).max() > 1e-4


def advantages(rewards, kind):
    """Of one row, of the samples that are judged, by plain loops."""
    known, found = [r for r in rewards if r is not None], []
    for place, reward in enumerate(rewards):
        others = [r for i, r in enumerate(rewards) if i != place]
        others = [r for r in others if r is not None]
        if reward is None or not others:
            found.append(0.0)
        elif kind == "leave one out":
            found.append(reward - np.mean(others))
        else:
            found.append((reward - np.mean(known)) / np.std(known))
    return found


@pytest.mark.filterwarnings("ignore:The reward")
@pytest.mark.parametrize("kind", ["leave one out", "group"])
def test_gradients_are_those_of_a_loop_over_what_is_judged(kind):
    given = [[1.0, None, 4.0, 2.0], [None, 3.0, None, None], [None] * 4]

    def reward(completions):
        return [r for row in given for r in row]

    objective = ScoreFunction(
        rewarded(reward),
        Sample(Rows(), 4, max_length=4),
        MEAN if kind == "group" else LEAVE,
        standardize=kind == "group",
    )
    speaker = tiny.TableSpeaker(2)
    batch = tiny.batch(3, np.tile([[[3, 4, 2]]], (3, 1, 1)))
    episode = Episode(speaker, batch, training=True)
    with tf.GradientTape(persistent=True) as tape:
        loss, logs = objective.loss(episode)
        scores = ops.sum(
            episode.log_probs(episode.rollout(objective.decoder)), axis=-1
        )
        known = np.array([[r is not None for r in row] for row in given])
        weights = np.array([advantages(row, kind) for row in given])
        wanted = -ops.sum(weights.astype("float32") * scores) / known.sum()
    np.testing.assert_allclose(loss, wanted, rtol=1e-5)
    np.testing.assert_allclose(
        tape.gradient(loss, speaker.table.value),
        tape.gradient(wanted, speaker.table.value),
        rtol=1e-4,
        atol=1e-6,
    )
    seen = [r for row in given for r in row if r is not None]
    assert float(logs["reward"]) == pytest.approx(np.mean(seen))
    assert float(logs["reward/std"]) == pytest.approx(np.std(seen))


class Digits:
    """Reads ids as numbers."""

    def decode(self, ids):
        return " ".join(map(str, ids))


def rewarded(function, **options):
    return rewards.TextReward(function, Digits(), **options)


def short(completions):
    return [None if len(c) < 2 else 1.0 for c in completions]


def long(completions):
    return [None if len(c) > 2 else 0.25 for c in completions]


def of(*captions):
    tokens = np.array([captions], "int32")
    return Rollout(tokens, (tokens > 0).astype("float32"))


SAID = of([3, 2, 0], [3, 4, 2], [0, 0, 0])


def test_in_a_sum_the_others_count():
    first, second, other = rewarded(short), rewarded(long), Worth()
    for total, wanted in (
        (first, [-np.inf, 1.0, 0.0]),
        (2 * first, [-np.inf, 2.0, 0.0]),
        (first + 2 * second, [0.5, 1.0, 0.0]),
        (first + other, [2.5, 1.0 + 1.5, 0.0]),
        (first + first, [-np.inf, 2.0, 0.0]),
        # A penalty alone judges no caption.
        (first + rewards.LengthPenalty(1, 9), [-np.inf, 1.0, 0.0]),
        (1.0 * (first + second) - first, [0.25, 0.0, 0.0]),
    ):
        assert total.abstains
        value = np.array(total(SAID, _Heard()))
        np.testing.assert_allclose(value[0, :2], wanted[:2])
    assert not other.abstains and not (other + rewards.BLEU(4)).abstains


class _Heard:
    speaker = tiny.TableSpeaker()
    inputs = {}


def test_what_is_infinite_by_itself_is_an_error_of_a_sum():
    broken = rewards.ConstantReward(-np.inf)
    value = (rewarded(short) + broken)(SAID, _Heard())
    assert np.isnan(np.array(value)[0, :2]).all()


def test_parts_are_logged_over_what_they_judge():
    samples = Sample(Rows(), 4, max_length=4)
    objective = ScoreFunction(Worth() + Reticent(), samples)
    episode = Episode(tiny.TableSpeaker(2), BATCH, training=True)
    _, logs = objective.loss(episode)
    said = episode.rollout(samples)
    worth, known = np.array(Worth()(said, episode)), np.array(judged(said))
    assert 0 < known.sum() < known.size
    np.testing.assert_allclose(
        [logs[f"weighted_sum/{name}"] for name in ("worth", "worth_2")],
        [worth.mean(), worth[known].mean()],
        rtol=1e-5,
    )
    deviation = worth[known].std()
    assert float(logs["weighted_sum/worth_2_std"]) == pytest.approx(
        deviation, rel=1e-5
    )


def test_without_a_baseline_a_sample_counts_for_nothing():
    never = rewarded(lambda completions: [None] * len(completions))
    greedy = objectives.DecoderBaseline(never, Greedy(max_length=4))
    objective = ScoreFunction(Worth(), Sample(Rows(), 4, max_length=4), greedy)
    loss, logs = objective.loss(Episode(tiny.TableSpeaker(2), BATCH))
    assert float(loss) == 0.0 and float(logs["worth/advantage"]) == 0.0


def test_continuations_that_are_not_judged_are_left_out():
    given = iter([[1.0, None, None, None, 3.0, 5.0]])

    def reward(completions):
        return next(given)

    credit = objectives.MonteCarlo(2)
    said = of([3, 4, 3, 4])
    sample = Sample(Rows(), 1, max_length=4)

    class Continued(_Heard):
        state, training = np.zeros((1, 1)), False

        def rollout(self, decoder):
            return said

    def continuations(*args, **kwargs):
        tokens = np.tile(said.tokens[:, :, None, None], (1, 1, 3, 2, 1))
        return Rollout(tokens, (tokens > 0).astype("float32"))

    sample.continuations = continuations
    found = credit(np.array([[7.0]]), Continued(), rewarded(reward), sample)
    # The second prefix has the value of the next.
    np.testing.assert_allclose(found, [[[1.0, 4.0, 4.0, 7.0]]])
