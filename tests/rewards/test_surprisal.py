"""Entropy and divergence of a speaker, as rewards."""

import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tests import tiny
from tests.enumerated import assert_unbiased
from tests.enumerated import estimates
from tests.objectives.test_score_function import decoder
from tfcap.decoding import BeamSearch
from tfcap.decoding import Rollout
from tfcap.objectives import Episode
from tfcap.objectives import LeaveOneOutBaseline
from tfcap.objectives import ScoreFunction
from tfcap.rewards import KLPenalty
from tfcap.rewards import Surprisal


def exact(speaker, reference=None):
    """Entropy, or minus the divergence from a reference; and its gradient."""
    with tf.GradientTape() as tape:
        p = tiny.chances(speaker)
        q = 1.0 if reference is None else tiny.chances(reference)
        value = ops.sum(p * ops.log(q / p))
    return float(value), tape.gradient(value, speaker.table.value).numpy()


@pytest.mark.parametrize("reference", [None, 7])
def test_the_mean_and_its_gradient_are_the_exact_ones(reference):
    speaker = tiny.TableSpeaker(2)
    other = None if reference is None else tiny.TableSpeaker(reference)
    reward = Surprisal() if other is None else KLPenalty(other)
    value, gradient = exact(speaker, other)
    objective = ScoreFunction(reward, decoder(3), LeaveOneOutBaseline())
    episode = Episode(speaker, tiny.batch(4000))
    rewards = np.array(reward(episode.rollout(decoder()), episode))
    error = rewards.std() / np.sqrt(rewards.size)
    assert abs(rewards.mean() - value) < 4.5 * error
    found = estimates(speaker, objective)
    assert_unbiased(found, gradient, 0.05)


def test_word_by_word_it_is_the_entropy_of_every_step():
    speaker = tiny.TableSpeaker(2)
    with tf.GradientTape() as tape:
        rows = tf.gather(speaker.table.value, tiny.WORDS, axis=1)
        steps = tf.nn.softmax(rows)
        entropies = -tf.reduce_sum(steps * tf.math.log(steps), axis=1)
        # What was said before is what it is: nothing is gained by saying it.
        first = tf.stop_gradient(steps[tiny.BOS])
        second = sum(
            p * entropies[word]
            for p, word in zip(first, tiny.WORDS)
            if word != tiny.EOS
        )
        value = entropies[tiny.BOS] + second
    gradient = np.array(tape.gradient(value, speaker.table.value))
    reward = Surprisal(per_word=True)
    objective = ScoreFunction(reward, decoder(3), LeaveOneOutBaseline())
    found = estimates(speaker, objective)
    assert_unbiased(found, gradient, 0.05)


def test_a_speaker_is_not_far_from_itself():
    speaker = tiny.TableSpeaker(2)
    episode = Episode(speaker, tiny.batch(50))
    rewards = KLPenalty(speaker)(episode.rollout(decoder(2)), episode)
    np.testing.assert_allclose(rewards, 0.0, atol=1e-5)


def test_what_was_searched_is_scored_first():
    speaker = tiny.TableSpeaker(2)
    episode = Episode(speaker, tiny.batch(2))
    said = episode.rollout(BeamSearch(3, 2))
    np.testing.assert_allclose(
        Surprisal()(said, episode), -np.array(said.scores), rtol=1e-5, atol=1e-6
    )


def test_what_scores_no_words_is_no_reference():
    with pytest.raises(TypeError, match="`reference` must have"):
        KLPenalty(Surprisal())


def test_what_is_under_the_mask_does_not_count():
    class Careless(tiny.TableSpeaker):
        def log_probs(self, state, tokens, training=False):
            found = super().log_probs(state, tokens, training)
            return ops.where(tokens == 0, -np.inf, found)

    tokens = np.array([[[3, 2, 0, 0]]])
    said = Rollout(tokens, (tokens > 0).astype("float32"))
    for reward in (Surprisal(), Surprisal(per_word=True)):
        found, wanted = (
            reward(said, Episode(make(1), tiny.batch(1)))
            for make in (Careless, tiny.TableSpeaker)
        )
        np.testing.assert_array_equal(found, wanted)
