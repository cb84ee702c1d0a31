import keras
import numpy as np
import pytest
import tensorflow as tf

from tests import tiny
from tests.losses.test_hinge_retrieval_loss import oracle
from tfcap.decoding import GroundTruth
from tfcap.decoding import Sample
from tfcap.layers import Categorical
from tfcap.layers import PartialSamplingST
from tfcap.models import RetrievalListener
from tfcap.objectives import DecoderBaseline
from tfcap.objectives import Episode
from tfcap.objectives import Pathwise
from tfcap.objectives import ScoreFunction
from tfcap.rewards import BidirectionalContrastive
from tfcap.rewards import CLIPScore
from tfcap.rewards import Retrieval

RNG = np.random.default_rng(0)
HUMAN = np.array(
    [[[3, 4, 2]], [[4, 3, 2]], [[3, 3, 2]], [[4, 2, 0]], [[2, 0, 0]]], "int32"
)
INPUTS = {
    "rows": np.zeros((5, 1), "float32"),
    "image": RNG.normal(size=(5, 2, 4)).astype("float32"),
    "more": RNG.normal(size=(3, 2, 4)).astype("float32"),
    "image_id": np.array([8, 9, 8, 7, 6]),
    "references": HUMAN,
}


def learners(**arguments):
    keras.utils.set_random_seed(0)
    listener = RetrievalListener(
        tiny.VOCABULARY,
        units=6,
        embedding_units=4,
        embeddings_initializer="normal",
        **arguments,
    )
    listener({"image": INPUTS["image"], "caption": HUMAN})
    return tiny.TableSpeaker(0), listener


def soft():
    channel = PartialSamplingST(rho=0.5, seed=0)
    return Sample(channel, num_samples=2, max_length=3, feedback="relaxed")


@pytest.mark.parametrize("arguments", [{}, {"distractors": "more"}])
@pytest.mark.parametrize("same", [None, "image_id"])
def test_is_minus_the_hinges_of_every_sample(arguments, same):
    speaker, listener = learners()
    reward = Retrieval(listener, 0.5, "hardest", same=same, **arguments)
    episode = Episode(speaker, INPUTS)
    rollout = episode.rollout(soft())
    found = reward(rollout, episode)
    images, more = (
        listener.embed_images(INPUTS[key]).numpy() for key in ("image", "more")
    )
    texts = listener.embed_texts(rollout.words, rollout.mask).numpy()
    wanted = oracle(
        images,
        texts,
        margin=0.5,
        distractors=more if arguments else (),
        same=INPUTS.get(same),
    )
    assert found.shape == (5, 2) and (wanted > 0).any()
    np.testing.assert_allclose(found, -wanted, atol=1e-5)


def test_the_ratio_that_is_logged_is_one_where_all_is_heard_alike():
    speaker, listener = learners()
    objective = Pathwise(Retrieval(listener), soft())
    # All embeddings are then zeros.
    for layer in (listener.project, listener.read):
        layer.set_weights([np.zeros_like(w) for w in layer.get_weights()])
    loss, logs = objective.loss(Episode(speaker, INPUTS))
    wanted = {
        "retrieval": -2 * 0.2,
        "retrieval/collapse_ratio": 1.0,
        "retrieval/collapse_ratio_std": 0.0,
    }
    assert {*wanted} == {*logs} == {*objective.log_names()}
    for name, value in wanted.items():
        np.testing.assert_allclose(logs[name], value, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(loss, 2 * 0.2, rtol=1e-6, atol=1e-6)


def slopes(speaker, listener, reward, said):
    """Whether speaker, image side and text side have a gradient."""
    sides = speaker, listener.project, listener.read
    variables = [[v.value for v in x.trainable_variables] for x in sides]
    with tf.GradientTape() as tape:
        episode = Episode(speaker, INPUTS, training=True)
        loss, _ = Pathwise(reward, said).loss(episode)
    found = tape.gradient(loss, variables)
    assert all(np.isfinite(x).all() for s in found for x in s if x is not None)
    return [any(x is not None and np.any(x) for x in side) for side in found]


@pytest.mark.parametrize("learning", [True, False])
@pytest.mark.parametrize("kind", [Retrieval, BidirectionalContrastive])
def test_a_judge_is_read_and_a_learner_is_reached(kind, learning):
    speaker, listener = learners()
    said, options = soft(), {"margin": 1.0}
    if kind is BidirectionalContrastive:
        options = {"texts": (said, GroundTruth())}
    reward = kind(listener, learning=learning, **options)
    assert slopes(speaker, listener, reward, said) == [True, learning, True]


def test_a_learner_drops_out_when_the_episode_trains_and_a_judge_never():
    speaker, listener = learners(image_dropout=0.5, word_dropout=0.5)
    truth = GroundTruth()

    def values(training, **arguments):
        episode = Episode(speaker, INPUTS, training=training)
        reward = Retrieval(listener, margin=1.0, **arguments)
        return reward(episode.rollout(truth), episode).numpy()

    plain = values(False)
    np.testing.assert_array_equal(values(False), plain)
    np.testing.assert_array_equal(values(True, learning=False), plain)
    assert (values(True) != plain).any()


class Reader:
    """A listener that reads tokens alone."""

    differentiable = False

    def __init__(self, listener):
        self.embed_images, self.listener = listener.embed_images, listener

    def embed_texts(self, words, mask, training=False):
        assert words.shape == mask.shape
        return self.listener.embed_texts(words, mask)


@pytest.mark.parametrize("kind", [Retrieval, BidirectionalContrastive])
def test_a_listener_of_tokens_is_given_tokens(kind):
    speaker, listener = learners()
    said = Sample(Categorical(seed=0), 2, max_length=3)
    episode = Episode(speaker, INPUTS)
    rollout = episode.rollout(said)
    found = kind(Reader(listener))(rollout, episode)
    reward = kind(listener)
    np.testing.assert_allclose(found, reward(rollout, episode), atol=1e-6)
    # Words that are drawn are heard as their tokens are.
    bare = reward(rollout._replace(words=None), episode)
    np.testing.assert_allclose(found, bare, atol=1e-6)
    with pytest.raises(ValueError, match="Use ScoreFunction"):
        Pathwise(kind(Reader(listener)), said)


@pytest.mark.parametrize("credit", ["batch", "own"])
def test_serves_reinforce_with_the_human_words_as_a_baseline(credit):
    speaker, listener = learners()
    reward = Retrieval(listener, margin=1.0, learning=False, credit=credit)
    sample = Sample(Categorical(seed=0), max_length=3)
    baseline = DecoderBaseline(reward, GroundTruth())
    objective = ScoreFunction(reward, sample, baseline)
    with tf.GradientTape() as tape:
        episode = Episode(speaker, INPUTS)
        loss, logs = objective.loss(episode)
    found = tape.gradient(loss, speaker.table.value).numpy()
    said, human = episode.rollout(sample), episode.references
    advantage = reward(said, episode) - reward(human, episode)
    if credit == "batch":
        effect, usual = (
            reward.scored(rollout, episode).credit() - reward(rollout, episode)
            for rollout in (said, human)
        )
        assert np.abs(effect).max() > 0.01
        advantage = advantage + effect - usual
    with tf.GradientTape() as tape:
        episode = Episode(speaker, INPUTS)
        log_probs = episode.log_probs(said._replace(log_probs=None))
        loss = -tf.reduce_mean(advantage[..., None] * log_probs) * 3
    wanted = tape.gradient(loss, speaker.table.value).numpy()
    assert np.abs(wanted).max() > 1e-3
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)
    assert "retrieval/collapse_ratio" in logs


def test_a_caption_without_words_is_worth_nothing_and_is_no_rival():
    speaker, listener = learners()
    human = HUMAN.copy()
    human[4] = 0
    episode = Episode(speaker, {**INPUTS, "references": human})
    reward = Retrieval(listener, margin=0.5)
    found = reward(episode.references, episode).numpy()
    images = listener.embed_images(INPUTS["image"]).numpy()
    texts = listener.embed_texts(human, human > 0).numpy()
    wanted = oracle(images, texts, 0.5, mask=human.any(axis=-1))
    np.testing.assert_allclose(found[:4], -wanted[:4], atol=1e-5)
    assert np.isfinite(found).all()


NOT_READ = "`{}` must have the method"


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (Retrieval, {"listener": None}, NOT_READ.format("listener")),
        (Retrieval, {"negatives": "some"}, "`negatives` must be"),
        (Retrieval, {"distractors": "absent"}, "must hold 'absent'"),
        (Retrieval, {"same": "absent"}, "must hold 'absent'"),
        (
            BidirectionalContrastive,
            {"retriever": None},
            NOT_READ.format("retriever"),
        ),
        (BidirectionalContrastive, {"combine": "max"}, "`combine` must be"),
        (
            BidirectionalContrastive,
            {"neighbor_same": "near_row"},
            "`neighbor_same` must be given",
        ),
        (
            BidirectionalContrastive,
            {"neighbors": "absent"},
            "must hold 'absent'",
        ),
        (BidirectionalContrastive, {"same": "absent"}, "must hold 'absent'"),
    ],
)
def test_what_is_missing_is_named(kind, options, message):
    speaker, listener = learners()
    name = "listener" if kind is Retrieval else "retriever"
    episode = Episode(speaker, INPUTS)
    with pytest.raises((TypeError, ValueError), match=message):
        kind(**{name: listener, **options})(episode.references, episode)


def test_a_listener_of_another_vocabulary_is_refused():
    speaker, _ = learners()
    listener = RetrievalListener(tiny.VOCABULARY + 1, units=6)
    episode = Episode(speaker, INPUTS)
    for kind in (Retrieval, BidirectionalContrastive, CLIPScore):
        reward = kind(listener)
        with pytest.raises(ValueError, match="must have the speaker's voc.*=6"):
            reward(episode.references, episode)
