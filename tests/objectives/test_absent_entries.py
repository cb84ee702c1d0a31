"""Nothing under a mask changes a loss, a gradient or what is logged."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tests import tiny
from tests.enumerated import WORTH
from tests.enumerated import gradient
from tfcap import objectives
from tfcap import rewards
from tfcap._ops import straight_through
from tfcap.decoding import Greedy
from tfcap.decoding import GroundTruth
from tfcap.decoding import MixedPrefix
from tfcap.decoding import Sample
from tfcap.decoding import ScheduledSampling
from tfcap.layers import WordChannel
from tfcap.layers._fast import WordIds
from tfcap.layers._fast import remember_words
from tfcap.objectives import Episode
from tfcap.objectives.score_function import equal_rewards

#: Two references an image; the last image has one.
REFERENCES = np.array(
    [
        [[3, 4, 2], [4, 2, 0]],
        [[3, 2, 0], [3, 3, 4]],
        [[2, 0, 0], [4, 3, 2]],
        [[4, 2, 0], [0, 0, 0]],
    ],
    "int32",
)
RNG = np.random.default_rng(3)
IMAGES = RNG.normal(size=(4, 2, 4)).astype("float32")
NEIGHBORS = RNG.normal(size=(4, 2, 2, 4)).astype("float32")


class Reader(keras.layers.Layer):
    """Embeds images and texts, and judges pairs."""

    def __init__(self):
        super().__init__()
        rng = np.random.default_rng(1)
        self.words = self.add_weight(shape=(5, 4), name="words")
        self.places = self.add_weight(shape=(4, 4), name="places")
        for weight in self.weights:
            weight.assign(1.5 * rng.normal(size=weight.shape))
        self.built = True

    def embed_images(self, image, training=False):
        return ops.matmul(ops.mean(image, axis=1), self.places)

    def embed_texts(self, words, mask, training=False):
        if "int" in words.dtype.name:
            words = ops.one_hot(words, 5)
        return ops.einsum("bstv,vd,bst->bsd", words, self.words, mask)

    def logits(self, images, texts):
        if len(texts.shape) == 2:
            return ops.matmul(images, ops.transpose(texts)) + 0.5
        return ops.einsum("bd,bsd->bs", images, texts) + 0.5


class Rows(WordChannel):
    """Draws by numbers that depend on the row alone, whatever the batch."""

    differentiable = True

    def emit(self, logits, noise=None):
        rows = ops.arange(ops.shape(logits)[0], dtype="float32")
        words = ops.arange(logits.shape[-1], dtype="float32")
        noise = 2 * ops.sin(9.1 * rows[:, None] + 3.7 * words)
        soft = ops.softmax(logits)
        ids = ops.argmax(ops.where(logits > -1e8, logits + noise, -1e9), -1)
        hard = ops.one_hot(ids, logits.shape[-1])
        return remember_words(straight_through(hard, soft), WordIds(ids))


class Worth(rewards.Reward):
    """Of a caption without words it is not a number."""

    name = "worth"

    def call(self, rollout, episode):
        worth = ops.sum(ops.take(WORTH, rollout.tokens) * rollout.mask, axis=-1)
        return worth / ops.sum(rollout.mask, axis=-1)


class WordWorth(rewards.Reward):
    """Of every word; it counts from the last one on, as a return does."""

    name = "word_worth"

    def call(self, rollout, episode):
        worth = ops.take(WORTH, rollout.tokens) * rollout.mask
        return ops.flip(ops.cumsum(ops.flip(worth, -1), axis=-1), -1)


class UnknownAfterTheEnd(WordWorth):
    """Nothing can be said of what is not there."""

    def call(self, rollout, episode):
        worth = super().call(rollout, episode)
        return ops.where(rollout.mask > 0, worth, np.nan)


def sampled(samples=1):
    return Sample(Rows(), samples, max_length=4, feedback="relaxed")


def contrastive(reader):
    return rewards.BidirectionalContrastive(
        reader,
        texts=(Greedy(max_length=4), GroundTruth()),
        neighbors="neighbors",
        temperature=3.0,
        learning=True,
    )


def reinforced(reward, baseline=None, decoder=None, **arguments):
    decoder = decoder or GroundTruth()
    return objectives.ScoreFunction(reward, decoder, baseline, **arguments)


LEAVE = objectives.LeaveOneOutBaseline()
MEAN = objectives.SampleMeanBaseline()
PREFIX = objectives.PrefixBaseline()


def human(reward):
    return objectives.DecoderBaseline(reward, GroundTruth())


def forced(decoder):
    return objectives.TeacherForcing(decoder=decoder)


def found_beside_people(reader):
    reward = rewards.Retrieval(reader, negatives="sum")
    return reinforced(reward, human(reward), sampled(2))


def diversity(reader):
    return reinforced(
        rewards.PairwiseDiversity(jit_compile=False)
        + rewards.PairwiseDiversity("bleu", jit_compile=False)
        + rewards.PairwiseDiversity("self_bleu", jit_compile=False)
    )


def listening(reward):
    return objectives.score_function.ListenerLoss(reward, GroundTruth())


def close_to_another(reader):
    reward = rewards.KLPenalty(tiny.TableSpeaker(8)) + rewards.Surprisal()
    return reinforced(reward, None, sampled())


#: What is said by people, or compared with it.
CASES = {
    "teacher_forcing": lambda r: objectives.TeacherForcing(),
    "of_words": lambda r: objectives.TeacherForcing("token"),
    "scheduled": lambda r: forced(ScheduledSampling(0.0)),
    "mixed": lambda r: forced(MixedPrefix(9, max_length=4)),
    "reinforced": lambda r: reinforced(Worth()),
    "human_baseline": lambda r: reinforced(Worth(), human(Worth()), sampled(2)),
    "leave_one_out": lambda r: reinforced(Worth(), LEAVE),
    "sample_mean": lambda r: reinforced(Worth(), MEAN, normalize="token"),
    "running_mean": lambda r: reinforced(
        Worth(), objectives.RunningMeanBaseline()
    ),
    "standardized": lambda r: reinforced(Worth(), MEAN, standardize=True),
    "of_each_word": lambda r: reinforced(WordWorth(), LEAVE, standardize=True),
    "prefix": lambda r: reinforced(UnknownAfterTheEnd(), PREFIX),
    "running_mean_of_words": lambda r: reinforced(
        WordWorth(), objectives.RunningMeanBaseline()
    ),
    "found_beside_people": found_beside_people,
    "stands_out": lambda r: reinforced(contrastive(r), None, sampled()),
    "diversity": diversity,
    "found": lambda r: reinforced(rewards.Retrieval(r)),
    "found_sampled": lambda r: reinforced(
        rewards.Retrieval(r, negatives="sum"), None, sampled()
    ),
    "through_words": lambda r: objectives.Pathwise(
        rewards.Retrieval(r), sampled(2)
    ),
    "listening": lambda r: listening(rewards.Retrieval(r, negatives=0.5)),
    "contrastive": lambda r: objectives.Pathwise(contrastive(r), sampled()),
    "human_contrastive": lambda r: listening(contrastive(r)),
    "discriminator_loss": lambda r: objectives.DiscriminatorLoss(r, sampled()),
    "judged": lambda r: objectives.Pathwise(
        rewards.MatchProbability(r) + rewards.CLIPScore(r), sampled()
    ),
    "close_to_another": close_to_another,
}


def batch():
    inputs = tiny.batch(4, REFERENCES)
    return {**inputs, "image": IMAGES, "neighbors": NEIGHBORS}


def padded():
    """The batch with more images, references and words, all absent."""
    inputs = {
        key: np.concatenate([value, 9 + 0 * value[:3]])
        for key, value in batch().items()
    }
    references = np.pad(REFERENCES, ((0, 3), (1, 2), (0, 1)))
    return {**inputs, "references": references}


def outcome(make, inputs):
    """Loss, gradients and logs of one step."""
    keras.utils.set_random_seed(0)
    speaker, reader = tiny.TableSpeaker(2), Reader()
    objective = make(reader)
    weights = [w.value for w in (*speaker.weights, *reader.weights)]
    with tf.GradientTape() as tape:
        loss, logs = objective.loss(Episode(speaker, inputs, training=True))
    slopes = tape.gradient(loss, weights, unconnected_gradients="zero")
    means = [w for layer in objective.layers() for w in layer.weights]
    names = ("slope of words", "slope of texts", "slope of images")
    found = {"loss": loss, **logs, **dict(zip(names, slopes))}
    means = [weight for weight in means if "seed" not in weight.path]
    found |= {f"mean {i}": weight for i, weight in enumerate(means)}
    return {key: np.array(value) for key, value in found.items()}


@pytest.mark.parametrize("case", CASES)
def test_what_is_absent_changes_nothing(case):
    wanted = outcome(CASES[case], batch())
    found = outcome(CASES[case], padded())
    assert found.keys() == wanted.keys()
    for key, value in wanted.items():
        assert np.isfinite(value).all(), key
        np.testing.assert_allclose(
            found[key], value, rtol=1e-4, atol=1e-5, err_msg=key
        )
    assert any(np.any(value != 0) for value in wanted.values())


class ImpossiblePadding(tiny.TableSpeaker):
    """Of a place without a word, no word has a probability."""

    def log_probs(self, state, tokens, training=False):
        found = super().log_probs(state, tokens, training)
        there = ops.cumsum(ops.flip(ops.cast(tokens > 0, "int32"), -1), -1)
        return ops.where(ops.flip(there, -1) > 0, found, -np.inf)


@pytest.mark.parametrize("case", ["teacher_forcing", "of_words", "reinforced"])
def test_a_speaker_may_rule_out_what_is_no_word(case):
    found, wanted = (
        gradient(make(2), CASES[case](None), padded(), training=True)
        for make in (ImpossiblePadding, tiny.TableSpeaker)
    )
    for ours, theirs in zip(found[:2], wanted[:2]):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_likelihood_is_a_mean_over_references_that_are_there():
    speaker = tiny.TableSpeaker(2)
    found, logs = objectives.TeacherForcing().loss(Episode(speaker, batch()))
    table = speaker.table.numpy()
    each = [
        -np.log(tiny.probability(table, caption))
        for caption in REFERENCES.reshape(8, 3)
        if caption.any()
    ]
    assert float(found) == pytest.approx(np.mean(each), rel=1e-5)
    assert float(logs["teacher_forcing"]) == pytest.approx(np.mean(each), 1e-5)


def test_a_reference_is_compared_with_those_that_are_there():
    found = []

    def watched(rewards, episode):
        found.extend(map(np.array, (rewards, LEAVE(rewards, episode))))
        return found[1]

    objective = reinforced(Worth(), watched)
    objective.loss(Episode(tiny.TableSpeaker(2), padded()))
    worth, baseline = (x[:4, 1:3] for x in found)
    np.testing.assert_allclose(baseline[:3], worth[:3, ::-1], rtol=1e-6)
    # Alone, there is nothing to be learned.
    assert baseline[3, 0] == worth[3, 0] != 0


def test_a_constant_length_is_not_that_of_the_padding():
    with pytest.raises(ValueError, match=r"`normalize`.*GroundTruth.*1 / T"):
        objectives.TeacherForcing("constant")


def test_nothing_is_said_where_there_is_no_human_word():
    episode = Episode(tiny.TableSpeaker(2), padded(), training=True)
    for decoder in (sampled(3), Greedy(max_length=4)):
        said = episode.rollout(decoder)
        np.testing.assert_array_equal(
            said.nonempty[:, 0], [1, 1, 1, 1, 0, 0, 0]
        )
        assert not np.any(said.tokens[4:]) and not np.any(said.log_probs[4:])
        assert said.scores is None or not np.any(said.scores[4:])


def test_a_row_counts_if_any_of_its_sequences_is_there():
    objective = objectives.TeacherForcing()
    episode = Episode(tiny.TableSpeaker(2), padded())
    mask = objective.mask(np.zeros((7, 1)), episode)
    np.testing.assert_array_equal(mask[:, 0], [1, 1, 1, 1, 0, 0, 0])
    # The first and the last two references of all images are absent.
    mask = objective.mask(np.zeros((7, 5)), episode)
    np.testing.assert_array_equal(mask[0], [0, 1, 1, 0, 0])


def test_groups_are_flat_by_the_samples_that_are_there():
    worth = np.float32([[np.nan, 2, 2], [5, 2, 2], [1, np.nan, 1.5]])
    said = np.array([[0, 1, 1], [1, 1, 1], [1, 0, 1]], bool)
    np.testing.assert_array_equal(equal_rewards(worth, said)[:, 0], [1, 0, 0])


def test_a_caption_without_another_is_unlike_nobody():
    episode = Episode(tiny.TableSpeaker(2), padded())
    for distance in ("bleu", "self_bleu"):
        reward = rewards.PairwiseDiversity(distance, jit_compile=False)
        found = np.array(reward(episode.references, episode))
        assert found[3, 1] == 0 and (found[:3, 1:3] > 0).all()
