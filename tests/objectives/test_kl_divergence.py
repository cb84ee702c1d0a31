from types import SimpleNamespace as Namespace

import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tests import tiny
from tests.enumerated import Everything
from tests.enumerated import Worth
from tests.enumerated import expectation
from tests.enumerated import gradient
from tfcap.decoding import Greedy
from tfcap.decoding import MixedPrefix
from tfcap.decoding import Sample
from tfcap.decoding import SumAndSample
from tfcap.layers import PartialSamplingST
from tfcap.objectives import Episode
from tfcap.objectives import StructureLoss
from tfcap.objectives.proximal import KLDivergence
from tfcap.objectives.ranking import PreferenceLoss
from tfcap.rewards import KLPenalty

SPEAKER, REFERENCE = tiny.TableSpeaker(1), tiny.TableSpeaker(2)


def scores(speaker):
    tokens = tiny.captions()[None]
    return speaker.log_probs(speaker.begin(tiny.batch(1)), tokens)[0]


def divergence():
    p, q = (np.array(tiny.chances(x)) for x in (SPEAKER, REFERENCE))
    return np.sum(p * np.log(p / q))


def test_values_are_the_divergence_in_the_mean():
    episode, everything = Episode(SPEAKER, tiny.batch(1)), Everything()
    p, exact = np.array(tiny.chances(SPEAKER)), divergence()
    for estimator, right in (("k1", True), ("k3", True), ("k2", False)):
        term = KLDivergence(REFERENCE, everything, estimator)
        values = term.per_sample_loss(episode)[0].numpy()[0]
        assert ((p * values).sum() == pytest.approx(exact, 1e-4)) == right
        assert estimator == "k1" or (values >= -1e-6).all()
    reward = KLPenalty(REFERENCE)(episode.rollout(everything), episode)
    assert -np.sum(p * reward[0]) == pytest.approx(exact, 1e-4)


def slope(estimator):
    def losses(episode, everything):
        term = KLDivergence(REFERENCE, everything, estimator)
        return term.per_sample_loss(episode)[0]

    return expectation(SPEAKER, losses)


def exact_by_words(reverse=False):
    """Gradient of the divergence of every word, given the words before."""
    impossible = np.array([-1e9, -1e9, 0.0, 0.0, 0.0], "float32")
    with tf.GradientTape() as tape:
        own, other = (
            tf.nn.log_softmax(s.table.value + impossible)
            for s in (SPEAKER, REFERENCE)
        )
        p, q = (other, own) if reverse else (own, other)
        rows = tf.reduce_sum(tf.exp(p) * (p - q), axis=-1)
        second = tf.stop_gradient(tf.exp(own[tiny.BOS]))[3:]
        value = rows[tiny.BOS] + tf.reduce_sum(second * rows[3:])
    return tape.gradient(value, SPEAKER.table.value).numpy()


@pytest.mark.parametrize("estimator", ["k2", "k3"])
def test_the_gradient_is_that_of_the_divergence_or_its_reverse(estimator):
    wanted = exact_by_words(reverse=estimator == "k3")
    assert np.abs(wanted).max() > 0.1
    np.testing.assert_allclose(slope(estimator), wanted, rtol=1e-3, atol=1e-5)
    assert np.abs(slope("k1")).max() < 1e-5


def test_by_words_the_values_are_sums_or_means_of_words():
    episode, everything = Episode(SPEAKER, tiny.batch(1)), Everything()
    gaps = (scores(SPEAKER) - scores(REFERENCE)).numpy()
    words = (tiny.captions() > 0).sum(-1)
    wanted = (np.exp(-gaps) - 1 + gaps).sum(-1)
    for normalize, by in (("sequence", 1), ("length", words)):
        term = KLDivergence(REFERENCE, everything, "k3", normalize=normalize)
        losses = term.per_sample_loss(episode)[0].numpy()[0]
        np.testing.assert_allclose(losses, wanted / by, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("reference", "wrong", "message"),
    [
        (REFERENCE, {"estimator": "k4"}, "`estimator` must be one of"),
        (REFERENCE, {"normalize": "x"}, "`normalize` must be one of"),
        (None, {}, "`reference` must have"),
    ],
)
def test_choices_are_refused_by_name(reference, wrong, message):
    with pytest.raises((TypeError, ValueError), match=message):
        KLDivergence(reference, Everything(), **wrong)


def test_of_greedy_words_there_is_a_gradient():
    term = KLDivergence(REFERENCE, Greedy(3), "k2")
    found, *_ = gradient(SPEAKER, term, tiny.batch(1), training=True)
    assert np.abs(found).max() > 1e-3


def test_what_stands_for_an_expectation_has_its_weight():
    episode, decoder = Episode(SPEAKER, tiny.batch(1)), SumAndSample(2, 1, 3)
    rollout = episode.rollout(decoder)
    gaps = rollout.log_probs - REFERENCE.log_probs(
        REFERENCE.begin(tiny.batch(1)), rollout.tokens
    )
    wanted = ops.sum(ops.where(rollout.mask > 0, gaps, 0) ** 2 / 2, axis=-1)
    found, _ = KLDivergence(REFERENCE, decoder, "k2").loss(episode)
    total = ops.sum(rollout.weights * wanted)
    np.testing.assert_allclose(found, total, rtol=1e-5)


@pytest.mark.parametrize("prefix", [0, 1, 9])
def test_words_that_a_prefix_gives_are_possible_to_the_reference(prefix):
    mixed = MixedPrefix(prefix, max_length=3, seed=0, suppress=(4,))
    twin = tiny.TableSpeaker(1)
    references = [[[4, 4, 2]], [[3, 4, 2]]]
    episode = Episode(SPEAKER, tiny.batch(2, references))
    values = KLPenalty(twin)(episode.rollout(mixed).stop_gradient(), episode)
    np.testing.assert_allclose(values, 0.0, atol=1e-5)
    losses, *_ = KLDivergence(twin, mixed, "k3").per_sample_loss(episode)
    np.testing.assert_allclose(losses, 0.0, atol=1e-5)


@pytest.mark.parametrize(
    "options", [{"suppress": (4,)}, {"no_repeat_ngram": 1}, {}]
)
def test_what_a_decoder_rules_out_is_impossible_to_the_reference(options):
    """Of a speaker that has not moved every divergence is 0."""
    samples = Sample(num_samples=4, max_length=3, **options)
    twin, episode = tiny.TableSpeaker(1), Episode(SPEAKER, tiny.batch(3))
    values = KLPenalty(twin)(episode.rollout(samples).stop_gradient(), episode)
    np.testing.assert_allclose(values, 0.0, atol=1e-5)
    for estimator in ("k1", "k2", "k3"):
        term = KLDivergence(twin, samples, estimator)
        losses, *_ = term.per_sample_loss(episode)
        np.testing.assert_allclose(losses, 0.0, atol=1e-5)
    pairs = PreferenceLoss(Worth(), samples, twin)
    logs = pairs.per_sample_loss(episode)[2]
    np.testing.assert_allclose(logs["margin"], 0.0, atol=1e-5)


def test_by_what_a_decoder_rules_out_values_are_the_divergence_in_the_mean():
    samples = Sample(num_samples=4000, max_length=1, suppress=(4,))
    episode = Episode(SPEAKER, tiny.batch(1))
    values = KLPenalty(REFERENCE)(episode.rollout(samples), episode)
    first = np.array([[[2], [3]]])  # the words that are left
    p, q = (
        np.exp(s.log_probs(s.begin(tiny.batch(1)), first.reshape(1, 2, 1)))
        for s in (SPEAKER, REFERENCE)
    )
    p, q = p / p.sum(), q / q.sum()
    wanted = (p * np.log(p / q)).sum()
    assert -float(ops.mean(values)) == pytest.approx(wanted, abs=0.05)


def test_relaxed_words_have_no_divergence_and_no_preference():
    soft = Sample(PartialSamplingST(rho=0.5, seed=0), 3, max_length=3)
    episode = Episode(SPEAKER, tiny.batch(2))
    terms = (
        KLDivergence(REFERENCE, soft),
        PreferenceLoss(Worth(), soft, REFERENCE),
        StructureLoss(Worth(), soft),
    )
    for term in terms:
        wanted = f"discrete words for {type(term).__name__}"
        with pytest.raises(ValueError, match=wanted):
            term.per_sample_loss(episode)


def test_a_reference_speaks_the_speakers_words():
    other, decoder = tiny.TableSpeaker(2), Sample(num_samples=2, max_length=2)
    other.vocabulary_size = tiny.VOCABULARY + 1
    episode = Episode(SPEAKER, tiny.batch(1))
    rollout = episode.rollout(decoder)
    for read in (
        lambda: KLPenalty(other)(rollout, episode),
        lambda: KLDivergence(other, decoder).per_sample_loss(episode),
    ):
        with pytest.raises(ValueError, match="`reference` must have the spea"):
            read()
    # One that names no size is asked as it is.
    named = "begin", "step", "log_probs", "bos", "eos"
    plain = Namespace(**{name: getattr(REFERENCE, name) for name in named})
    found = (KLPenalty(x)(rollout, episode) for x in (plain, REFERENCE))
    np.testing.assert_array_equal(*found)
