"""Sizes that no graph knows: `padded_batch()` and `ragged_batch()`."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tests import dialogs
from tests import tiny
from tests.methods import stranger
from tests.testing import same
from tfcap import decoding
from tfcap import layers
from tfcap import losses
from tfcap import methods
from tfcap import metrics
from tfcap import models
from tfcap import objectives
from tfcap import rewards
from tfcap.text import DocumentFrequencies
from tfcap.text import Vocabulary
from tfcap.training import JointTraining

WORDS = [[[5, 6, 2], [7, 2]], [[8, 6, 5, 2], [6, 2]], [[5, 2], [9, 9, 2]]]
RAGGED = tf.ragged.constant(WORDS, dtype="int32")
CAPTION = RAGGED.to_tensor().numpy()
BATCH = {
    "image": np.random.default_rng(0).normal(size=(3, 2, 3)).astype("float32"),
    "caption": CAPTION,
    "references": CAPTION,
}
VOCABULARY = Vocabulary(list("abcdefgh"))


@pytest.fixture(scope="module")
def networks():
    keras.utils.set_random_seed(0)
    options = {"vocabulary_size": VOCABULARY.size, "units": 4}
    made = {
        "lstm": models.ShowTellSpeaker(**options),
        "transformer": models.TransformerSpeaker(
            layers=1, heads=2, max_length=5, block_dropout=0.0, **options
        ),
        "listener": models.RetrievalListener(embedding_units=4, **options),
    }
    for network in made.values():
        network(BATCH)
    return made


def spec_of(batch, features=3):
    """Sizes of a batch of which no graph knows any but that of features."""
    return {
        key: tf.TensorSpec(
            (*[None] * (x.ndim - 1), features if x.dtype == "f4" else None),
            x.dtype,
        )
        for key, x in batch.items()
    }


def check_graph(make, batch):
    """A graph that knows no size but that of features has eager's values.

    Args:
        make: Callable that returns a function of a batch, with the same seeds
            at every call.
    """
    graph = tf.function(
        make(), input_signature=[spec_of(batch)], autograph=False
    )
    eager = make()({key: tf.constant(x) for key, x in batch.items()})
    same(graph(batch), eager, 1e-4, 1e-5)


def losses_of(speaker, *terms):
    """A function of a batch to the losses of objectives."""

    def found(inputs):
        episode = objectives.Episode(speaker, inputs, training=True)
        return [term.losses(episode) for term in terms]

    return found


@pytest.mark.parametrize("kind", ["lstm", "transformer"])
def test_given_words_have_the_scores_and_slopes_of_known_sizes(networks, kind):
    speaker = networks[kind]

    def scores(inputs):
        state, tokens = speaker.begin(inputs), inputs["caption"]
        loss = losses.SequenceCrossentropy(reduction=None)
        given = speaker.log_probs(state, tokens)
        given = tf.reduce_sum(given, -1) - 2 * loss(tokens, speaker(inputs))
        if kind == "transformer":  # whose state grows
            return given
        steps = decoding.stepwise_log_probs(speaker, state, tokens)
        return given + 3 * tf.reduce_sum(steps, -1)

    def slopes(inputs):
        with tf.GradientTape() as tape:
            found = scores(inputs)
        slopes = tape.gradient(found, speaker.trainable_variables)
        return found, [tf.convert_to_tensor(x) for x in slopes]

    check_graph(lambda: slopes, BATCH)


def test_objectives_and_listeners_of_unknown_sizes(networks):
    speaker, listener = networks["lstm"], networks["listener"]
    frequencies = DocumentFrequencies.from_references(WORDS, VOCABULARY)
    cider = rewards.CIDErD(frequencies, jit_compile=False) + rewards.ROUGEL()
    distance = rewards.PairwiseDiversity(jit_compile=False)
    hinge = losses.HingeRetrievalLoss()

    def make():
        options, human = {"max_length": 3}, decoding.GroundTruth()
        samples = decoding.Sample(layers.Categorical(seed=1), 2, **options)
        greedy = decoding.Greedy(**options)
        contrast = rewards.BidirectionalContrastive(listener, (human, greedy))
        above = objectives.DecoderBaseline(cider, greedy)
        scheduled = decoding.ScheduledSampling(0.5, seed=3)
        found = losses_of(
            speaker,
            objectives.ScoreFunction(cider, samples, above),
            objectives.ScoreFunction(distance, samples),
            objectives.ScoreFunction(contrast, human),
            objectives.TeacherForcing(decoder=scheduled),
            objectives.TeacherForcing(
                decoder=decoding.MixedPrefix(2, seed=4, **options)
            ),
        )
        return lambda x: (found(x), hinge(np.arange(3), listener(x)))

    check_graph(make, BATCH)


def test_ragged_batches_are_padded(networks):
    speaker = networks["lstm"]
    model = JointTraining(speaker, objectives.TeacherForcing())
    model.compile("sgd", run_eagerly=True)
    padded = model.test_on_batch(BATCH, return_dict=True)
    ragged = {**BATCH, "caption": RAGGED, "references": RAGGED}
    assert model.test_on_batch(ragged, return_dict=True) == padded
    loss = losses.SequenceCrossentropy()
    logits = speaker(ragged)
    np.testing.assert_array_equal(logits, speaker(BATCH))
    assert float(loss(RAGGED, logits)) == float(loss(CAPTION, logits))
    images = tf.ragged.constant([[[1.0]], [[1.0], [2.0]]])
    with pytest.raises(TypeError, match="must not hold ragged floats"):
        speaker({**BATCH, "image": images})


def test_what_must_be_known_is_named(networks):
    speaker = networks["transformer"]
    state = speaker.begin(BATCH)

    def trace(function):
        spec = tf.TensorSpec([None] * 3, tf.int32)
        tf.function(
            function, input_signature=[spec], autograph=False
        ).get_concrete_function()

    class Growing(tiny.TableSpeaker):
        def step(self, words, state, training=False):
            return super().step(words, state)[0], [ops.tile(state[0], (1, 2))]

    grown = Growing(), [tf.zeros((3, 1))]
    with pytest.raises(ValueError, match="whose state grows with every word"):
        trace(lambda x: decoding.stepwise_log_probs(*grown, x))
    processors = decoding.rollout.LogitsProcessors(no_repeat_ngram=2)
    with pytest.raises(ValueError, match="number is not known"):
        trace(
            lambda x: decoding.stepwise_log_probs(
                speaker, state, x, logits_processors=processors
            )
        )
    long = np.full((3, 1, 6), 5, "int32")
    spec = {**spec_of(BATCH), "image": tf.TensorSpec([3, 2, 3])}
    graph = tf.function(speaker, input_signature=[spec], autograph=False)
    with pytest.raises(tf.errors.InvalidArgumentError, match="max_length=5"):
        graph({**BATCH, "caption": long})


def test_dialogs_of_unknown_sizes_train_as_known_ones():
    def trained(eager):
        networks = dialogs.generator(), dialogs.discriminator()
        for network in networks:
            rng = np.random.default_rng(network.count_params())
            network.set_weights(
                [0.4 * rng.normal(size=w.shape) for w in network.get_weights()]
            )
        model = methods.gdis(*networks, seed=3, max_length=4)
        model.compile(keras.optimizers.SGD(0.05), run_eagerly=eager)
        inputs = dialogs.batches(4, shuffle=False).batch(0)
        if eager:
            logs = model.train_on_batch(inputs, return_dict=True)
            return networks[0].get_weights(), logs
        data = tf.data.Dataset.from_generator(
            lambda: iter([inputs]), output_signature=spec_of(inputs)
        )
        # Its end, a step without data, counts nothing.
        logs = model.fit(data, verbose=0).history
        return networks[0].get_weights(), {k: v[0] for k, v in logs.items()}

    same(trained(True), trained(False), 1e-5, 1e-6)


def vague(tensor):
    """The tensor, whose sizes a graph does not know."""
    if tf.executing_eagerly():
        return tensor
    shape = [None] * len(tensor.shape)
    return tf.compat.v1.placeholder_with_default(tensor, shape)


class Listener(stranger.Finder):
    """Loses the sizes of what it embeds, of images, texts, or both."""

    loses = "both"

    def embed_images(self, image, training=False):
        found = super().embed_images(image, training)
        return found if self.loses == "texts" else vague(found)

    def embed_texts(self, words, mask, training=False):
        found = super().embed_texts(words, mask, training)
        return found if self.loses == "images" else vague(found)

    def logits(self, images, texts):
        return vague(super().logits(images, texts))


class Classifier:
    """Tells of texts alone whether they are well formed."""

    def __init__(self, listener):
        self.listener = listener

    def logits(self, words, mask):
        return vague(tf.reduce_sum(self.listener.embed_texts(words, mask), -1))


class States(stranger.Storyteller):
    """Loses the size of its states."""

    def state_vector(self, state):
        return vague(state)


def made(kind):
    network = kind()
    network(stranger.batch())
    return stranger.fill(network, 2)


def in_samples(reward):
    """All that estimators make of the rewards of several samples."""
    samples = decoding.Sample(layers.Categorical(seed=1), 3, max_length=3)
    score = objectives.ScoreFunction
    return (
        score(reward, samples, objectives.LeaveOneOutBaseline())
        + score(rewards.Standardized(reward), samples)
        + objectives.StructureLoss(reward, samples)
        + objectives.ranking.PreferenceLoss(reward, samples, loss="simpo")
    )


# Methods have the other rewards of listeners.
@pytest.mark.parametrize(
    "kind, loses",
    [
        *((rewards.CLIPScore, x) for x in ("images", "texts", "both")),
        (lambda x: rewards.Grammar(Classifier(x)), "both"),
    ],
)
def test_rewards_of_listeners_that_lose_sizes(kind, loses):
    speaker, listener = stranger.speaker(), made(Listener)
    listener.loses = loses

    def make():
        return losses_of(speaker, in_samples(kind(listener)))

    check_graph(make, stranger.batch())


def test_critics_of_states_of_an_unknown_size():
    listener, units = made(Listener), {"state_units": stranger.UNITS}

    def make():
        keras.utils.set_random_seed(0)
        decoder = decoding.Sample(
            layers.Categorical(seed=1), 2, max_length=3, keep_states=True
        )
        critic = objectives.LearnedBaseline(**units)
        clip, size = rewards.CLIPScore(listener), stranger.VOCABULARY.size
        return losses_of(
            made(States),
            objectives.ScoreFunction(
                *(rewards.Retrieval(listener), decoder, critic),
                credit=objectives.GAE(critic),
            ),
            objectives.RELAX(
                clip, decoder, vocabulary_size=size, seed=2, **units
            ),
        )

    check_graph(make, stranger.batch())


class Critic(stranger.Critic):
    def logits(self, images, texts):
        return vague(super().logits(images, texts))


def made_critic():
    critic = Critic()
    critic((np.zeros((1, stranger.UNITS)), np.zeros((1, 1, stranger.UNITS))))
    return stranger.fill(critic, 3)


#: Methods whose listener, critic or evaluator learns, or is learned through.
METHODS = {
    "psst": lambda pair: methods.psst(*pair, **TRADE),
    "g_gan": lambda pair: methods.g_gan(*pair, num_continuations=2, **SHORT),
    "wtf_rl": lambda pair: methods.wtf_rl(
        *pair,
        made_critic(),
        beam_width=2,
        max_length=4,
        neighbors="neighbor_image",
        same="row",
        neighbor_same="neighbor_row",
    ),
    "retriever_ensemble": lambda pair: methods.retriever_ensemble(
        pair[0], [pair[1]], lambda_=1.0, **SHORT
    ),
}
SHORT = {"max_length": 3, "seed": 0}
TRADE = {"lambda_": 0.2, "naturalness": rewards.BLEU(2, jit_compile=False)}
TRADE |= SHORT


@pytest.mark.parametrize("name", METHODS)
def test_methods_with_listeners_that_lose_sizes(name):
    def make():
        keras.utils.set_random_seed(0)
        model = METHODS[name]((stranger.speaker(), made(Listener)))
        terms = [learner.objective for learner in model.learners.values()]
        return losses_of(model.speaker, *terms)

    check_graph(make, stranger.batch())


@pytest.mark.parametrize(
    "measure",
    [
        lambda x: losses.HingeRetrievalLoss()(np.arange(4), x),
        lambda x: losses.BidirectionalContrastiveLoss()(np.arange(4), x),
        lambda x: losses.NPairLoss()(
            np.eye(4, 3, dtype="float32"), x[:, 0, :3] + x[:, 1, :3]
        ),
        lambda x: metrics.ref_clip_score(x[:, 0], x[:, 1], x[:, 1:]),
    ],
    ids=["hinge", "contrast", "n_pair", "ref_clip_score"],
)
def test_losses_and_metrics_of_embeddings_of_unknown_sizes(measure):
    listener = stranger.listener()

    def found(inputs):
        images, texts = listener(inputs)
        both = tf.concat([images[:, None], texts], axis=1)
        return measure(vague(both))

    check_graph(lambda: found, stranger.batch())
