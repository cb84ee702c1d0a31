"""Human words first, and then words of the speaker's own."""

import numpy as np
import pytest

from tests import tiny
from tests.enumerated import Worth
from tests.enumerated import gradient
from tfcap.decoding import MixedPrefix
from tfcap.decoding import Sample
from tfcap.layers import Categorical
from tfcap.objectives import Episode
from tfcap.objectives import ScoreFunction
from tfcap.objectives import TeacherForcing

HUMAN = np.array([[[3, 4, 3, 2], [4, 2, 0, 0]], [[4, 4, 2, 0], [0, 0, 0, 0]]])


def episode(speaker, rows=1):
    human = np.tile(HUMAN, (rows, 1, 1))
    return Episode(speaker, tiny.batch(len(human), human))


def said(speaker, decoder, rows=1):
    return tiny.compiled(lambda: episode(speaker, rows).rollout(decoder))


def loss_and_gradient(objective, speaker):
    inputs = tiny.batch(len(HUMAN), HUMAN)
    slope, loss, _ = gradient(speaker, objective, inputs)
    return float(loss), slope


@pytest.mark.parametrize("normalize", ["sequence", "token"])
def test_the_whole_prefix_is_cross_entropy(normalize):
    speaker, mixed = tiny.TableSpeaker(1), MixedPrefix(4, 4)
    objective = TeacherForcing(normalize, decoder=mixed)
    found = loss_and_gradient(objective, speaker)
    expected = loss_and_gradient(TeacherForcing(normalize), speaker)
    for ours, theirs in zip(found, expected):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    # Nothing is left to reinforce.
    loss, slope = loss_and_gradient(ScoreFunction(Worth(), mixed), speaker)
    assert loss == 0.0 and not slope.any()


def test_no_prefix_is_a_sample():
    speaker, mixed = tiny.TableSpeaker(1), MixedPrefix(0, 3, seed=4)
    sample = Sample(Categorical(seed=4), 2, 3)
    found, plain = (said(speaker, decoder, 20) for decoder in (mixed, sample))
    for name in ("tokens", "mask", "log_probs", "words", "scores"):
        ours, theirs = getattr(found, name), np.array(getattr(plain, name))
        # Where there is no reference, nothing is said.
        theirs[1::2, 1] = 0
        np.testing.assert_array_equal(ours, theirs)
    assert not np.array(found.given).any()
    loss, _ = loss_and_gradient(TeacherForcing(decoder=mixed), speaker)
    assert loss == 0.0


@pytest.mark.parametrize("max_length", [3, 4, 6])
def test_a_prefix_is_given_and_the_rest_is_the_speakers(max_length):
    speaker, mixed = tiny.TableSpeaker(1), MixedPrefix(2, max_length, seed=0)
    found = said(speaker, mixed, 200)
    tokens, given = np.array(found.tokens), np.array(found.given)
    human = np.tile(HUMAN, (200, 1, 1))[..., :2]
    there = human > 0
    np.testing.assert_array_equal(tokens[..., :2][there], human[there])
    np.testing.assert_array_equal(given[..., :2], there)
    assert not given[..., 2:].any()
    # "4 2" has ended; the others go on in more than one way.
    assert not tokens[::2, 1, 2:].any()
    assert len({tuple(row) for row in tokens[::2, 0]}) > 1
    words = np.array(found.words)
    alive = np.array(found.mask) > 0
    np.testing.assert_array_equal(words.argmax(-1)[alive], tokens[alive])


def test_gradients_are_of_the_words_that_count():
    speaker, mixed = tiny.TableSpeaker(1), MixedPrefix(2, 4, seed=0)
    both = episode(speaker)
    said = both.rollout(mixed)
    scores, given = np.array(said.log_probs), np.array(said.given)
    count = np.array(said.nonempty).sum()
    assert count == 3
    cross, _ = TeacherForcing(decoder=mixed).loss(both)
    expected = -(scores * given).sum() / count
    np.testing.assert_allclose(cross, expected, rtol=1e-5, atol=1e-6)
    rewards = np.array(Worth()(said, both))
    reinforced, _ = ScoreFunction(Worth(), mixed).loss(both)
    own = (scores * (1 - given)).sum(-1)
    expected = -(rewards * own).sum() / count
    np.testing.assert_allclose(reinforced, expected, rtol=1e-5, atol=1e-6)


def test_the_prefix_may_be_annealed():
    speaker, mixed = tiny.TableSpeaker(1), MixedPrefix(4, 4)
    assert mixed.channel in TeacherForcing(decoder=mixed).layers()
    mixed.prefix.assign(1)
    given = np.array(episode(speaker).rollout(mixed).given)
    assert given[..., 0].sum() == 3 and not given[..., 1:].any()


def test_states_are_kept_for_who_asks():
    speaker = tiny.TableSpeaker(1)
    for keep in (False, True):
        mixed = MixedPrefix(2, 3, seed=4, keep_states=keep)
        states = said(speaker, mixed).states
        assert (states is not None) == keep
    assert states.shape == (2, 2, 3, 1)


def test_what_is_suppressed_may_be_given_and_is_not_drawn():
    speaker = tiny.TableSpeaker(1)
    plain, mixed = (
        said(speaker, MixedPrefix(2, 4, 0, suppress=unsaid), 100)
        for unsaid in ((), (4,))
    )
    own = np.array(mixed.tokens)[np.array(mixed.given) == 0]
    assert set(own) <= {0, 2, 3} and 4 in np.array(plain.tokens)[..., 2:]
    # Given words keep their probability, drawn ones are of what is left.
    scores, given = np.array(mixed.log_probs), np.array(mixed.given) > 0
    assert 4 in np.array(mixed.tokens)[given]
    np.testing.assert_array_equal(
        scores[given], np.array(plain.log_probs)[given]
    )
    last = np.array(mixed.tokens)[0::2, 0, 1:3]
    logits = np.array(speaker.table)[last[:, 0]][:, [2, 3]]
    chances = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    wanted = np.where(last[:, 1] == 2, chances[:, 0], chances[:, 1])
    np.testing.assert_allclose(scores[0::2, 0, 2], wanted, rtol=1e-4, atol=1e-6)
