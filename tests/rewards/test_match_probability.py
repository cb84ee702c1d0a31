import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tests import tiny
from tests.rewards.test_retrieval import HUMAN
from tests.rewards.test_retrieval import INPUTS
from tests.rewards.test_retrieval import learners as retrieval_learners
from tfcap.decoding import Sample
from tfcap.layers import Categorical
from tfcap.layers import PartialSamplingST
from tfcap.models import CaptionEvaluator
from tfcap.models import PairDiscriminator
from tfcap.objectives import Episode
from tfcap.objectives import MonteCarlo
from tfcap.objectives import Pathwise
from tfcap.rewards import MatchProbability


def learners(**arguments):
    keras.utils.set_random_seed(0)
    evaluator = CaptionEvaluator(
        tiny.VOCABULARY,
        units=6,
        embedding_units=4,
        scale=3.0,
        embeddings_initializer="normal",
        **arguments,
    )
    evaluator({"image": INPUTS["image"], "caption": HUMAN})
    evaluator.bias.assign(-0.5)
    return tiny.TableSpeaker(0), evaluator


def chances(evaluator, tokens, mask):
    """Probability of every caption for every image: `(images, B, S)`."""
    images = evaluator.embed_images(INPUTS["image"][: len(tokens)]).numpy()
    texts = evaluator.embed_texts(tokens, mask).numpy()
    return 1 / (1 + np.exp(0.5 - 3.0 * np.einsum("id,bsd->ibs", images, texts)))


def pair_players(**arguments):
    """A speaker, a discriminator of pairs, and who reads for it."""
    speaker, retriever = retrieval_learners(**arguments)
    discriminator = PairDiscriminator(units=(7,))
    discriminator({"image": np.ones((1, 6)), "text": np.ones((1, 1, 6))})
    discriminator.text.kernel.assign(3.0 * discriminator.text.kernel)
    return speaker, discriminator, retriever


def pair_chances(discriminator, retriever, tokens, mask):
    """Probability of every caption for its own image: `(B, S)`."""
    images = retriever.embed_images(INPUTS["image"])
    texts = retriever.embed_texts(tokens, mask)
    logits = discriminator({"image": images, "text": texts})
    return 1 / (1 + np.exp(-np.array(logits)))


def sample(channel):
    return Sample(channel, num_samples=2, max_length=3)


def test_is_the_probability_of_every_sample_for_its_own_image():
    speaker, evaluator = learners()
    episode = Episode(speaker, INPUTS)
    rollout = episode.rollout(sample(Categorical(seed=0)))
    reward = MatchProbability(evaluator)
    found = reward(rollout, episode)
    wanted = chances(evaluator, rollout.tokens, rollout.mask)
    wanted = wanted[np.arange(5), np.arange(5)]
    assert found.shape == (5, 2) and np.ptp(wanted) > 0.1
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    # Words and their ids are heard alike.
    bare = rollout._replace(words=None)
    np.testing.assert_allclose(reward(bare, episode), found, atol=1e-6)
    silent = rollout._replace(mask=rollout.mask * [[[1.0], [0.0]]])
    found = np.array(reward(silent, episode))
    assert (found[:, 0] > 0).all() and (found[:, 1] == 0).all()


def test_a_retriever_may_read_for_the_evaluator():
    speaker, discriminator, retriever = pair_players(
        image_dropout=0.5, word_dropout=0.5
    )
    episode = Episode(speaker, INPUTS, training=True)
    rollout = episode.rollout(sample(Categorical(seed=0)))
    found = MatchProbability(discriminator, retriever)(rollout, episode)
    wanted = pair_chances(
        discriminator, retriever, rollout.tokens, rollout.mask
    )
    assert np.ptp(wanted) > 0.1
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_images_may_be_embedded_before_and_texts_be_read_as_tokens():
    speaker, discriminator, retriever = pair_players()
    episode = Episode(speaker, INPUTS)
    wanted = MatchProbability(discriminator, retriever)(
        episode.references, episode
    )

    class Reader:
        differentiable = False
        image_key = "embedded"

        def embed_images(self, image, training=False):
            raise RuntimeError("embedded again")

        def embed_texts(self, words, mask, training=False):
            assert len(words.shape) == 3
            return retriever.embed_texts(words, mask)

    embedded = retriever.embed_images(INPUTS["image"])
    episode = Episode(speaker, {**INPUTS, "embedded": embedded})
    reward = MatchProbability(discriminator, Reader())
    assert not reward.differentiable
    words = ops.one_hot(HUMAN, tiny.VOCABULARY)
    rollout = episode.references._replace(words=words)
    found = reward(rollout, episode)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_a_judge_never_drops_out():
    speaker, evaluator = learners(image_dropout=0.5, word_dropout=0.5)
    values = []
    for training in (False, True):
        episode = Episode(speaker, INPUTS, training=training)
        values.append(MatchProbability(evaluator)(episode.references, episode))
    np.testing.assert_array_equal(*values)


def test_gradients_reach_who_speaks_through_the_words():
    speaker, evaluator = learners()
    channel = PartialSamplingST(0.5, seed=0)
    objective = Pathwise(MatchProbability(evaluator), sample(channel))
    with tf.GradientTape() as tape:
        loss, _ = objective.loss(Episode(speaker, INPUTS))
    slope = tape.gradient(loss, speaker.table.value)
    assert np.abs(slope).max() > 1e-4


def test_a_beginning_is_worth_what_its_ends_are():
    # Early feedback against enumeration, with a network for a judge.
    speaker, evaluator = learners()
    decoder, reward = sample(Categorical(seed=4)), MatchProbability(evaluator)
    episode = Episode(speaker, INPUTS)
    tokens = np.array(episode.rollout(decoder).tokens)
    whole = reward(episode.rollout(decoder), episode)
    found = MonteCarlo(2000)(whole, episode, reward, decoder)
    ends, p = tiny.captions(3), np.array(tiny.chances(speaker, 3))
    every = ends[:, None]
    values = chances(evaluator, every, every > 0)[..., 0]
    for row, s, t in np.ndindex(tokens.shape):
        if tokens[row, s, t]:
            begin = (ends[:, : t + 1] == tokens[row, s, : t + 1]).all(-1)
            wanted = (p * values[row])[begin].sum() / p[begin].sum()
            assert abs(found[row, s, t] - wanted) < 0.03


def test_an_unfit_evaluator_or_batch_is_named():
    speaker, evaluator = learners()
    for arguments, message in (
        ((speaker,), "method `embed_images"),
        ((evaluator, speaker), "`retriever` must.*`embed_images"),
        ((speaker, evaluator), "`evaluator` must.*`logits"),
    ):
        with pytest.raises(TypeError, match=message):
            MatchProbability(*arguments)
    episode = Episode(speaker, {"rows": INPUTS["rows"]})
    with pytest.raises(ValueError, match="must hold 'image', which Match"):
        MatchProbability(evaluator)(episode.references, episode)
