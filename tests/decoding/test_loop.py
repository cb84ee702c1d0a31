"""Words drawn in a loop and read in one pass, against the unrolled decode."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tests import dialogs
from tests import speakers
from tests import tiny
from tfcap._ops import sequence_mask
from tfcap._ops.replicas import schedules_held
from tfcap.decoding import BeamSearch
from tfcap.decoding import Greedy
from tfcap.decoding import MixedPrefix
from tfcap.decoding import Rollout
from tfcap.decoding import Sample
from tfcap.decoding import ScheduledSampling
from tfcap.layers import Categorical
from tfcap.layers import GumbelSoftmaxST
from tfcap.layers import PartialSamplingST
from tfcap.layers import ProbabilityChannel

CHANNELS = {
    "categorical": lambda: Categorical(seed=3),
    "gumbel": lambda: GumbelSoftmaxST(0.7, seed=3),
    "gumbel_rho": lambda: GumbelSoftmaxST(
        0.7, 0.5, granularity="sample", seed=3
    ),
    "partial": lambda: PartialSamplingST(0.5, "batch", seed=3),
    "partial_step": lambda: PartialSamplingST(0.5, "step", seed=3),
    "probability": lambda: ProbabilityChannel(seed=3),
}


def decoded(speaker, inputs, decoder):
    """Rollout, and gradients of sums of log probabilities and of words."""
    rng = np.random.default_rng(0)
    with tf.GradientTape(persistent=True) as tape:
        state = speaker.begin(inputs, training=True)
        rollout = decoder.decode(speaker, state, training=True)
        weights = rng.normal(size=rollout.log_probs.shape)
        scores = ops.sum(rollout.log_probs * weights.astype("float32"))
        weights = rng.normal(size=rollout.words.shape)
        heard = ops.sum(rollout.words * weights.astype("float32"))
    variables = [v.value for v in speaker.trainable_variables]
    zero = tf.UnconnectedGradients.ZERO
    return rollout, [
        tf.convert_to_tensor(g)
        for of in (scores, heard)
        for g in tape.gradient(of, variables, unconnected_gradients=zero)
    ]


def assert_alike(make, speaker, inputs):
    """The two ways give the same, twice, from the same seeds."""
    ways = [make(unroll) for unroll in (True, False)]
    found, gradients = zip(*(decoded(speaker, inputs, x) for x in ways))
    for name in ("tokens", "mask", "words", "log_probs", "scores"):
        one, other = (getattr(rollout, name) for rollout in found)
        np.testing.assert_allclose(one, other, atol=2e-5, err_msg=name)
    assert found[0].discrete == found[1].discrete
    for one, other in zip(*gradients):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=5e-5)
    state = speaker.begin(inputs)
    again = [way.decode(speaker, state, training=True) for way in ways]
    np.testing.assert_array_equal(again[0].tokens, again[1].tokens)
    assert np.any(again[0].tokens != found[0].tokens)


@pytest.mark.parametrize("name", CHANNELS)
def test_every_channel_gives_what_it_gives_step_by_step(name):
    def make(unroll):
        return Sample(CHANNELS[name](), 3, max_length=4, unroll=unroll)

    speaker = tiny.MemorySpeaker(seed=1)
    assert_alike(make, speaker, tiny.batch(4))


PROCESSORS = {
    "no_repeat": {"no_repeat_ngram": 1},
    "no_repeat_pairs": {"no_repeat_ngram": 2, "suppress": (2,)},
    "top": {"top_k": 2, "top_p": 0.8},
}


@pytest.mark.parametrize("name", PROCESSORS)
def test_logits_are_processed_in_loop_and_pass(name):
    def make(unroll):
        return Sample(
            Categorical(seed=1), 3, 6, unroll=unroll, **PROCESSORS[name]
        )

    assert_alike(make, tiny.MemorySpeaker(seed=2), tiny.batch(4))


@pytest.fixture(scope="module")
def networks():
    """Speakers with batches, by their names."""
    batch = speakers.batch(images=2, positions=3)
    made = {kind: (speakers.speaker(kind), batch) for kind in speakers.KINDS}
    inputs = dialogs.batches().inputs(np.arange(2))
    return {**made, "dialog": (dialogs.generator(), inputs)}


@pytest.mark.parametrize(
    "kind, channel",
    [
        *((kind, "gumbel_rho") for kind in [*speakers.KINDS, "dialog"]),
        ("show_tell_start", "categorical"),
        ("transformer", "categorical"),
    ],
)
def test_every_speaker_gives_what_it_gives_step_by_step(
    networks, kind, channel
):
    def make(unroll):
        return Sample(CHANNELS[channel](), 2, max_length=4, unroll=unroll)

    assert_alike(make, *networks[kind])


@pytest.mark.parametrize("kind", ["up_down", "transformer"])
def test_greedy_says_the_same_in_a_loop(networks, kind):
    speaker, inputs = networks[kind]
    state = speaker.begin(inputs)
    options = {"max_length": 6, "no_repeat_ngram": 2, "suppress": (5,)}
    one, other = (
        Greedy(unroll=unroll, **options).decode(speaker, state)
        for unroll in (True, False)
    )
    for name in ("tokens", "mask", "log_probs", "scores"):
        np.testing.assert_allclose(
            getattr(one, name), getattr(other, name), atol=1e-5
        )


@pytest.mark.parametrize("kind", ["up_down", "transformer"])
def test_beams_are_the_same_in_a_loop(networks, kind):
    speaker, inputs = networks[kind]
    state = speaker.begin(inputs)
    options = {"max_length": 6, "no_repeat_ngram": 2, "groups": 2}
    one, other = (
        BeamSearch(4, unroll=unroll, **options).decode(speaker, state)
        for unroll in (True, False)
    )
    np.testing.assert_array_equal(one.tokens, other.tokens)
    np.testing.assert_allclose(one.scores, other.scores, atol=1e-5)


@pytest.mark.parametrize("kind", ["show_tell_every_step", "transformer"])
def test_states_are_kept_and_their_room_grows(networks, kind, monkeypatch):
    monkeypatch.setattr("tfcap.decoding.loop.ROOM", 2)

    def make(unroll):
        channel = CHANNELS["categorical"]()
        return Sample(channel, 2, 7, unroll=unroll, keep_states=True)

    speaker, inputs = networks[kind]
    assert_alike(make, speaker, inputs)
    state = speaker.begin(inputs)
    one, other = (make(x).decode(speaker, state) for x in (True, False))
    read = np.array(one.mask)[..., None]
    np.testing.assert_allclose(
        one.states * read, other.states * read, atol=1e-5
    )
    for decoder in (Greedy, lambda n, unroll: BeamSearch(3, n, unroll=unroll)):
        one, other = (decoder(7, unroll=x) for x in (True, False))
        np.testing.assert_array_equal(
            one.decode(speaker, state).tokens,
            other.decode(speaker, state).tokens,
        )


def test_a_state_has_no_more_room_than_is_needed(monkeypatch):
    monkeypatch.setattr("tfcap.decoding.loop.ROOM", 2)
    rooms = []

    class Brief(tiny.TableSpeaker):
        """Says three words and ends."""

        unroll = False

        def fixed_state(self, state, steps, room=None):
            rooms.append((steps, room))
            return state

        def extend_state(self, state, more):
            rooms.append(more)
            return state

        def step(self, words, state, training=False):
            state = [state[0] + 1]
            ends = ops.cast(state[0] > 3, "float32") * 99.0
            logits = np.array([-1e9, -1e9, 0.0, 9.0, 0.0], "float32")
            return logits + ends * np.eye(5, dtype="float32")[2], state

    speaker = Brief()
    said = Greedy(20).decode(speaker, speaker.begin(tiny.batch(1)))
    assert rooms == [(20, 2), 2, 2] and np.array(said.mask).sum() == 4


@pytest.mark.parametrize("kind", ["up_down", "transformer"])
@pytest.mark.parametrize("suppress", [(), (5,)])
def test_a_prefix_is_given_in_a_loop_as_step_by_step(networks, kind, suppress):
    speaker, inputs = networks[kind]
    told = speakers.batch(images=2)["caption"]
    told[1, 1] = 0
    state, found = speaker.begin(inputs), []
    for unroll in (True, False):
        mixed = MixedPrefix(
            *(2, 5, 3), keep_states=True, suppress=suppress, unroll=unroll
        )
        with tf.GradientTape() as tape:
            state = speaker.begin(inputs)
            said = mixed.decode(speaker, state, told, training=True)
            loss = ops.sum(said.log_probs * np.arange(1.0, 6.0, dtype="f"))
        found.append((said, tape.gradient(loss, speaker.head.kernel.value)))
        again = mixed.decode(speaker, state, told, training=True)
        found[-1] += (again.tokens,)
    (one, *others), (other, *more) = found
    for name in ("tokens", "mask", "given", "words", "log_probs", "scores"):
        np.testing.assert_allclose(
            getattr(one, name), getattr(other, name), atol=2e-5, err_msg=name
        )
    for a, b in zip(others, more):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=5e-5)


@pytest.mark.parametrize("kind", ["up_down", "transformer"])
def test_scheduled_words_are_drawn_in_a_loop_and_read_once(networks, kind):
    speaker, inputs = networks[kind]
    told, found = speakers.batch(images=2)["caption"], []
    for unroll in (True, False):
        decoder = ScheduledSampling(0.7, seed=1, unroll=unroll)
        for _ in range(2):
            with tf.GradientTape() as tape:
                state = speaker.begin(inputs)
                said = decoder.decode(speaker, state, told, training=True)
                loss = ops.sum(said.log_probs)
            slope = tape.gradient(loss, speaker.head.kernel.value)
            found.append((said.log_probs, slope))
    for one, other in zip(found[:2], found[2:]):
        for a, b in zip(one, other):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=5e-5)
    assert np.abs(found[0][0] - found[1][0]).max() > 1e-3


DECAY = keras.optimizers.schedules.PolynomialDecay(2.0, 10, 1.0)
ANNEALED = {
    "temperature": lambda x: Sample(GumbelSoftmaxST(DECAY), 2, 3, unroll=x),
    "rho": lambda x: Sample(
        PartialSamplingST(lambda step: 0.5), 2, 3, unroll=x
    ),
    "prefix": lambda x: MixedPrefix(DECAY, 3, unroll=x),
    "probability": lambda x: ScheduledSampling(lambda _: 0.5, unroll=x),
}


@pytest.mark.parametrize("unroll", [True, False])
@pytest.mark.parametrize("name", ANNEALED)
def test_a_decode_in_training_is_a_step_of_a_schedule(name, unroll):
    speaker, decoder = tiny.TableSpeaker(), ANNEALED[name](unroll)
    state = speaker.begin(tiny.batch(2))
    told = np.array([[[3, 4, 2]], [[4, 2, 0]]])
    for training, steps in ((True, 1), (False, 1), (True, 2)):
        decoder.decode(speaker, state, told, training=training)
        assert int(decoder.channel.step) == steps
    with schedules_held():
        decoder.decode(speaker, state, told, training=True)
    assert int(decoder.channel.step) == 2


@pytest.mark.parametrize("kind", ["up_down", "transformer"])
@pytest.mark.parametrize("prefixes", [None, (1, 3)])
def test_beginnings_are_continued_in_a_loop(
    networks, kind, prefixes, monkeypatch
):
    monkeypatch.setattr("tfcap.decoding.loop.ROOM", 2)
    speaker, inputs = networks[kind]
    told = speakers.batch(images=2, seed=3)["caption"]
    rollout = Rollout(told, sequence_mask(told, speakers.EOS))

    def continued(unroll, inputs, channel=None):
        channel = channel or Categorical(seed=2)
        decoder = Sample(channel, 2, 6, unroll=unroll)
        state = speaker.begin(inputs)
        return [
            decoder.continuations(speaker, state, rollout, 3, False, prefixes)
            for _ in range(2)
        ]

    wanted = continued(True, inputs)
    assert np.any(wanted[0].tokens != wanted[1].tokens)
    ways = [continued(False, inputs)]
    if prefixes and kind == "transformer":
        image, channel = inputs["image"], Categorical(seed=2)
        channel.build((None, speaker.vocabulary_size))
        unknown = tf.TensorSpec((None, *image.shape[1:]), "float32")

        @tf.function(input_signature=[unknown], autograph=False)
        def graph(image):
            said = continued(False, {"image": image}, channel)
            return [(each.tokens, each.mask) for each in said]

        ways.append([Rollout(*each) for each in graph(image)])
    for found in ways:
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(one.tokens, other.tokens)
            np.testing.assert_array_equal(one.mask, other.mask)


def test_a_step_is_traced_once_whatever_the_batch():
    speaker = speakers.speaker("transformer", layers=1)
    image = speakers.batch(images=2, positions=3)["image"]
    calls = []

    class Counting:
        vocabulary_size, bos, eos = speaker.vocabulary_size, 1, 2
        suppressed_ids = speaker.suppressed_ids

        def __getattr__(self, name):
            return getattr(speaker, name)

        def step(self, words, state, training=False):
            calls.append(words.shape)
            return speaker.step(words, state, training=True)

    def decode(image, unroll):
        channel = GumbelSoftmaxST(0.7, seed=3)
        decoder = Sample(channel, 2, max_length=5, unroll=unroll)
        variables = [v.value for v in speaker.trainable_variables]

        def call(image):
            with tf.GradientTape() as tape:
                state = speaker.begin({"image": image}, training=True)
                said = decoder.decode(Counting(), state, training=True)
                loss = ops.sum(said.log_probs) + ops.sum(said.words[..., 5])
            return said.tokens, tape.gradient(loss, variables)

        return call, channel

    unknown = tf.TensorSpec((None, *image.shape[1:]), "float32")
    looped, channel = decode(image, None)
    channel.build((None, speaker.vocabulary_size))
    options = {"input_signature": [unknown], "autograph": False}
    found = tf.function(looped, **options)(image)
    assert len(calls) == 1
    expected = decode(image, True)[0](image)
    np.testing.assert_array_equal(found[0], expected[0])
    for one, other in zip(found[1], expected[1]):
        if one is not None:
            one, other = map(tf.convert_to_tensor, (one, other))
            np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)


def test_the_score_function_is_unbiased_through_the_loop():
    """Mean of gradients, against that over everything that can be said."""
    speaker = tiny.TableSpeaker(seed=3)
    table = speaker.table.numpy()
    values = np.array([0.0, 0.0, 1.0, -2.0, 0.5], "float32")

    def expected_value(table):
        return sum(
            tiny.probability(table, caption) * values[caption].sum()
            for caption in tiny.captions(2)
        )

    exact = np.zeros_like(table)
    for index in itertools.product((1, 3, 4), tiny.WORDS):
        step = np.zeros_like(table)
        step[index] = 1e-3
        rise = expected_value(table + step) - expected_value(table - step)
        exact[index] = rise / 2e-3
    decoder = Sample(Categorical(seed=0), 40_000, max_length=2, unroll=False)
    inputs = tiny.batch(1)
    with tf.GradientTape() as tape:
        said = decoder.decode(speaker, speaker.begin(inputs), training=True)
        reward = np.sum(values[said.tokens.numpy()] * said.mask, axis=-1)
        loss = ops.mean((reward - reward.mean()) * said.scores)
    found = tape.gradient(loss, speaker.table.value)
    np.testing.assert_allclose(found, exact, atol=0.02)
    assert np.abs(exact).max() > 0.2


class Growing(tiny.TableSpeaker):
    """Its state holds all words so far."""

    def step(self, words, state, training=False):
        logits, _ = super().step(words, state)
        column = ops.cast(words[:, None], "float32")
        return logits, [ops.concatenate([state[0], column], axis=1)]


def test_a_state_that_grows_is_refused_or_unrolled():
    speaker = Growing()
    state = speaker.begin(tiny.batch(2))
    with pytest.raises(ValueError, match="shapes and types.*fixed_state"):
        Greedy(3, unroll=False).decode(speaker, state)
    assert Greedy(40).decode(speaker, state).tokens.shape == (2, 1, 40)


@pytest.mark.parametrize(
    "own, length, steps", [(None, 9, 9), (False, 9, 1), (None, 40, 2)]
)
def test_short_sequences_are_unrolled_unless_a_speaker_says_so(
    own, length, steps
):
    calls = []

    class Brief(tiny.TableSpeaker):
        """Ends after one word."""

        def step(self, words, state, training=False):
            calls.append(words)
            logits = np.array([-1e9, -1e9, 9.0, 0.0, 0.0], "float32")
            return ops.tile(logits[None], (ops.shape(words)[0], 1)), state

    if own is not None:
        Brief.unroll = own
    speaker = Brief()
    Greedy(length).decode(speaker, speaker.begin(tiny.batch(1)))
    assert len(calls) == steps


@pytest.mark.parametrize(
    "arguments",
    [
        {"feedback": "relaxed"},
        {"unroll": "never"},
    ],
)
def test_what_a_loop_cannot_do_is_refused(arguments):
    channel = GumbelSoftmaxST(seed=0)
    with pytest.raises(ValueError, match="`unroll` must"):
        Sample(channel, **{"unroll": False, **arguments})
