"""Dropout in decoders: with `training`, or never."""

import numpy as np
import pytest

from tests import speakers
from tests import tiny
from tfcap.decoding import BeamSearch
from tfcap.decoding import Greedy
from tfcap.decoding import MixedPrefix
from tfcap.decoding import Sample
from tfcap.decoding import ScheduledSampling
from tfcap.decoding import stepwise_log_probs
from tfcap.layers import GumbelSoftmaxST
from tfcap.objectives import Episode

REFERENCES = np.array([[[3, 4, 2]], [[4, 2, 0]]], "int32")


class Noted(tiny.MemorySpeaker):
    """Notes whether each step was one of training."""

    def __init__(self):
        super().__init__()
        self.trained = []

    def step(self, words, state, training=False):
        self.trained.append(training)
        return super().step(words, state, training)


def trained(decode):
    """True if the steps of a decode were of training: all or none."""
    speaker = Noted()
    decode(speaker, speaker.begin(tiny.batch(2)))
    (found,) = set(speaker.trained)
    return found


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(
    "decoder",
    [
        Sample(max_length=3),
        Sample(GumbelSoftmaxST(), max_length=3, feedback="relaxed"),
        MixedPrefix(1, max_length=3),
    ],
)
def test_what_is_drawn_is_drawn_as_the_speaker_trains(decoder, training):
    def decode(speaker, state):
        decoder.decode(speaker, state, REFERENCES, training=training)

    assert trained(decode) == training


def test_scheduled_words_are_drawn_as_the_speaker_trains():
    def decode(speaker, state):
        decoder = ScheduledSampling(0.5, seed=0)
        decoder.decode(speaker, state, REFERENCES, training=True)

    assert trained(decode)


@pytest.mark.parametrize("decoder", [Greedy(3), BeamSearch(2, 3)])
def test_what_is_searched_is_searched_without_dropout(decoder):
    def decode(speaker, state):
        decoder.decode(speaker, state, REFERENCES, training=True)

    assert not trained(decode)


@pytest.mark.parametrize("decoder", [Greedy(3), BeamSearch(2, 3)])
def test_a_training_episode_searches_without_dropout(decoder):
    def decode(speaker, state):
        batch = tiny.batch(2)
        Episode(speaker, batch, training=True).rollout(decoder)

    assert not trained(decode)


@pytest.mark.parametrize("training", [True, False])
def test_continuations_go_on_as_the_speaker_trains(training):
    sample = Sample(max_length=3)
    speaker = tiny.MemorySpeaker()
    said = sample.decode(speaker, speaker.begin(tiny.batch(2)))

    def decode(speaker, state):
        sample.continuations(speaker, state, said, 2, training=training)

    assert trained(decode) == training


@pytest.mark.parametrize("training", [True, False])
def test_given_words_are_scored_as_the_speaker_trains(training):
    def decode(speaker, state):
        stepwise_log_probs(speaker, state, REFERENCES, training)

    assert trained(decode) == training


@pytest.mark.parametrize("kind", list(speakers.KINDS))
@pytest.mark.parametrize("where", ["dropout", "word_dropout"])
def test_given_words_are_scored_with_the_dropout_of_each_place(kind, where):
    speaker = speakers.speaker(kind, **{where: 0.5})
    batch = speakers.batch()
    state, caption = speaker.begin(batch), batch["caption"]
    plain = np.array(speaker.log_probs(state, caption))
    noisy = np.array(speaker.log_probs(state, caption, training=True))
    # The first word follows the start token: it is embedded, too.
    assert (np.abs(noisy - plain)[caption > 0] > 1e-6).mean() > 0.5
