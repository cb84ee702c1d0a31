import keras
import numpy as np
import pytest
import tensorflow as tf

from tests import tiny
from tfcap.decoding import Greedy
from tfcap.decoding import MixedPrefix
from tfcap.decoding import Sample
from tfcap.decoding import ScheduledSampling
from tfcap.layers import Categorical
from tfcap.layers import GumbelSoftmaxST
from tfcap.objectives import DecoderBaseline
from tfcap.objectives import LearnedBaseline
from tfcap.objectives import LeaveOneOutBaseline
from tfcap.objectives import Pathwise
from tfcap.objectives import ScoreFunction
from tfcap.objectives import TeacherForcing
from tfcap.rewards import ConstantReward
from tfcap.rewards import KLPenalty
from tfcap.rewards import Reward
from tfcap.training import ObjectiveModel

REFERENCES = np.array([[[3, 2]], [[2, 0]], [[4, 4]], [[0, 0]], [[4, 2]]])
DATA = {
    "rows": np.zeros((5, 1), "float32"),
    "references": REFERENCES.astype("int32"),
}


class Rare(Reward):
    """Compares all that is said of a batch: words that few others have."""

    name = "rare"

    def call(self, rollout, episode):
        words = keras.ops.one_hot(rollout.tokens, tiny.VOCABULARY)
        said = keras.ops.max(words * rollout.mask[..., None], axis=2)
        often = keras.ops.mean(said, axis=(0, 1), keepdims=True)
        return keras.ops.sum(said * (1.0 - often), axis=-1)


def samples(**options):
    return Sample(Categorical(seed=0), 3, max_length=3, **options)


def objective(normalize, unroll):
    drawn = samples(top_k=2, unroll=unroll)
    reward = Rare() + 0.1 * KLPenalty(tiny.TableSpeaker(1))
    own = ScoreFunction(reward, drawn, LeaveOneOutBaseline(), normalize)
    greedy = DecoderBaseline(Rare(), Greedy(max_length=3))
    return (
        own
        + 2.0 * ScoreFunction(Rare(), drawn, greedy, name="again")
        + 0.5 * TeacherForcing("token")
    )


class Rounds(tiny.TableSpeaker):
    """Speaks several times of every row, as of the rounds of a dialog."""

    def begin(self, inputs, training=False):
        rows, rounds = keras.ops.shape(inputs["references"])[:2]
        return [keras.ops.zeros((rows * rounds, 1))]

    def references(self, inputs):
        return keras.ops.reshape(inputs["references"], (-1, 1, 2))


def test_parts_are_of_rows_that_are_spoken_of_several_times():
    tables = []
    for size, steps in ((None, None), (2, 3)):
        speaker = Rounds()
        model = ObjectiveModel(
            TeacherForcing("token"), speaker, minibatch_size=size
        )
        optimizer = keras.optimizers.SGD(0.5, gradient_accumulation_steps=steps)
        model.compile(optimizer, run_eagerly=True)
        data = {
            "references": np.concatenate([REFERENCES] * 3, 1).astype("int32"),
            "distractors": np.zeros((7, 2), "float32"),
        }
        model.train_on_batch(data)
        tables.append(speaker.get_weights()[0])
    np.testing.assert_allclose(*tables, rtol=1e-4, atol=1e-5)
    assert np.abs(tables[0] - tiny.TableSpeaker().get_weights()[0]).max() > 0.01


def trained(size, steps, normalize="token", unroll=None):
    model = ObjectiveModel(
        objective(normalize, unroll),
        tiny.TableSpeaker(),
        global_clipnorm=0.5,
        minibatch_size=size,
    )
    optimizer = keras.optimizers.SGD(
        0.5, momentum=0.9, gradient_accumulation_steps=steps
    )
    model.compile(optimizer, run_eagerly=True)
    data = tf.data.Dataset.from_tensors(DATA).repeat(2)
    history = model.fit(data, shuffle=False, verbose=0).history
    return model, history


@pytest.mark.parametrize(
    "normalize, unroll", [("token", True), ("sequence", False)]
)
def test_parts_together_have_the_gradient_of_the_batch(normalize, unroll):
    whole, wanted = trained(None, None, normalize, unroll)
    parts, found = trained(2, 3, normalize, unroll)
    assert int(parts.optimizer.iterations) == 2
    tables = [x.speaker.get_weights()[0] for x in (whole, parts)]
    np.testing.assert_allclose(*tables, rtol=1e-4, atol=1e-5)
    assert sorted(found) == sorted(wanted)
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-4, atol=1e-5)


def test_parts_know_what_a_prefix_gave_to_the_words_of_a_baseline():
    """Words that it gave are possible, though its decoder never says them."""
    tables, logs = [], []
    for size, steps in ((None, None), (2, 3)):
        mixed = MixedPrefix(1, 3, seed=0, suppress=(4,))
        likely = KLPenalty(tiny.TableSpeaker(1))
        baseline = DecoderBaseline(likely, mixed)
        model = ObjectiveModel(
            ScoreFunction(likely, Sample(Categorical(seed=0), 1, 3), baseline),
            tiny.TableSpeaker(),
            minibatch_size=size,
        )
        optimizer = keras.optimizers.SGD(0.5, gradient_accumulation_steps=steps)
        model.compile(optimizer, run_eagerly=True)
        logs.append(model.train_on_batch(DATA, return_dict=True))
        tables.append(model.speaker.get_weights()[0])
    np.testing.assert_allclose(*tables, rtol=1e-4, atol=1e-5)
    assert logs[0] == pytest.approx(logs[1], rel=1e-4)
    assert abs(logs[0]["kl_penalty_advantage"]) < 100


def test_each_part_is_a_step_of_an_optimizer_that_does_not_accumulate():
    model, history = trained(2, None)
    assert int(model.optimizer.iterations) == 6
    whole, _ = trained(None, None)
    tables = [x.speaker.get_weights()[0] for x in (whole, model)]
    assert np.abs(tables[0] - tables[1]).max() > 1e-3


def relaxed():
    reward = Rare()
    reward.differentiable = True
    return Pathwise(reward, Sample(GumbelSoftmaxST(seed=0), max_length=3))


def learned():
    drawn = samples(keep_states=True)
    return ScoreFunction(ConstantReward(), drawn, LearnedBaseline(1))


@pytest.mark.parametrize("make", [relaxed, learned])
def test_terms_that_parts_do_not_compute_again_are_refused(make):
    term = TeacherForcing() + make()
    with pytest.raises(ValueError, match="`minibatch_size` must be None where"):
        ObjectiveModel(term, tiny.TableSpeaker(), minibatch_size=2)


def test_what_cannot_be_done_part_by_part_is_refused():
    with pytest.raises(ValueError, match="`minibatch_size` must be a positive"):
        ObjectiveModel(TeacherForcing(), tiny.TableSpeaker(), minibatch_size=0)
    mixed = TeacherForcing(decoder=ScheduledSampling(0.5))
    model = ObjectiveModel(mixed, tiny.TableSpeaker(), minibatch_size=2)
    with pytest.raises(ValueError, match="`steps_per_execution` must be 1 wi"):
        model.compile("sgd", steps_per_execution=2)
    model.compile("sgd", run_eagerly=True)
    with pytest.raises(ValueError, match="decoder=ScheduledSampling. Use Samp"):
        model.train_on_batch(DATA)
