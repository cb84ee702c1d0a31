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
    run = tf.function(lambda x: channel(x, training=True), autograph=False)
    run(LOGITS), run(LOGITS)
    assert values(channel) == {name: 0.125}


class Cell(keras.layers.Layer):
    """A cell of an RNN that passes a word on."""

    def __init__(self, channel):
        super().__init__()
        self.channel, self.state_size, self.output_size = channel, 5, 5

    def build(self, shape):
        self.kernel = self.add_weight((5, 5))

    def call(self, x, states, training=False):
        logits = ops.matmul(states[0], self.kernel) + x
        words = self.channel(logits, training=training)
        return words, [words]


class Calls(keras.layers.Layer):
    """Calls a channel as a function does, of it and of logits."""

    def __init__(self, function, channel):
        super().__init__()
        self.function, self.channel = function, channel
        self.dense = keras.layers.Dense(5)

    def build(self, shape):
        self.dense.build(shape)
        self.channel.build(shape)

    def call(self, x, training=False):
        if not training:
            return self.dense(x)
        return self.function(
            lambda x: self.channel(x, training=True), self.dense(x)
        )


def in_rnn(unroll):
    return lambda channel: keras.layers.RNN(
        Cell(channel), return_sequences=True, unroll=unroll
    )


def called(function):
    return lambda channel: Calls(function, channel)


def in_while(call, x):
    _, total = tf.while_loop(
        lambda t, _: t < 3,
        lambda t, total: (t + 1, total + call(x[:, t])),
        (0, tf.zeros_like(x[:, 0])),
    )
    return x + total[:, None]


#: Ways to call a channel several times, or once, in a batch.
WAYS = {
    "once": called(lambda call, x: call(x)),
    "twice": called(lambda call, x: call(x) + call(2 * x)),
    "cell": in_rnn(False),
    "unrolled cell": in_rnn(True),
    "time distributed": keras.layers.TimeDistributed,
    "while": called(in_while),
    "map": called(lambda call, x: ops.map(call, x)),
    "branch": called(
        lambda call, x: tf.cond(
            tf.reduce_sum(x) < 1e9, lambda: call(x), lambda: x
        )
    ),
    "remat": called(lambda call, x: keras.remat(call)(x)),
}


class TwoCalls(keras.Model):
    """Calls itself twice in a step of its own."""

    def train_step(self, data):
        inputs, targets = data
        with tf.GradientTape() as tape:
            both = self(inputs, training=True) + self(inputs, training=True)
            loss = ops.mean(ops.square(both - targets))
        weights = self.trainable_variables
        self.optimizer.apply(tape.gradient(loss, weights), weights)
        return {"loss": loss}


def step_after_ten_batches(way, kind=keras.Model, known=True, **options):
    channel = GumbelSoftmaxST(HALVED, seed=0)
    inputs = keras.Input((3, 5))
    logits = keras.layers.Dense(5)(inputs)
    model = kind(inputs, WAYS[way](channel)(logits))
    model.compile("sgd", "mse", **options)
    rows = np.zeros((10, 3, 5), "float32")
    data = tf.data.Dataset.from_tensor_slices((rows, rows)).batch(1)
    if not known:
        data = data.filter(lambda *_: True)
    held_out = rows[:1], rows[:1]
    model.fit(data, validation_data=held_out, shuffle=False, verbose=0)
    return int(channel.step)


@pytest.mark.parametrize("way", WAYS)
def test_a_batch_is_one_step_however_often_a_channel_is_called(way):
    assert step_after_ten_batches(way) == 10


@pytest.mark.filterwarnings("ignore:Your input ran out of data")
@pytest.mark.parametrize(
    "way, options",
    [
        ("cell", {"steps_per_execution": 3}),
        ("while", {"steps_per_execution": 2}),
        ("cell", {"jit_compile": True}),
        ("cell", {"known": False}),
        ("cell", {"run_eagerly": True}),
        ("time distributed", {"run_eagerly": True}),
        ("twice", {"run_eagerly": True}),
        ("twice", {"kind": TwoCalls}),
        ("cell", {"kind": TwoCalls, "steps_per_execution": 2}),
    ],
    ids=str,
)
def test_a_batch_is_one_step_however_it_is_run(way, options):
    assert step_after_ten_batches(way, **options) == 10


def test_all_words_of_a_step_have_its_number():
    channel = GumbelSoftmaxST(HALVED, seed=0)
    seen = []

    @tf.function(autograph=False)
    def step(x):
        for _ in range(2):
            channel(x, training=True)
            seen.append(channel.temperature)
        return tf.stack(seen)

    for wanted in (1.0, 0.5):
        np.testing.assert_array_equal(step(LOGITS), [wanted] * 2)
    assert values(channel) == {"temperature": 0.25}


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
    tf.function(decode, autograph=False)()
    assert values(decoder.channel) == {name: 0.25}


def test_continuations_are_no_steps():
    decoder, speaker = DECODERS["rho"](HALVED), tiny.TableSpeaker()
    state = speaker.begin(tiny.batch(4))
    rollout = decoder.decode(speaker, state, training=True)
    decoder.continuations(speaker, state, rollout, training=True)
    assert values(decoder.channel) == {"rho": 0.5}


def test_what_is_passed_on_follows_the_schedule():
    channel = PartialSamplingST(
        keras.optimizers.schedules.PiecewiseConstantDecay([0], [1.0, 0.0])
    )
    relaxed, words = (np.max(channel(LOGITS, training=True)) for _ in range(2))
    assert relaxed == pytest.approx(0.2) and words == 1.0
    assert not channel.discrete


@pytest.mark.parametrize("name", CHANNELS)
@pytest.mark.parametrize(
    "schedule, told",
    [
        # What no graph can compute, with the cure.
        (lambda step: min(1.0, step), ".*keras.ops.minimum.* for .min"),
        *(("cosine", ""), (ExponentialTemperature, ""), (None, "")),
        (lambda step: -1.0 - step, ".*-1.0 at step 0"),
    ],
)
def test_what_is_no_schedule_is_refused(name, schedule, told):
    told = f"`{name}` must be{told}"
    with pytest.raises((TypeError, ValueError), match=told):
        CHANNELS[name](schedule)


def test_a_schedule_may_be_a_function_of_tensors():
    channel = PartialSamplingST(lambda step: ops.minimum(1.0, 0.1 * step))
    assert values(channel) == {"rho": 0.0}
