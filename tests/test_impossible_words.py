"""Words that a mask of minus infinity rules out, and rows without a word."""

import inspect

import keras
import numpy as np
import pytest
from keras import ops

import tfcap.layers
from tests import tiny
from tests.gradients import gradients
from tfcap._ops import token_log_probs
from tfcap.decoding import BeamSearch
from tfcap.decoding import Greedy
from tfcap.decoding import MixedPrefix
from tfcap.decoding import Sample
from tfcap.decoding import ScheduledSampling
from tfcap.decoding import SumAndSample
from tfcap.layers import Categorical
from tfcap.layers import GumbelRao
from tfcap.layers import GumbelSoftmaxST
from tfcap.layers import PartialSamplingST
from tfcap.layers import ProbabilityChannel
from tfcap.layers import ReinMax
from tfcap.layers import ReinMaxCV
from tfcap.layers import ReinMaxRao
from tfcap.layers import WordChannel
from tfcap.objectives import RELAX
from tfcap.objectives import Episode
from tfcap.objectives import ExpectedEnding
from tfcap.objectives import MonteCarlo
from tfcap.objectives import Pathwise
from tfcap.objectives import ScoreFunction
from tfcap.objectives import StructureLoss
from tfcap.objectives import TeacherForcing
from tfcap.objectives.proximal import KLDivergence
from tfcap.objectives.ranking import PreferenceLoss
from tfcap.rewards import Reward
from tfcap.rewards import Surprisal
from tfcap.rewards.text_rewards import as_reward

TENSORFLOW = keras.backend.backend() == "tensorflow"
SLOPES = np.arange(1.0, 6.0, dtype="float32")
CHANNELS = {
    "Categorical": lambda: Categorical(0.5, seed=0),
    "PartialSamplingST": lambda: PartialSamplingST(0.0, seed=0),
    "PartialSamplingST, some": lambda: PartialSamplingST(0.5, seed=0),
    "GumbelSoftmaxST": lambda: GumbelSoftmaxST(0.1, seed=0),
    "GumbelSoftmaxST, some": lambda: GumbelSoftmaxST(2.0, rho=0.5, seed=0),
    "GumbelSoftmaxST, decoupled": lambda: GumbelSoftmaxST(
        0.5, rho=0.5, seed=0, backward_temperature=1.0
    ),
    **{
        f"{kind.__name__}, {rho}, {temperature}": (
            lambda kind=kind, rho=rho, temperature=temperature: kind(
                rho=rho, temperature=temperature, seed=0
            )
        )
        for kind in (ReinMax, ReinMaxCV, ReinMaxRao, GumbelRao)
        for rho, temperature in ((0.0, 1.0), (0.5, 0.1), (1.0, 2.0))
    },
}
if TENSORFLOW:
    CHANNELS |= {
        "ProbabilityChannel": lambda: ProbabilityChannel(seed=0),
        "ProbabilityChannel, relaxed": lambda: ProbabilityChannel(
            "RelaxedOneHotCategorical", {"temperature": 0.5}, seed=0
        ),
    }


def masked(low, dtype="float32"):
    """Logits of two words of five that may be said, or three, or one."""
    rows = [
        [0.0, low, 1.0, low, low],
        [0.0, low, 1.0, low, 0.3],
        [low, low, low, -0.5, low],
    ]
    return ops.convert_to_tensor(rows, dtype)


def numpy(tensor):
    return ops.convert_to_numpy(ops.cast(tensor, "float32"))


def said(kind, logits):
    """Vectors, and gradients through them and through what they embed as."""
    channel = CHANNELS[kind]()
    vectors = []

    def loss(logits):
        words = channel(logits, training=True)
        vectors.append(words)
        embedded = tfcap.layers.embed_words(words, SLOPES[:, None])
        return ops.sum(words * SLOPES) + ops.sum(embedded)

    if not channel.differentiable:
        return numpy(channel(logits, training=True)), np.zeros(1)
    _, slope = gradients(loss, logits)
    return numpy(CHANNELS[kind]()(logits, training=True)), slope


def test_every_channel_is_tried():
    exported = {
        name
        for name, part in inspect.getmembers(tfcap.layers, inspect.isclass)
        if issubclass(part, WordChannel) and part is not WordChannel
    }
    tried = {kind.partition(",")[0] for kind in CHANNELS}
    assert exported - tried <= (set() if TENSORFLOW else {"ProbabilityChannel"})


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("kind", CHANNELS)
def test_a_mask_of_minus_infinity_is_one_of_large_numbers(kind, dtype):
    found = said(kind, masked(-np.inf, dtype))
    # The lowest number of half precision; float32's own overflows.
    low = -65504.0 if dtype == "float16" else -1e9
    for ours, wanted in zip(found, said(kind, masked(low, dtype))):
        np.testing.assert_array_equal(ours, wanted)
        assert np.isfinite(ours.astype("float32")).all()
    hidden = numpy(masked(-np.inf)) == -np.inf
    assert (found[0][hidden] == 0).all() and (found[0][2] == np.eye(5)[3]).all()
    if found[1].ndim > 1:
        assert (found[1][hidden] == 0).all() and found[1][:2].any()


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("kind", CHANNELS)
@pytest.mark.parametrize(
    "row",
    [[-np.inf] * 5, [0.0, np.nan, 1.0, 2.0, 0.3], [0.0, 1.0, np.inf, 2.0, 0.3]],
    ids=["no word", "NaN", "infinite"],
)
def test_where_there_is_no_distribution_there_is_no_word(row, kind, training):
    rows = np.float32([row, [0.0, 1.0, 2.0, 3.0, 4.0]])
    words = CHANNELS[kind]()(rows, training=training)
    embedded = tfcap.layers.embed_words(words, SLOPES[:, None])
    for values in numpy(words), numpy(embedded):
        assert np.isnan(values[0]).any() and np.isfinite(values[1]).all()


def test_log_probabilities_of_impossible_words():
    words = np.array([2, 1, 3])

    def loss(logits):
        return ops.sum(token_log_probs(logits, words) * SLOPES[:3])

    found, wanted = (gradients(loss, masked(x)) for x in (-np.inf, -1e9))
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-6)
    possible = np.isfinite(numpy(masked(-np.inf)))
    np.testing.assert_allclose(found[1][possible], wanted[1][possible])
    for low in (-np.inf, -1e9, np.nan, np.inf):
        nothing = np.full((2, 5), low, "float32")
        assert np.isnan(numpy(token_log_probs(nothing, np.array([1, 2])))).all()


class Speaker(tiny.MemorySpeaker):
    """Never says word 4, by a mask."""

    def __init__(self, low, seed=0):
        super().__init__(seed)
        self.low = low

    def step(self, words, state, training=False):
        logits, state = super().step(words, state, training)
        return ops.where(np.arange(5) > 3, self.low, logits), state


class Sum(Reward):
    """A differentiable reward: of which words there are."""

    differentiable = True

    def call(self, rollout, episode):
        values = ops.sum(rollout.words * SLOPES, axis=-1)
        return ops.sum(values * rollout.mask, axis=-1)


@as_reward
def threes(rollout, episode):
    said = ops.cast(ops.equal(rollout.tokens, 3), "float32")
    return ops.sum(said * rollout.mask, axis=-1)


def score(decoder, reward=threes, **options):
    return lambda _: ScoreFunction(reward, decoder(), **options)


def drawn(**options):
    return lambda: Sample(Categorical(seed=0), 3, 3, **options)


POSSIBLE, ANY = [[[3, 3, 2]], [[3, 2, 0]]], [[[3, 4, 2]], [[4, 2, 0]]]
#: Callables from another speaker to an estimator, and the references.
ESTIMATORS = {
    "unrolled": (score(drawn(unroll=True)), POSSIBLE),
    "in a loop": (score(drawn(unroll=False)), POSSIBLE),
    "top-k": (score(drawn(top_k=4)), POSSIBLE),
    "top-p": (score(drawn(top_p=0.99)), POSSIBLE),
    "suppressed": (score(drawn(suppress=(4,))), POSSIBLE),
    "no repetition": (score(drawn(no_repeat_ngram=2)), POSSIBLE),
    "beam": (score(lambda: BeamSearch(3, 3)), POSSIBLE),
    "sum and sample": (score(lambda: SumAndSample(2, 2, 3, seed=0)), POSSIBLE),
    "rollouts": (score(drawn(), credit=MonteCarlo(2)), POSSIBLE),
    "surprisal": (score(drawn(), Surprisal()), POSSIBLE),
    "prefix": (score(lambda: MixedPrefix(2, 3, seed=0)), ANY),
    "forcing": (lambda _: TeacherForcing(), POSSIBLE),
    "forcing, impossible": (lambda _: TeacherForcing(), ANY),
    "scheduled": (
        lambda _: TeacherForcing(decoder=ScheduledSampling(0.5, seed=0)),
        POSSIBLE,
    ),
    "divergence": (lambda other: KLDivergence(other, drawn()()), POSSIBLE),
    "preference": (
        lambda other: PreferenceLoss(threes, drawn()(), reference=other),
        POSSIBLE,
    ),
    "risk": (lambda _: StructureLoss(threes, drawn()()), POSSIBLE),
    "RELAX": (
        lambda _: RELAX(
            *(threes, drawn(keep_states=True)()),
            state_units=4,
            vocabulary_size=5,
            seed=0,
        ),
        POSSIBLE,
    ),
    **{
        f"{made.__name__}, {kind}, {feedback}": (
            lambda _, kind=kind, feedback=feedback, made=made: made(
                Sum(), Sample(CHANNELS[kind](), 2, 3, feedback)
            ),
            POSSIBLE,
        )
        for kind, feedback, made in [
            ("PartialSamplingST, some", "index", ExpectedEnding),
            ("GumbelSoftmaxST", "relaxed", Pathwise),
            ("GumbelRao, 0.5, 0.1", "relaxed", ExpectedEnding),
            ("ReinMaxCV, 0.0, 1.0", "index", Pathwise),
        ]
    },
}


@pytest.mark.skipif(not TENSORFLOW, reason="training is TensorFlow's")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_speakers_may_mask_words_with_minus_infinity(name):
    import tensorflow as tf

    make, references = ESTIMATORS[name]

    def learned(low):
        keras.utils.set_random_seed(0)
        speaker, other = Speaker(low), Speaker(low, seed=1)
        inputs = tiny.batch(2, references)
        with tf.GradientTape() as tape:
            episode = Episode(speaker, inputs, training=True)
            loss, _ = make(other).loss(episode)
        slopes = tape.gradient(loss, speaker.trainable_variables)
        return [numpy(x) for x in (loss, *slopes) if x is not None]

    for found, wanted in zip(learned(-np.inf), learned(-1e9), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
        assert np.isfinite(found).all()


@pytest.mark.parametrize(
    "decoder",
    [drawn(unroll=True)(), drawn(unroll=False)(), Greedy(3), BeamSearch(2, 3)],
)
def test_a_speaker_without_a_word_is_not_silent(decoder):
    class Mute(tiny.TableSpeaker):
        def step(self, words, state, training=False):
            logits, state = super().step(words, state, training)
            return ops.full_like(logits, -np.inf), state

    speaker = Mute()
    rollout = decoder.decode(speaker, speaker.begin(tiny.batch(2)))
    assert np.isnan(numpy(rollout.scores)).all()
