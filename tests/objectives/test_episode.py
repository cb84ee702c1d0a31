import numpy as np

from tests import tiny
from tfcap.decoding import BeamSearch
from tfcap.decoding import Greedy
from tfcap.decoding import Sample
from tfcap.decoding import stepwise_log_probs
from tfcap.layers import Categorical
from tfcap.objectives import Episode

REFERENCES = [[[3, 2], [4, 2]], [[2, 0], [0, 0]], [[0, 0], [0, 0]]]


class Attentive(tiny.TableSpeaker):
    """Remembers what was asked of it."""

    def __init__(self):
        super().__init__()
        self.begun, self.scored = [], []

    def begin(self, inputs, training=False):
        self.begun.append(training)
        return super().begin(inputs, training)

    def log_probs(self, state, tokens, training=False):
        self.scored.append(training)
        return super().log_probs(state, tokens, training)


def episode(**arguments):
    speaker = Attentive()
    return Episode(speaker, tiny.batch(3, REFERENCES), **arguments)


def test_the_batch_is_read_once_and_words_are_said_when_asked_for():
    made = episode(training=True)
    greedy, sample = Greedy(max_length=2), Sample(max_length=2)
    assert made.rollout(greedy) is made.rollout(greedy)
    assert made.rollout(sample) is not made.rollout(Sample(max_length=2))
    # With dropout for the sample, and without for the greedy words.
    assert made.speaker.begun == [True, False]


def test_references_carry_their_masks_and_tell_which_rows_are_there():
    made = episode()
    np.testing.assert_array_equal(made.references.tokens, REFERENCES)
    expected = [[[1, 1], [1, 1]], [[1, 0], [0, 0]], [[0, 0], [0, 0]]]
    np.testing.assert_array_equal(made.references.mask, expected)
    np.testing.assert_array_equal(made.present, [1, 1, 0])


def test_words_are_scored_again_only_where_they_were_not():
    made = episode(training=True)
    sample = Sample(Categorical(seed=0), max_length=2, unroll=True)
    said = made.rollout(sample)
    assert made.log_probs(said) is said.log_probs
    assert made.speaker.scored == []
    found = made.rollout(BeamSearch(width=2, max_length=2))
    expected = stepwise_log_probs(made.speaker, made.state, found.tokens)
    np.testing.assert_allclose(made.log_probs(found), expected, atol=1e-6)
    assert made.speaker.scored == [True]
