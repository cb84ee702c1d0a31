"""REINFORCE with rewards that compare the samples of a batch.

The mean of the estimate over everything that could be said is the gradient of
the expected reward, by enumeration.
"""

import itertools

import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tfcap.decoding import Decoder
from tfcap.decoding import Rollout
from tfcap.objectives import DecoderBaseline
from tfcap.objectives import Episode
from tfcap.objectives import ScoreFunction
from tfcap.rewards import BidirectionalContrastive
from tfcap.rewards import ConstantReward
from tfcap.rewards import Retrieval

RNG = np.random.default_rng(3)
IMAGES = RNG.normal(size=(3, 2, 3)).astype("float32")
MEANINGS = RNG.normal(size=(6, 3)).astype("float32")


class RowSpeaker:
    """Says one word of a few, by a row of logits of its own."""

    bos, eos = 1, 2

    def begin(self, inputs, training=False):
        return inputs["logits"]

    def references(self, inputs):
        return inputs["references"]


class Said(Decoder):
    """Gives the words that it is told, one a sample."""

    def __init__(self, tokens):
        self.tokens = np.asarray(tokens, "int32")

    def decode(self, speaker, state, references=None, training=False):
        log_p = ops.log_softmax(state)
        said = ops.one_hot(self.tokens - 3, log_p.shape[-1])
        log_probs = ops.einsum("bstw,bw->bst", said, log_p)
        return Rollout(
            self.tokens, np.ones(self.tokens.shape, "float32"), None, log_probs
        )


class Retriever:
    """An image is its first position, a caption the meaning of its word."""

    def embed_images(self, image, training=False):
        return _unit(image[:, 0])

    def embed_texts(self, words, mask, training=False):
        return _unit(ops.take(MEANINGS, words[..., 0], axis=0))


def _unit(x):
    return x / ops.norm(x, axis=-1, keepdims=True)


def batch(rows, logits):
    """Images and words; the first and the last of three images are one."""
    return {
        "image": IMAGES[:rows],
        "logits": logits,
        "same": np.array([7, 8, 7], "int32")[:rows],
        "references": np.array([[[3]], [[5]], [[4]]], "int32")[:rows],
    }


def gradients(reward, rows, samples, words, baseline=None):
    """The expected estimate, and the gradient of the expected reward."""
    noise = np.random.default_rng(1).normal(size=(rows, words))
    logits = tf.Variable(noise.astype("float32"))
    p = ops.convert_to_numpy(ops.softmax(logits))
    found, expected = np.zeros((2, rows, words))
    for said in itertools.product(range(words), repeat=rows * samples):
        said = np.reshape(said, (rows, samples))
        chance = np.prod([p[b, w] for b in range(rows) for w in said[b]])
        objective = ScoreFunction(reward, Said(said[..., None] + 3), baseline)
        with tf.GradientTape() as tape:
            episode = Episode(RowSpeaker(), batch(rows, logits))
            loss, logs = objective.loss(episode)
        found -= chance * tape.gradient(loss, logits).numpy()
        # Of log p, summed over the samples of every row.
        slope = np.eye(words)[said].sum(axis=1) - samples * p
        expected += chance * float(logs[objective.name]) * slope
    return found, expected


HINGE, CONTRAST = {"margin": 0.7}, {"temperature": 0.5}
CASES = {
    "hinge, hardest": (Retrieval, HINGE | {"negatives": "hardest"}),
    "hinge, sum": (Retrieval, HINGE | {"negatives": "sum"}),
    "hinge, blend": (Retrieval, HINGE | {"negatives": 0.3}),
    "hinge, text alone": (Retrieval, HINGE | {"directions": ("text",)}),
    "hinge, image alone": (Retrieval, HINGE | {"directions": ("image",)}),
    "hinge, twins": (Retrieval, HINGE | {"same": "same"}),
    "contrast": (BidirectionalContrastive, CONTRAST),
    "contrast, added up": (
        BidirectionalContrastive,
        CONTRAST | {"combine": "sum"},
    ),
    "contrast, no siblings": (
        BidirectionalContrastive,
        CONTRAST | {"siblings": False},
    ),
    "contrast, one direction": (
        BidirectionalContrastive,
        CONTRAST | {"directions": ("text",)},
    ),
    "contrast, cold": (BidirectionalContrastive, {"temperature": 0.01}),
}
#: Rows, samples, and words that can be said.
ONE, SEVERAL = (3, 1, 2), (2, 2, 2)
SEVERAL_OF = ("hinge, hardest", "hinge, sum", "contrast")


@pytest.mark.parametrize(
    "case, sizes",
    [(case, ONE) for case in CASES] + [(case, SEVERAL) for case in SEVERAL_OF],
)
def test_the_expected_gradient_is_that_of_the_expected_reward(case, sizes):
    kind, options = CASES[case]
    reward = kind(Retriever(), **options)
    found, expected = gradients(reward, *sizes)
    assert np.abs(expected).max() > 1e-3
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("negatives", ["hardest", "sum"])
def test_its_own_reward_alone_leaves_a_part_of_the_gradient_out(negatives):
    options = {"margin": 0.7, "negatives": negatives, "credit": "own"}
    found, expected = gradients(Retrieval(Retriever(), **options), *ONE)
    assert np.abs(found - expected).max() > 0.1 * np.abs(expected).max()


@pytest.mark.parametrize("samples", [1, 2])
@pytest.mark.parametrize("said", [[[3]], [[4], [5]]])
def test_what_does_not_depend_on_the_samples_is_a_baseline(said, samples):
    reward = 2.0 * Retrieval(Retriever(), 0.7) + 0.5 * ConstantReward()
    baseline = DecoderBaseline(reward, Said([said] * 2))
    found, expected = gradients(reward, 2, samples, 2, baseline=baseline)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def three(copies=1):
    """A reward, an episode of three rows, and words that are said of them."""
    logits = np.zeros((3, 3), "float32")
    words = np.repeat([[[3]], [[4]], [[5]]], copies, axis=1)
    episode, said = Episode(RowSpeaker(), batch(3, logits)), Said(words)
    reward = Retrieval(Retriever(), 0.7)
    found = reward.scored(episode.rollout(said), episode)
    return reward, episode, said, found.credit(), found.values


def test_as_a_baseline_an_effect_is_scaled_to_the_samples_scored():
    reward, episode, decoder, credit, own = three()
    assert np.abs(credit - own).max() > 0.1
    for samples in (1, 3):
        scored = np.zeros((3, samples), "float32")
        found = DecoderBaseline(reward, decoder)(scored, episode)
        wanted = own + samples * (credit - own)
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_negatives_that_are_equally_hard_have_no_effect():
    *_, credit, own = three(copies=2)
    np.testing.assert_array_equal(credit, own)


def test_credit_is_logged_as_the_advantage_and_the_reward_as_the_reward():
    reward, episode, decoder, credit, own = three()
    _, logs = ScoreFunction(reward, decoder, lambda r, _: 0 * r).loss(episode)
    means = [float(ops.mean(x)) for x in (own, credit)]
    found = logs["retrieval"], logs["retrieval/advantage"]
    assert list(map(float, found)) == pytest.approx(means)
    assert abs(means[1] - means[0]) > 1e-2


def test_an_unknown_credit_is_refused():
    for kind in (Retrieval, BidirectionalContrastive):
        with pytest.raises(ValueError, match="`credit`.*credit='all'"):
            kind(Retriever(), credit="all")
