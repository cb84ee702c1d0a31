"""Networks whose adapters or dropout are switched off."""

import keras
import numpy as np
import pytest
from keras import ops

from tests import speakers
from tests import tiny
from tfcap import layers
from tfcap.decoding import Greedy
from tfcap.decoding import Sample
from tfcap.decoding.speaker import guided
from tfcap.layers import Categorical
from tfcap.layers.sequence_encoder import MaskedGRU
from tfcap.models import RetrievalListener
from tfcap.models import ShowTellSpeaker
from tfcap.models import WithoutAdapters
from tfcap.models import without_dropout
from tfcap.models.adapters import dropout_rates
from tfcap.models.adapters import uses_training
from tfcap.objectives import Episode
from tfcap.rewards import KLPenalty

BATCH = speakers.batch()
NOISE = {"dropout": 0.5, "word_dropout": 0.5, "image_dropout": 0.5}


def decoders(unroll):
    samples = Categorical(seed=0)
    return Greedy(9, unroll=unroll), Sample(samples, 3, 9, unroll=unroll)


@pytest.mark.parametrize("unroll", [True, False])
def test_it_says_what_it_said_before_it_was_adapted(unroll):
    keras.utils.set_random_seed(0)
    speaker = ShowTellSpeaker(30, units=8)
    batch = {"image": np.random.normal(size=(6, 1, 4)).astype("float32")}
    batch["caption"] = np.full((6, 1, 3), 5)
    speaker(batch)
    for weight in speaker.trainable_variables:
        weight.assign(keras.random.normal(weight.shape, stddev=0.7))

    def said(speaker):
        return [
            np.array(decoder.decode(speaker, speaker.begin(batch)).tokens)
            for decoder in decoders(unroll)
        ]

    before = said(speaker)
    speaker.state_gates.enable_lora(2)
    for weight in speaker.state_gates.trainable_variables:
        weight.assign(keras.random.normal(weight.shape, stddev=3.0))
    reference = WithoutAdapters(speaker)
    for one, other, adapted in zip(before, said(reference), said(speaker)):
        np.testing.assert_array_equal(one, other)
        assert (one != adapted).any()


class Adapted(tiny.TableSpeaker):
    """One of a user's own, without `logits()`, with a layer of that name."""

    def __init__(self):
        super().__init__(1)
        self.logits = keras.layers.Dense(5)
        self.logits.build((None, 5))
        self.logits.enable_lora(1)

    def step(self, words, state, training=False):
        logits, state = super().step(words, state, training)
        return self.logits(logits), state

    def unconditional(self, state):
        return state


def test_a_layer_called_logits_is_no_method():
    speaker = Adapted()
    reference = WithoutAdapters(speaker)
    episode = Episode(speaker, tiny.batch(3))
    samples = Sample(Categorical(seed=0), 2, 3, suppress=(4,))
    rollout = episode.rollout(samples).stop_gradient()
    # Adapters begin at 0.
    found = KLPenalty(reference)(rollout, episode)
    np.testing.assert_allclose(found, 0.0, atol=1e-5)
    same, state = guided(speaker, speaker.begin(tiny.batch(3)), 2.0)
    scores = same.log_probs(state, ops.cast(rollout.tokens, "int32"))
    np.testing.assert_allclose(
        scores,
        speaker.log_probs(speaker.begin(tiny.batch(3)), rollout.tokens),
        atol=1e-5,
    )


def logits(network):
    return np.asarray(network(BATCH, training=True))


@pytest.mark.parametrize("kind", list(speakers.KINDS))
def test_a_speaker_without_dropout_trains_as_it_infers(kind):
    own = {"block_dropout": 0.5} if kind == "transformer" else {}
    speaker = speakers.speaker(kind, **NOISE, **own)
    assert np.abs(logits(speaker) - np.asarray(speaker(BATCH))).max() > 0.1
    assert without_dropout(speaker) is speaker
    np.testing.assert_array_equal(logits(speaker), speaker(BATCH))
    assert not speaker.begin_uses_training
    again = type(speaker).from_config(speaker.get_config())
    again.build({"image": (None, None, 3)})
    again.set_weights(speaker.get_weights())
    np.testing.assert_array_equal(logits(again), again(BATCH))


def test_a_listener_without_dropout_trains_as_it_infers():
    noise = {"image_dropout": 0.5, "word_dropout": 0.5}
    listener = RetrievalListener(speakers.VOCABULARY, units=6, **noise)
    listener(BATCH)
    image = BATCH["image"]
    plain = np.asarray(listener.embed_images(image))
    noisy = listener.embed_images(image, training=True)
    assert np.abs(np.asarray(noisy) - plain).max() > 1e-3
    without_dropout(listener)
    noisy = listener.embed_images(image, training=True)
    np.testing.assert_array_equal(noisy, plain)


@pytest.mark.parametrize(
    "layer",
    [
        keras.layers.Dropout(0.5),
        keras.layers.LSTM(3, dropout=0.5, recurrent_dropout=0.5),
        MaskedGRU(3, recurrent_dropout=0.5),
        layers.AnswerEncoder(3, dropout=0.5),
    ],
    ids=lambda layer: type(layer).__name__,
)
def test_the_dropout_of_any_layer_is_turned_off(layer):
    words = np.random.default_rng(0).normal(size=(4, 5, 6)).astype("float32")
    plain = np.asarray(layer(words))
    assert np.abs(np.asarray(layer(words, training=True)) - plain).max() > 1e-3
    assert any(map(uses_training, layer._flatten_layers()))
    without_dropout(layer)
    noisy = np.asarray(layer(words, training=True))
    np.testing.assert_allclose(noisy, plain, atol=1e-6)
    assert not any(map(uses_training, layer._flatten_layers()))


def test_rates_are_numbers():
    layer = keras.layers.Layer()
    layer.dropout, layer.rate = keras.layers.Dropout(0.5), True
    layer.word_dropout = 1
    assert dropout_rates(layer) == {"word_dropout": 1.0}


def test_a_layer_that_draws_at_no_known_rate_may_differ_in_training():
    class Noise(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.seed_generator = keras.random.SeedGenerator(0)

    assert uses_training(Noise())
    assert uses_training(keras.layers.BatchNormalization())
    assert not uses_training(keras.layers.Dense(3))
