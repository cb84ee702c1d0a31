"""Words drawn in a loop and read in one pass, against the unrolled decode."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tests import dialogs
from tests import speakers
from tests import tiny
from tests.enumerated import exact_gradient
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


def decoded(speaker, inputs, decoder, told=None):
    """Rollout, and gradients of sums of log probabilities and of words."""
    rng, sums = np.random.default_rng(0), []
    with tf.GradientTape(persistent=True) as tape:
        state = speaker.begin(inputs, training=True)
        rollout = decoder.decode(speaker, state, told, training=True)
        for part in (rollout.log_probs, rollout.words):
            if part is not None:
                weights = rng.normal(size=part.shape).astype("float32")
                sums.append(ops.sum(part * weights))
    variables = [v.value for v in speaker.trainable_variables]
    zero = tf.UnconnectedGradients.ZERO
    return rollout, [
        tf.convert_to_tensor(g)
        for of in sums
        for g in tape.gradient(of, variables, unconnected_gradients=zero)
    ]


def assert_alike(make, speaker, inputs, told=None):
    """The two ways give the same, twice, from the same seeds."""
    ways = [make(unroll) for unroll in (True, False)]
    found, gradients = zip(
        *(decoded(speaker, inputs, way, told) for way in ways)
    )
    for name in ("tokens", "mask", "given", "words", "log_probs", "scores"):
        one, other = (getattr(rollout, name) for rollout in found)
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_allclose(one, other, atol=2e-5, err_msg=name)
    assert found[0].discrete == found[1].discrete
    for one, other in zip(*gradients):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=5e-5)
    state = speaker.begin(inputs)
    one, other = (
        way.decode(speaker, state, told, training=True) for way in ways
    )
    np.testing.assert_array_equal(one.tokens, other.tokens)
    np.testing.assert_allclose(one.log_probs, other.log_probs, atol=2e-5)
    if told is None:
        assert np.any(one.tokens != found[0].tokens)


PROCESSORS = {
    "no_repeat": {"no_repeat_ngram": 1},
    "no_repeat_pairs": {"no_repeat_ngram": 2, "suppress": (2,)},
    "top": {"top_k": 2, "top_p": 0.8},
}


@pytest.mark.parametrize(
    ("channel", "processors"),
    [*((name, None) for name in CHANNELS)]
    + [("categorical", name) for name in PROCESSORS],
)
def test_a_sample_is_what_it_is_step_by_step(channel, processors):
    length, options = 4, {}
    if processors:
        length, options = 6, PROCESSORS[processors]

    def make(unroll):
        return Sample(CHANNELS[channel](), 3, length, unroll=unroll, **options)

    seed = 2 if processors else 1
    assert_alike(make, tiny.MemorySpeaker(seed), tiny.batch(4))


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
@pytest.mark.parametrize(
    "make",
    [
        lambda x: Greedy(6, (5,), no_repeat_ngram=2, unroll=x),
        lambda x: BeamSearch(4, 6, no_repeat_ngram=2, groups=2, unroll=x),
    ],
)
def test_searches_find_the_same_in_a_loop(networks, kind, make, monkeypatch):
    monkeypatch.setattr("tfcap.decoding.loop.ROOM", 2)
    speaker, inputs = networks[kind]
    state = speaker.begin(inputs)
    one, other = (make(x).decode(speaker, state) for x in (True, False))
    for name in ("tokens", "mask", "scores"):
        np.testing.assert_allclose(
            getattr(one, name), getattr(other, name), atol=1e-5
        )


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
@pytest.mark.parametrize(
    "make",
    [
        lambda x: MixedPrefix(2, 5, 3, unroll=x),
        lambda x: MixedPrefix(2, 5, 3, suppress=(5,), unroll=x),
        lambda x: ScheduledSampling(0.7, seed=1, unroll=x),
    ],
)
def test_human_words_are_given_in_a_loop_as_step_by_step(networks, kind, make):
    told = speakers.batch(images=2)["caption"]
    told[1, 1] = 0
    assert_alike(make, *networks[kind], told)


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


def test_a_step_is_traced_once_whatever_the_batch(monkeypatch):
    speaker = speakers.speaker("transformer", layers=1)
    image = speakers.batch(images=2, positions=3)["image"]
    variables = [v.value for v in speaker.trainable_variables]
    calls, step = [], speaker.step

    def counting(words, state, training=False):
        calls.append(words.shape)
        return step(words, state, training)

    monkeypatch.setattr(speaker, "step", counting)

    def decode(image, channel, unroll=None):
        decoder = Sample(channel, 2, max_length=5, unroll=unroll)
        with tf.GradientTape() as tape:
            state = speaker.begin({"image": image}, training=True)
            said = decoder.decode(speaker, state, training=True)
            loss = ops.sum(said.log_probs) + ops.sum(said.words[..., 5])
        zero = tf.UnconnectedGradients.ZERO
        return said.tokens, *tape.gradient(
            loss, variables, unconnected_gradients=zero
        )

    channel = CHANNELS["gumbel"]()
    channel.build((None, speaker.vocabulary_size))
    unknown = tf.TensorSpec((None, *image.shape[1:]), "float32")
    options = {"input_signature": [unknown], "autograph": False}
    looped = tf.function(lambda x: decode(x, channel), **options)
    found = looped(image)
    assert len(calls) == 1
    expected = decode(image, CHANNELS["gumbel"](), True)
    np.testing.assert_array_equal(found[0], expected[0])
    for one, other in zip(found[1:], expected[1:]):
        one, other = map(tf.convert_to_tensor, (one, other))
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)


def test_the_score_function_is_unbiased_through_the_loop():
    """Mean of gradients, against that over everything that can be said."""
    speaker = tiny.TableSpeaker(seed=3)
    values = np.array([0.0, 0.0, 1.0, -2.0, 0.5], "float32")
    exact = exact_gradient(speaker, lambda tokens: values[tokens].sum(-1))
    decoder = Sample(Categorical(seed=0), 40_000, max_length=2, unroll=False)
    with tf.GradientTape() as tape:
        said = tiny.decode(decoder, speaker, 1, training=True)
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
    with pytest.raises(ValueError, match="shapes and types.*fixed_state"):
        tiny.decode(Greedy(3, unroll=False), speaker)
    said = tiny.decode(Greedy(40), speaker)
    assert said.tokens.shape == (2, 1, 40)


@pytest.mark.parametrize(
    "own, length, steps", [(None, 9, 9), (False, 9, 1), (None, 40, 2)]
)
def test_short_sequences_are_unrolled_unless_a_speaker_says_so(
    own, length, steps
):
    calls = []

    class Brief(tiny.FixedSpeaker):
        def step(self, words, state, training=False):
            calls.append(words)
            return super().step(words, state)

    speaker = Brief([-1e9, -1e9, 9.0, 0.0, 0.0])
    if own is not None:
        speaker.unroll = own
    Greedy(length).decode(speaker, speaker.begin(None))
    assert len(calls) == steps
