"""Score functions of words whose vectors are fed back, by enumeration."""

import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tests import tiny
from tfcap.decoding import Sample
from tfcap.decoding import stepwise_log_probs
from tfcap.decoding.rollout import NONE
from tfcap.decoding.rollout import LogitsProcessors
from tfcap.layers import GumbelSoftmaxST
from tfcap.layers import PartialSamplingST
from tfcap.objectives import Episode
from tfcap.objectives import Pathwise
from tfcap.objectives import ScoreFunction
from tfcap.rewards import Reward

LENGTH = 3
CAPTIONS = tiny.captions(LENGTH)
ROWS = len(CAPTIONS)
BATCH = tiny.batch(ROWS)
#: What each caption is worth: nothing of it is a sum over words.
WORTH = np.random.default_rng(7).normal(size=ROWS).astype("float32")
WORDS = np.array([0.0, 0.0, 0.5, 2.0, -1.0], "float32")


class Told:
    """Has a channel draw the captions, row by row, of its own accord."""

    def decoding(self, rows):
        self.steps = iter(CAPTIONS.T)
        return super().decoding(rows)


class ToldST(Told, PartialSamplingST):
    def sample(self, probabilities, noise=None):
        return self.one_hot(next(self.steps), probabilities)


class ToldGumbel(Told, GumbelSoftmaxST):
    def uniform(self, shape, minval=0.0):
        noise = np.random.default_rng(3).uniform(0.2, 0.8, shape)
        noise[np.arange(len(noise)), next(self.steps)] = 1 - 1e-6
        return ops.convert_to_tensor(noise, "float32")


CHANNELS = {
    "partial_sampling": lambda **kwargs: ToldST(0.0, **kwargs),
    "gumbel": lambda **kwargs: ToldGumbel(5.0, **kwargs),
}


class Weighted(Reward):
    """The worth of a caption, as often as it comes among so many."""

    name = "worth"

    def __init__(self, chances):
        self.weights = (WORTH * chances * len(chances))[:, None]

    def call(self, rollout, episode):
        return self.weights


class SoftWorth(Reward):
    differentiable = True
    name = "soft_worth"

    def call(self, rollout, episode):
        return ops.sum(ops.matmul(rollout.listener_inputs, WORDS), axis=-1) ** 2


def variables(speaker):
    return [v.value for v in speaker.trainable_variables]


def exact(speaker, logits_processors=NONE):
    """Chances of all captions, and the gradient of their expected worth."""
    with tf.GradientTape() as tape:
        log_probs = stepwise_log_probs(
            speaker,
            speaker.begin(tiny.batch(1)),
            CAPTIONS[None],
            logits_processors=logits_processors,
        )
        chances = ops.exp(ops.sum(log_probs[0], axis=-1))
        expected = ops.sum(chances * WORTH)
    return chances.numpy(), tape.gradient(expected, variables(speaker))


def gradient(speaker, objective, training=False):
    with tf.GradientTape() as tape:
        loss, _ = objective.loss(Episode(speaker, BATCH, training=training))
    return [-g.numpy() for g in tape.gradient(loss, variables(speaker))]


def assert_equal(found, expected):
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("feedback", ["index", "relaxed"])
@pytest.mark.parametrize(
    "logits_processors", [NONE, LogitsProcessors((4,)), LogitsProcessors((), 1)]
)
def test_the_expected_gradient_over_all_captions_is_the_exact_one(
    channel, feedback, logits_processors
):
    speaker = tiny.MemorySpeaker()
    chances, expected = exact(speaker, logits_processors)
    np.testing.assert_allclose(chances.sum(), 1, rtol=1e-5)
    samples = Sample(
        CHANNELS[channel](),
        max_length=LENGTH,
        feedback=feedback,
        suppress=logits_processors.suppress,
        no_repeat_ngram=logits_processors.no_repeat_ngram,
    )
    said = samples.decode(speaker, speaker.begin(BATCH))
    likely = chances > 0
    np.testing.assert_array_equal(said.tokens[:, 0][likely], CAPTIONS[likely])
    np.testing.assert_allclose(
        np.exp(said.scores[:, 0])[likely], chances[likely], rtol=1e-4
    )
    found = gradient(speaker, ScoreFunction(Weighted(chances), samples))
    assert_equal(found, expected)


@pytest.mark.parametrize("channel", CHANNELS)
def test_terms_of_one_rollout_have_the_gradients_that_they_have_alone(channel):
    speaker = tiny.MemorySpeaker()
    chances, expected = exact(speaker)
    samples = Sample(CHANNELS[channel](), max_length=LENGTH, feedback="relaxed")
    score = ScoreFunction(Weighted(chances), samples)
    path = Pathwise(SoftWorth(), samples)
    both = gradient(speaker, score + path)
    alone = gradient(speaker, path)
    assert_equal(both, [a + b for a, b in zip(alone, expected)])
    # Neither is so small that it would not be missed.
    for part in (alone, expected):
        assert min(np.abs(slope).max() for slope in part) > 0.01


def test_what_passes_through_the_words_passes_through_their_feedback():
    speaker = tiny.MemorySpeaker()
    samples = Sample(
        CHANNELS["partial_sampling"](), max_length=LENGTH, feedback="relaxed"
    )
    found = gradient(speaker, Pathwise(SoftWorth(), samples))
    with tf.GradientTape() as tape:
        state, total = speaker.begin(BATCH), 0.0
        words = tf.one_hot([tiny.BOS] * ROWS, tiny.VOCABULARY)
        for t in range(LENGTH):
            logits, state = speaker.step(words, state)
            p = tf.nn.softmax(logits)
            said = tf.one_hot(CAPTIONS[:, t], tiny.VOCABULARY)
            words = said + p - tf.stop_gradient(p)
            words *= (CAPTIONS[:, t] > 0).astype("float32")[:, None]
            total += tf.linalg.matvec(words, WORDS)
        value = tf.reduce_mean(total**2)
    assert_equal(found, tape.gradient(value, variables(speaker)))


@pytest.mark.parametrize(
    ("channel", "compiled"),
    [("partial_sampling", False), ("partial_sampling", True), ("gumbel", True)],
)
def test_words_are_scored_under_the_dropout_that_they_were_said_with(
    channel, compiled
):
    found, drawn, chances = [], [], exact(tiny.MemorySpeaker())[0]
    for feedback in ("index", "relaxed"):
        speaker = tiny.MemorySpeaker(dropout=0.5)
        options = {"max_length": LENGTH, "feedback": feedback}
        samples = Sample(CHANNELS[channel](), **options)
        objective = ScoreFunction(Weighted(chances), samples)

        def step(speaker=speaker, objective=objective):
            with tf.GradientTape() as tape:
                episode = Episode(speaker, BATCH, training=True)
                loss, _ = objective.loss(episode)
            return tape.gradient(loss, variables(speaker))

        run = tf.function(step, autograph=False) if compiled else step
        found.append(run())
        drawn.append(speaker.drop.seed_generator.state.numpy())
    assert_equal(found[1], found[0])
    np.testing.assert_array_equal(drawn[1], drawn[0])
    plain = gradient(speaker, objective)
    assert max(np.abs(a + b).max() for a, b in zip(found[1], plain)) > 0.01


@pytest.mark.parametrize("feedback", ["index", "relaxed"])
@pytest.mark.parametrize(
    "channel", [PartialSamplingST(0.5, seed=0), GumbelSoftmaxST(rho=0.5)]
)
def test_words_that_are_distributions_have_no_score(channel, feedback):
    samples = Sample(channel, max_length=LENGTH, feedback=feedback)
    objective = ScoreFunction(Weighted(np.ones(ROWS)), samples)
    with pytest.raises(ValueError, match="`decoder` must emit discrete words"):
        objective.loss(Episode(tiny.MemorySpeaker(), BATCH))
