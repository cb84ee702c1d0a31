"""Greedy words and beams of a training step are those of inference."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tests import dialogs
from tests import speakers
from tfcap.decoding import BeamSearch
from tfcap.decoding import Greedy
from tfcap.decoding import GroundTruth
from tfcap.decoding import Sample
from tfcap.layers import Categorical
from tfcap.layers import LateFusionEncoder
from tfcap.models import DialogGenerator
from tfcap.objectives import DecoderBaseline
from tfcap.objectives import Episode
from tfcap.objectives import MonteCarlo
from tfcap.objectives import PrefixBaseline
from tfcap.objectives import ScoreFunction

BATCH = speakers.batch(images=12, samples=1)
DECODERS = [Greedy(max_length=5), BeamSearch(width=3, max_length=5)]


def ids(rollout, episode):
    """The sum of what a caption's words are called, its places counted."""
    places = 1.7 ** np.arange(rollout.tokens.shape[-1], dtype="float32")
    words = ops.cast(rollout.tokens, "float32")
    return ops.sum(words * places * rollout.mask, axis=-1)


class Counted:
    """A speaker whose calls of `begin()` are noted."""

    def __init__(self, speaker):
        self.speaker = speaker
        self.begun = []

    def __getattr__(self, name):
        return getattr(self.speaker, name)

    def begin(self, inputs, training=False):
        self.begun.append(training)
        return self.speaker.begin(inputs, training=training)


def dialog_generator(dropout):
    keras.utils.set_random_seed(3)
    encoder = LateFusionEncoder(
        8, output_units=6, dropout=dropout, return_state=True
    )
    batch = dialogs.batches(8).inputs(np.arange(8))
    size = dialogs.batches().dialogs.vocabulary.size
    made = DialogGenerator(size, encoder, 6, dropout=0.5)
    made(batch)
    made.head.kernel.assign(8.0 * made.head.kernel)
    return made, batch


def noisy(kind):
    """A speaker that reads with dropout in training, and a batch."""
    if kind == "dialog_generator":
        return dialog_generator(0.9)
    keras.utils.set_random_seed(3)
    arguments = {"dropout": 0.5, "word_dropout": 0.5, "image_dropout": 0.9}
    if kind == "transformer":
        arguments["block_dropout"] = 0.9
    made = speakers.speaker(kind, **arguments)
    made.head.kernel.assign(3.0 * made.head.kernel)
    return made, BATCH


@pytest.mark.parametrize("kind", [*speakers.KINDS, "dialog_generator"])
def test_words_of_inference_are_not_read_with_dropout(kind):
    speaker, batch = noisy(kind)
    counted = Counted(speaker)
    episode = Episode(counted, batch, training=True)
    plain = speaker.begin(batch)
    # Of a round that is absent, an episode has nothing said.
    there = np.array(episode.present) > 0
    for decoder in DECODERS:
        said = decoder.decode(speaker, plain)
        found = np.array(episode.rollout(decoder).tokens)
        np.testing.assert_array_equal(found[there], said.tokens[there])
        # The test would notice dropout.
        dropped = decoder.decode(speaker, episode.state)
        assert (np.array(dropped.tokens) != np.array(said.tokens)).any()
    assert counted.begun == [True, False]
    # A state that is given is that of all decoders.
    given, state = Counted(speaker), speaker.begin(batch, training=True)
    Episode(given, batch, state=state, training=True).rollout(DECODERS[0])
    assert given.begun == []


@pytest.mark.parametrize("kind", ["show_tell_every_step", "transformer"])
def test_a_batch_is_read_once_where_dropout_is_off(kind):
    still = speakers.speaker(kind, dropout=0.5, word_dropout=0.5)
    cases = [(still, BATCH, True), (noisy(kind)[0], BATCH, False)]
    if kind == "transformer":
        cases.append((*dialog_generator(0.0), True))
    for speaker, batch, training in cases:
        counted = Counted(speaker)
        episode = Episode(counted, batch, training=training)
        for decoder in DECODERS:
            episode.rollout(decoder)
        assert counted.begun == [training]


def test_layers_that_learn_moments_are_read_again():
    class Normalized(speakers.KINDS["show_tell_start"][0]):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.normal = keras.layers.BatchNormalization()

    plain = speakers.speaker("show_tell_start")
    assert not plain.begin_uses_training
    assert Normalized(13, units=6).begin_uses_training


def test_samples_and_beams_to_be_scored_keep_the_state_of_training():
    keras.utils.set_random_seed(3)
    speaker = speakers.speaker("show_tell_every_step", image_dropout=0.9)
    plain = speaker.begin(BATCH)
    sample = Sample(Categorical(seed=0), max_length=5)
    beams = DECODERS[1]
    episode = Episode(speaker, BATCH, training=True)
    said = sample.decode(speaker, episode.state)
    again = Sample(Categorical(seed=0), max_length=5)
    np.testing.assert_array_equal(episode.rollout(again).tokens, said.tokens)
    found = episode.rollout(beams)
    scores = speaker.log_probs(episode.state, found.tokens)
    np.testing.assert_allclose(episode.log_probs(found), scores, atol=1e-5)
    assert np.abs(scores - speaker.log_probs(plain, found.tokens)).max() > 0.1


@pytest.mark.parametrize("decoder", [*DECODERS, GroundTruth()])
def test_baselines_are_worth_what_inference_says(decoder):
    speaker, _ = noisy("att2in")
    episode = Episode(speaker, BATCH, training=True)
    said = decoder.decode(speaker, speaker.begin(BATCH), BATCH["caption"])
    expected = ops.mean(ids(said, episode), axis=1, keepdims=True)
    baseline = DecoderBaseline(ids, decoder)
    found = baseline(np.zeros((12, 1)), episode)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    credit = np.ones((12, 1, 5), "float32")
    first = PrefixBaseline(baseline)(credit, episode)[..., 0]
    np.testing.assert_allclose(first, expected, rtol=1e-6)


def test_continuations_go_on_as_the_sample_was_begun():
    seen = []

    class Told(Sample):
        def continuations(self, speaker, state, *args, **kwargs):
            seen.append((state, kwargs["training"]))
            return super().continuations(speaker, state, *args, **kwargs)

    speaker, _ = noisy("show_tell_every_step")
    episode = Episode(speaker, BATCH, training=True)
    sample = Told(Categorical(seed=0), max_length=3)
    greedy = DecoderBaseline(ids, Greedy(max_length=3))
    objective = ScoreFunction(
        ids, sample, PrefixBaseline(greedy), credit=MonteCarlo(1)
    )
    objective.loss(episode)
    ((state, training),) = seen
    assert training
    for ours, theirs in zip(state, episode.state):
        np.testing.assert_array_equal(ours, theirs)


def test_no_gradient_passes_to_what_inference_reads():
    speaker, _ = noisy("show_tell_every_step")
    with tf.GradientTape() as tape:
        episode = Episode(speaker, BATCH, training=True)
        total = sum(ops.sum(part) for part in episode.inference_state)
    assert tape.gradient(total, speaker.image_state.kernel.value) is None
