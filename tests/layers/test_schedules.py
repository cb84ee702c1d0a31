"""Numbers of word channels that follow a schedule of the step."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tests import tiny
from tfcap.decoding import MixedPrefix
from tfcap.decoding import Sample
from tfcap.decoding import ScheduledSampling
from tfcap.layers import Categorical
from tfcap.layers import GumbelSoftmaxST
from tfcap.layers import PartialSamplingST
from tfcap.training import ExponentialTemperature

LOGITS = np.zeros((4, 5), "float32")
HALVED = keras.optimizers.schedules.ExponentialDecay(1.0, 1, 0.5)
#: What follows a schedule, by its name.
CHANNELS = {
    "rho": lambda schedule: PartialSamplingST(rho=schedule, seed=0),
    "temperature": lambda schedule: GumbelSoftmaxST(schedule, seed=0),
}
DECODERS = {
    "rho": lambda s: Sample(PartialSamplingST(s), 2, 3, feedback="relaxed"),
    "temperature": lambda s: Sample(Categorical(s), 2, 3),
    "prefix": lambda s: MixedPrefix(s, 3),
    "scheduled_sampling": lambda s: ScheduledSampling(s),
}


def values(channel):
    return {k: float(v) for k, v in channel.scheduled_values().items()}


@pytest.mark.parametrize("name", CHANNELS)
def test_a_call_in_training_is_a_step(name):
    channel = CHANNELS[name](HALVED)
    assert float(getattr(channel, name)) == 1.0
    channel(LOGITS, training=True)
    channel(LOGITS)
    assert values(channel) == {name: 0.5}
    run = tf.function(lambda x: channel(x, training=True))
    run(LOGITS), run(LOGITS)
    assert values(channel) == {name: 0.125}


@pytest.mark.parametrize("name", CHANNELS)
def test_a_schedule_is_saved_with_its_step(name, tmp_path):
    channel = CHANNELS[name](ExponentialTemperature(1.0, 0.5, 0.1))
    model = keras.Sequential([keras.Input((5,)), channel])
    for _ in range(3):
        model(LOGITS, training=True)
    model.save(tmp_path / "model.keras")
    (loaded,) = keras.saving.load_model(tmp_path / "model.keras").layers
    assert values(loaded) == values(channel)
    assert values(loaded)[name] == pytest.approx(np.exp(-1.5))


@pytest.mark.parametrize("name", DECODERS)
def test_a_decode_of_many_words_is_one_step(name):
    decoder, speaker = DECODERS[name](HALVED), tiny.TableSpeaker()
    references = np.array([[[3, 4, 2]]] * 4, "int32")

    def decode(training=True):
        state = speaker.begin(tiny.batch(4))
        return decoder.decode(speaker, state, references, training)

    decode()
    decode(training=False)
    assert values(decoder.channel) == {name: 0.5}
    tf.function(decode)()
    assert values(decoder.channel) == {name: 0.25}


def test_continuations_are_no_steps():
    decoder, speaker = (
        Sample(GumbelSoftmaxST(HALVED), 2, 3),
        tiny.TableSpeaker(),
    )
    state = speaker.begin(tiny.batch(4))
    rollout = decoder.decode(speaker, state, training=True)
    decoder.continuations(speaker, state, rollout, training=True)
    assert values(decoder.channel) == {"temperature": 0.5}


def test_what_is_passed_on_follows_the_schedule():
    channel = PartialSamplingST(
        keras.optimizers.schedules.PiecewiseConstantDecay([0], [1.0, 0.0])
    )
    relaxed, words = (np.max(channel(LOGITS, training=True)) for _ in range(2))
    assert relaxed == pytest.approx(0.2) and words == 1.0
    assert not channel.discrete


@pytest.mark.parametrize(
    "schedule",
    [lambda step: min(1.0, step), "cosine", ExponentialTemperature, None],
)
@pytest.mark.parametrize("name", CHANNELS)
def test_what_no_graph_can_compute_is_refused(name, schedule):
    with pytest.raises((TypeError, ValueError), match=f"`{name}` must be"):
        CHANNELS[name](schedule)


def test_the_cure_of_a_schedule_of_python_is_told():
    with pytest.raises(TypeError, match="keras.ops.minimum.* where Python"):
        PartialSamplingST(lambda step: min(1.0, step))
    PartialSamplingST(lambda step: ops.minimum(1.0, 0.1 * step))


@pytest.mark.parametrize("name", CHANNELS)
def test_a_schedule_that_starts_out_of_range_is_refused(name):
    with pytest.raises(ValueError, match=f"`{name}` must be.*-1.0 at step 0"):
        CHANNELS[name](lambda step: -1.0 - step)
