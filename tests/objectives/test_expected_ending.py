"""The gradient to the decision to stop, by enumeration."""

import itertools

import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tests import tiny
from tests.enumerated import WORTH
from tfcap.decoding import Sample
from tfcap.decoding.endings import SampleEndings
from tfcap.decoding.endings import every_ending
from tfcap.layers import Categorical
from tfcap.layers import GumbelSoftmaxST
from tfcap.layers import PartialSamplingST
from tfcap.layers import SoftEmbedding
from tfcap.models import RetrievalListener
from tfcap.objectives import Episode
from tfcap.objectives import ExpectedEnding
from tfcap.objectives import Pathwise
from tfcap.rewards import BidirectionalContrastive
from tfcap.rewards import Retrieval
from tfcap.rewards import Reward
from tfcap.rewards.retrieval import embedded_texts

LENGTH = 3
#: What the speaker goes on with, in all ways; and how sequences may end.
GOING = np.array(list(itertools.product((3, 4), repeat=LENGTH)), "int32")
SAID = tiny.captions(LENGTH)


class Squared(Reward):
    """Nothing of it is a sum over words; rows weigh as they are likely."""

    differentiable = True
    name = "squared"

    def __init__(self, weights=1.0):
        self.weights = weights

    def call(self, rollout, episode):
        vectors = rollout.listener_inputs
        if len(vectors.shape) == 3:
            vectors = ops.one_hot(vectors, tiny.VOCABULARY)
            vectors = vectors * rollout.mask[..., None]
        worth = ops.sum(ops.matmul(vectors, WORTH), axis=-1)
        return self.weights * (worth**2 - worth)


class Told(PartialSamplingST):
    """Says what it is told; `stops` are the numbers that decide the ends."""

    def __init__(self, words=None, stops=None):
        super().__init__(0.0, seed=0)
        self.told, self.stops = words, stops

    def decoding(self, rows):
        self.steps = None if self.told is None else iter(self.told.T)
        return super().decoding(rows)

    def sample(self, probabilities, noise=None):
        if self.told is None:
            return super().sample(probabilities, noise)
        return self.one_hot(next(self.steps), probabilities)

    def uniform(self, shape, minval=0.0):
        if self.stops is None:
            return super().uniform(shape, minval)
        return ops.convert_to_tensor(self.stops, "float32")


def flat(tape, value, speaker):
    """The gradient by all weights of a speaker, in one row."""
    slopes = tape.gradient(value, [v.value for v in speaker.weights])
    return np.concatenate([np.ravel(x) for x in slopes])


def exact(speaker):
    """Chances of captions, and the gradient of their expected reward."""
    worth = WORTH[SAID].sum(-1)
    with tf.GradientTape() as tape:
        chances = tiny.chances(speaker, LENGTH)
        value = tf.reduce_sum(chances * (worth**2 - worth))
    return chances.numpy(), flat(tape, value, speaker)


def slope(speaker, objective, rows):
    with tf.GradientTape() as tape:
        loss, logs = objective.loss(Episode(speaker, tiny.batch(rows)))
    return -flat(tape, loss, speaker), loss, logs


@pytest.fixture(scope="module")
def speaker():
    return tiny.MemorySpeaker(seed=1)


def going_on(speaker):
    """Chances of the words that a speaker goes on with, where it never ends."""
    state, chances = speaker.begin(tiny.batch(len(GOING))), 1.0
    words = np.full(len(GOING), tiny.BOS)
    for step in GOING.T:
        logits, state = speaker.step(words, state)
        logits = logits.numpy()[:, 3:]
        p = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
        chances, words = chances * p[np.arange(len(p)), step - 3], step
    return chances


def test_endings_have_the_probabilities_of_all_captions(speaker):
    decoder = SampleEndings(Sample(Told(GOING), max_length=LENGTH))
    episode = Episode(speaker, tiny.batch(len(GOING)))
    rollout = episode.rollout(decoder)
    every = every_ending(rollout)
    assert every.tokens.shape == (len(GOING), LENGTH + 1, LENGTH)
    chances = np.exp(rollout.endings.log_probs)[:, 0]
    np.testing.assert_allclose(chances.sum(-1), 1, rtol=1e-5)
    total = {}
    joint = (going_on(speaker)[:, None] * chances).ravel()
    for caption, p in zip(np.reshape(every.tokens, (-1, LENGTH)), joint):
        total[tuple(caption)] = total.get(tuple(caption), 0.0) + p
    wanted, _ = exact(speaker)
    found = [total[tuple(caption)] for caption in SAID]
    np.testing.assert_allclose(found, wanted, rtol=1e-4)
    # What is said is one of these, scored as the speaker scores it.
    drawn = np.argmax(every.endings.drawn, axis=-1)[:, 0]
    picked = np.array(every.tokens)[np.arange(len(GOING)), drawn]
    np.testing.assert_array_equal(rollout.tokens[:, 0], picked)
    np.testing.assert_allclose(
        rollout.log_probs, speaker.log_probs(episode.state, rollout.tokens),
        rtol=1e-4, atol=1e-5,
    )  # fmt: skip


def test_with_one_word_to_go_on_with_the_gradient_is_exact(speaker):
    decoder = Sample(
        PartialSamplingST(0.0, seed=0),
        max_length=LENGTH,
        suppress=(4,),
    )
    found, loss, logs = slope(speaker, ExpectedEnding(Squared(), decoder), 2)
    with tf.GradientTape() as tape:
        state, total, alive = speaker.begin(tiny.batch(1)), 0.0, 1.0
        words = tf.constant([tiny.BOS])
        for t in range(LENGTH + 1):
            worth = 2.0 * t + (0.5 if t < LENGTH else 0.0)
            if t == LENGTH:
                total += alive * (worth**2 - worth)
                break
            logits, state = speaker.step(words, state)
            end = tf.nn.softmax(logits[0, 2:4])[0]
            total += alive * end * (worth**2 - worth)
            alive, words = alive * (1 - end), tf.constant([3])
    wanted = flat(tape, total, speaker)
    assert np.abs(wanted).max() > 0.1
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(logs["squared"], total, rtol=1e-4)
    np.testing.assert_allclose(loss, -total, rtol=1e-4)


def test_the_bias_falls_to_that_of_sequences_of_fixed_length(speaker):
    """The exact mean of the estimator, over all that may be drawn."""
    chances, wanted = exact(speaker)

    def bias(words, likely, made):
        weights = (likely * len(likely))[:, None].astype("float32")
        decoder = Sample(Told(words), max_length=LENGTH, feedback="relaxed")
        objective = made(Squared(weights), decoder)
        found, *_ = slope(speaker, objective, len(words))
        return np.linalg.norm(found - wanted) / np.linalg.norm(wanted)

    sampled = bias(SAID, chances, Pathwise)
    expected = bias(GOING, going_on(speaker), ExpectedEnding)
    assert expected < 0.6 * sampled and sampled > 0.5, (sampled, expected)


def test_a_loop_draws_and_differentiates_as_an_unrolled_decode(speaker):
    found = []
    for unroll in (True, False):
        decoder = Sample(
            GumbelSoftmaxST(0.7, 0.5, seed=3), 2, LENGTH, unroll=unroll
        )
        slopes, loss, _ = slope(speaker, ExpectedEnding(Squared(), decoder), 4)
        found.append(np.append(slopes, loss))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-4, atol=1e-5)


def test_all_endings_embed_by_one_look_up(speaker):
    embed = SoftEmbedding(tiny.VOCABULARY, 3)
    embed.build((None, tiny.VOCABULARY))
    table = embed.embeddings.value
    rollout = Episode(speaker, tiny.batch(4)).rollout(
        SampleEndings(Sample(PartialSamplingST(0.5, seed=1), 2, LENGTH))
    )
    source, slopes = rollout.endings.words, []
    weights = np.random.default_rng(0).normal(size=(4, 8, LENGTH, 3))
    for embedded in (embed, lambda x: tf.matmul(x + 0.0, table)):
        with tf.GradientTape() as tape:
            tape.watch([source, table])
            value = embedded(every_ending(rollout).words)
            total = tf.reduce_sum(value * weights.astype("float32"))
        slopes.append([value, *tape.gradient(total, [source, table])])
    for a, b in zip(*slopes):
        np.testing.assert_allclose(a, tf.convert_to_tensor(b), atol=1e-5)


@pytest.mark.parametrize("pooling", ["last", "mean", "max", None])
def test_a_listener_reads_a_word_of_all_endings_once(speaker, pooling):
    listener = RetrievalListener(
        tiny.VOCABULARY, 4, 3, pooling=pooling, bag_of_words=pooling != "last"
    )
    listener.build({"image": (None, 1, 2)})
    decoder = SampleEndings(Sample(PartialSamplingST(0.5, seed=1), 2, LENGTH))
    rollout = Episode(speaker, tiny.batch(4)).rollout(decoder)
    rollout = rollout.masked(np.float32([[1.0], [0.0], [1.0], [1.0]]))
    found = []
    for embedder in (listener, Plain(listener)):
        with tf.GradientTape() as tape:
            tape.watch(rollout.endings.words)
            texts = embedded_texts(embedder, every_ending(rollout))
            value = tf.reduce_sum(texts * np.arange(4.0, dtype="float32"))
        slopes = tape.gradient(
            value, [rollout.endings.words, *listener.trainable_variables[2:]]
        )
        found.append([texts, *map(tf.convert_to_tensor, slopes)])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


class Plain:
    """A listener that reads every ending from its beginning."""

    def __init__(self, listener):
        self.embed_texts = listener.embed_texts


class Pair:
    """Embeds two images, and texts by what is said and for how long."""

    def __init__(self):
        rng = np.random.default_rng(5)
        self.words = rng.normal(size=(LENGTH, tiny.VOCABULARY, 4))

    def embed_images(self, image, training=False):
        return ops.convert_to_tensor(image[:, 0])

    def embed_texts(self, words, mask, training=False):
        table = self.words.astype("float32")[: mask.shape[-1]]
        if len(words.shape) == 3:
            words = ops.one_hot(words, tiny.VOCABULARY)
        return ops.einsum("bstv,tvd,bst->bsd", words, table, mask)


@pytest.mark.parametrize("negatives", ["hardest", 0.4])
def test_it_is_exact_for_captions_that_are_each_others_negatives(negatives):
    """The mean over all that both captions may be, of two learners' stops."""
    speaker = tiny.MemorySpeaker(seed=2)
    images = np.random.default_rng(3).normal(size=(2, 1, 4)).astype("float32")
    inputs = {**tiny.batch(2), "image": images}
    reward = Retrieval(Pair(), 0.7, negatives)
    cells = {}

    def loss(stops):
        sample = Sample(Told(stops=stops), max_length=2, suppress=(4,))
        term = ExpectedEnding(reward, sample, reduction="sum")
        episode = Episode(speaker, inputs)
        value, _ = term.loss(episode)
        return value, episode.rollout(term.decoder), episode

    _, rollout, _ = loss([0.5, 0.5])
    chances = np.exp(rollout.endings.log_probs)[0, 0]
    middles = np.cumsum(chances) - chances / 2
    found, wanted = 0.0, 0.0
    for i, j in itertools.product(range(3), repeat=2):
        with tf.GradientTape(persistent=True) as tape:
            value, rollout, episode = loss([middles[i], middles[j]])
            ends = rollout.endings.log_probs[:, 0]
            joint = tf.exp(ends[0, i] + ends[1, j])
            plain = rollout.stop_gradient()
            worth = tf.stop_gradient(tf.reduce_sum(reward(plain, episode)))
            total = joint * worth
        cells[i, j] = float(worth)
        weight = chances[i] * chances[j]

        found = found - weight * flat(tape, value, speaker)
        wanted = wanted + flat(tape, total, speaker)
    assert np.ptp(list(cells.values())) > 0.1 and np.abs(wanted).max() > 0.01
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-5)


def test_what_it_cannot_be_expected_of_is_refused():
    decoder = Sample(PartialSamplingST())
    with pytest.raises(ValueError, match="must emit words that carry"):
        ExpectedEnding(Squared(), Sample(Categorical()))
    for reward in (
        BidirectionalContrastive(Pair()),
        Retrieval(Pair()) + BidirectionalContrastive(Pair()),
    ):
        with pytest.raises(ValueError, match="`reward` must not compare"):
            ExpectedEnding(reward, decoder)
    ExpectedEnding(Retrieval(Pair()) + Squared(), decoder)
    speaker = tiny.TableSpeaker()
    speaker.eos = (2, 3)
    with pytest.raises(ValueError, match="must have one end token"):
        ExpectedEnding(Squared(), decoder).loss(Episode(speaker, tiny.batch(1)))
