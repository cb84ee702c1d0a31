import keras
import numpy as np
import pytest

from tests import speakers
from tfcap import layers
from tfcap.layers.sequence_encoder import MaskedGRU
from tfcap.models import RetrievalListener
from tfcap.models import without_dropout
from tfcap.models.adapters import dropout_rates
from tfcap.models.adapters import uses_training

BATCH = speakers.batch()
NOISE = {"dropout": 0.5, "word_dropout": 0.5, "image_dropout": 0.5}


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
