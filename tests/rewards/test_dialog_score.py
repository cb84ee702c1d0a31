import dataclasses
import itertools
from types import SimpleNamespace as Namespace

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tests import dialogs
from tfcap.decoding import GroundTruth
from tfcap.decoding import Rollout
from tfcap.decoding import Sample
from tfcap.layers import GumbelSoftmaxST
from tfcap.objectives import Episode
from tfcap.rewards import DialogScore

INPUTS = dialogs.batches().inputs(np.arange(4))


@pytest.fixture(scope="module")
def learners():
    keras.utils.set_random_seed(0)
    return dialogs.generator("lf"), dialogs.discriminator("lf")


def sample(num_samples=1):
    channel = GumbelSoftmaxST(seed=0)
    return Sample(channel, num_samples=num_samples, max_length=3)


def rewarded(learners, decoder, training=False, **arguments):
    generator, discriminator = learners
    episode = Episode(generator, INPUTS, training=training)
    rollout = episode.rollout(decoder)
    reward = DialogScore(discriminator, **arguments)
    return rollout, reward(rollout, episode)


def test_every_sample_is_scored_by_the_formula(learners):
    _, discriminator = learners
    rollout, found = rewarded(learners, sample(2), temperature=0.5)
    assert found.shape == (12, 2)
    anchor = np.asarray(discriminator.encode(INPUTS))
    truth = INPUTS["answer"].reshape(12, 1, -1)
    f_truth = np.asarray(discriminator.embed(truth, truth > 0))[:, 0]
    present = truth.any(axis=-1)[:, 0]
    assert 0 < present.sum() < 12
    np.testing.assert_array_equal(found[~present], 0)
    for row, s in itertools.product(np.flatnonzero(present), range(2)):
        tokens = rollout.tokens[row : row + 1, s : s + 1]
        mask = rollout.mask[row : row + 1, s : s + 1]
        f_answer = np.asarray(discriminator.embed(tokens, mask))[0, 0]
        gap = anchor[row] @ f_truth[row] - anchor[row] @ f_answer
        expected = -0.5 * np.log(1 + np.exp(gap / 0.5))
        np.testing.assert_allclose(
            found[row, s], expected, rtol=1e-4, atol=1e-6
        )


def test_the_truth_itself_is_worth_a_coin_toss(learners):
    _, found = rewarded(learners, GroundTruth())
    present = INPUTS["answer"].any(axis=-1).reshape(12, 1)
    np.testing.assert_allclose(
        found, -np.log(2) * present, rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("learning", [False, True])
def test_a_judge_is_read_and_a_learner_is_reached(learners, learning):
    generator, discriminator = learners
    encoders = discriminator.encoder, discriminator.answer_encoder
    with tf.GradientTape() as tape:
        _, found = rewarded(learners, sample(), learning=learning)
        loss = -ops.sum(found)
    sides = [
        [v.value for v in network.trainable_variables]
        for network in (generator, *encoders)
    ]
    reached = [
        any(x is not None and np.any(tf.convert_to_tensor(x)) for x in side)
        for side in tape.gradient(loss, sides)
    ]
    assert reached == [True, learning, True]


@pytest.mark.parametrize("learning", [False, True])
def test_the_truth_is_pushed_down_where_the_judge_learns_alone(learning):
    """f(truth) is a constant to a judge, and a learner's answer is not."""
    reward, vectors = DialogScore(Plain(), learning), tf.eye(3)
    with tf.GradientTape() as tape:
        tape.watch(vectors)
        Plain.vectors = vectors
        truth = np.array([[[1]]])
        answer = Rollout(np.array([[[2]]]), np.ones((1, 1, 1), "float32"))
        episode = Namespace(
            inputs={},
            references=Rollout(truth, np.ones((1, 1, 1), "float32")),
            speaker=Namespace(vocabulary_size=3),
            training=True,
        )
        loss = -ops.sum(reward(answer, episode))
    slope = tf.convert_to_tensor(tape.gradient(loss, vectors)).numpy()
    # The question is 1 everywhere, and both scores are 1.
    wanted = np.array([[0.0], [0.5 * learning], [-0.5]]) * np.ones(3)
    np.testing.assert_allclose(slope, wanted, rtol=1e-6)


class Plain:
    """A word is its row of a table."""

    def encode(self, inputs, training=False):
        return ops.ones((1, 3))

    def embed(self, answers, mask, training=False):
        return ops.take(self.vectors, answers[..., 0], axis=0)


def test_a_judge_reads_the_words_of_its_vocabulary(learners):
    generator, discriminator = learners
    short = Namespace(vocabulary_size=generator.vocabulary_size - 1)
    with pytest.raises(ValueError, match="`discriminator` must have the sp"):
        DialogScore(short)(None, Namespace(speaker=generator))
    with pytest.raises(ValueError, match="`temperature` must be positive"):
        DialogScore(None, temperature=0.0)


def test_a_judge_does_not_drop_out_and_a_learner_does():
    settings = dataclasses.replace(dialogs.SETTINGS, dropout=0.5)
    pair = dialogs.generator("lf"), dialogs.discriminator("lf", settings)
    _, one = rewarded(pair, GroundTruth())
    _, judged = rewarded(pair, GroundTruth(), training=True)
    np.testing.assert_array_equal(judged, one)
    _, evaluated = rewarded(pair, GroundTruth(), learning=True)
    np.testing.assert_array_equal(evaluated, one)
    _, noisy = rewarded(pair, GroundTruth(), training=True, learning=True)
    assert (np.asarray(noisy) != np.asarray(one)).any()
