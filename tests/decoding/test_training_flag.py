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


def decoded(decoder):
    return lambda speaker, training: tiny.decode(
        decoder, speaker, 2, REFERENCES, training
    )


def continued(speaker, training):
    sample, plain = Sample(max_length=3, unroll=True), tiny.MemorySpeaker()
    said = tiny.decode(sample, plain)
    state = speaker.begin(tiny.batch(2))
    sample.continuations(speaker, state, said, 2, training=training)


def scored(speaker, training):
    state = speaker.begin(tiny.batch(2))
    stepwise_log_probs(speaker, state, REFERENCES, training)


RELAXED = Sample(GumbelSoftmaxST(), max_length=3, feedback="relaxed")
#: What reads words as the speaker trains; where words are drawn in a loop, it
#: is without dropout.
FAITHFUL = {
    "sample": decoded(Sample(max_length=3, unroll=True)),
    "relaxed": decoded(RELAXED),
    "prefix": decoded(MixedPrefix(1, max_length=3, unroll=True)),
    "continued": continued,
    "scored": scored,
}
SCHEDULED = decoded(ScheduledSampling(0.5, seed=0))


@pytest.mark.parametrize(
    ("way", "training"),
    [*((x, t) for x in FAITHFUL.values() for t in (True, False))]
    + [(SCHEDULED, True)],
)
def test_words_are_read_as_the_speaker_trains(way, training):
    speaker = Noted()
    way(speaker, training)
    assert {*speaker.trained} == {training}


@pytest.mark.parametrize("decoder", [Greedy(3), BeamSearch(2, 3)])
def test_what_is_searched_is_searched_without_dropout(decoder):
    speaker = Noted()
    decoded(decoder)(speaker, True)
    Episode(speaker, tiny.batch(2), training=True).rollout(decoder)
    assert {*speaker.trained} == {False}


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
