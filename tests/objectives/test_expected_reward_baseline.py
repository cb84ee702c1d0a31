import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tests import tiny
from tests.enumerated import exact_gradient
from tfcap.decoding import Rollout
from tfcap.decoding import SumAndSample
from tfcap.objectives import DecoderBaseline
from tfcap.objectives import Episode
from tfcap.objectives import LeaveOneOutBaseline
from tfcap.objectives import RunningMeanBaseline
from tfcap.objectives import SampleMeanBaseline
from tfcap.objectives import ScoreFunction
from tfcap.rewards import Reward

WORTH = np.array([0.0, 0.0, 0.5, 2.0, -1.0], "float32")


class Worth(Reward):
    def call(self, rollout, episode):
        return 3.0 + ops.sum(ops.take(WORTH, rollout.tokens), axis=-1)


class MaskedWorth(Reward):
    def call(self, rollout, episode):
        worth = ops.take(WORTH, rollout.tokens) * rollout.mask
        return 3.0 + ops.sum(worth, axis=-1)


def worth(tokens):
    return 3.0 + WORTH[tokens].sum(-1)


class Outcome(SumAndSample):
    """A draw that is given: the beam, and these samples of the rest."""

    def decode(self, speaker, state, references=None, training=False):
        tokens = self.outcome[None]
        log_probs = speaker.log_probs(state, tokens)
        p = ops.exp(ops.stop_gradient(ops.sum(log_probs, axis=-1)))[0]
        found = p[: self.width]
        rest = ops.ones((self.rest,)) * (1.0 - ops.sum(found)) / self.rest
        weights = ops.concatenate([found, rest])[None]
        mask = ops.cast(tokens > 0, "float32")
        return Rollout(tokens, mask, None, log_probs, weights=weights)


def mean_gradient(speaker, rest, baseline):
    """Over all draws of the rest, by their probabilities."""
    tokens, width = tiny.captions(), 4
    scores = speaker.log_probs(speaker.begin(tiny.batch(1)), tokens[None])
    p = np.exp(scores.numpy()[0].sum(-1))
    order = np.argsort(-p)
    beam, others = order[:width], order[width:]
    share = p[others] / p[others].sum()
    total = 0.0
    for draw in np.ndindex(*[len(others)] * rest):
        decoder = Outcome(width, rest, 2)
        decoder.outcome = tokens[[*beam, *others[list(draw)]]]
        expected = LeaveOneOutBaseline() if baseline else None
        term = ScoreFunction(Worth(), decoder, expected)
        with tf.GradientTape() as tape:
            loss, _ = term.loss(Episode(speaker, tiny.batch(1)))
        slope = -tape.gradient(loss, speaker.table.value).numpy()
        total = total + share[list(draw)].prod() * slope
    return total


@pytest.mark.parametrize("rest, baseline", [(1, False), (1, True), (2, True)])
def test_the_mean_gradient_is_the_exact_one(rest, baseline):
    speaker = tiny.TableSpeaker(2)
    found = mean_gradient(speaker, rest, baseline)
    wanted = exact_gradient(speaker, worth)
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-5)


def test_a_real_draw_is_trained_on():
    speaker, decoder = tiny.TableSpeaker(2), SumAndSample(3, 2, 2, seed=0)
    term = ScoreFunction(Worth(), decoder, LeaveOneOutBaseline())
    with tf.GradientTape() as tape:
        loss, logs = term.loss(Episode(speaker, tiny.batch(2)))
    assert np.abs(tape.gradient(loss, speaker.table.value)).max() > 1e-3
    # Near the expectation, of which most is exact.
    scores = speaker.log_probs(
        speaker.begin(tiny.batch(1)), tiny.captions()[None]
    )
    p = np.exp(scores.numpy()[0].sum(-1))
    expected = (p * worth(tiny.captions())).sum()
    assert float(logs["reward"]) == pytest.approx(expected, abs=0.5)


def test_means_of_samples_are_refused():
    decoder = SumAndSample(3, 2, 2, seed=0)
    term = ScoreFunction(Worth(), decoder, SampleMeanBaseline())
    with pytest.raises(ValueError, match="Use LeaveOneOutBaseline"):
        term.loss(Episode(tiny.TableSpeaker(), tiny.batch(1)))


def test_other_baselines_weigh_sequences_too():
    speaker, tokens = tiny.TableSpeaker(2), tiny.captions()
    decoder = Outcome(3, 1, 2)
    decoder.outcome = tokens[[0, 1, 2, 5]]
    episode = Episode(speaker, tiny.batch(1), training=True)
    weights = episode.rollout(decoder).weights.numpy()[0]
    wanted = (weights * worth(decoder.outcome)).sum()
    zeros = np.zeros((1, 4), "float32")
    found = DecoderBaseline(Worth(), decoder)(zeros, episode)
    np.testing.assert_allclose(found, [[wanted]], rtol=1e-5)
    running = RunningMeanBaseline(0.5)
    ScoreFunction(Worth(), decoder, running).loss(episode)
    np.testing.assert_allclose(running.value(), wanted, rtol=1e-5)
    # A deviation of a row would count sequences, whatever they weigh.
    term = ScoreFunction(Worth(), decoder, standardize=True)
    with pytest.raises(ValueError, match="`standardize` must be False or"):
        term.loss(episode)


@pytest.mark.parametrize("compare", [True, False])
@pytest.mark.parametrize("pad", [0, tiny.EOS])
@pytest.mark.parametrize("width", [7, 5])
def test_a_beam_of_everything_has_the_exact_gradient(compare, pad, width):
    """Also where beams are empty, and where a caption is an end alone."""
    speaker = tiny.TableSpeaker(1)
    if width == 5:
        speaker.table.assign(speaker.table - 1e9 * np.eye(5)[4])
    wanted = exact_gradient(speaker, worth)
    speaker.pad = pad
    decoder = SumAndSample(width, 2, 2, seed=0)
    expected = LeaveOneOutBaseline() if compare else None
    term = ScoreFunction(MaskedWorth(), decoder, expected)
    with tf.GradientTape() as tape:
        inputs = tiny.batch(2, [[[3, tiny.EOS]]] * 2)
        loss, logs = term.loss(Episode(speaker, inputs))
    found = -tape.gradient(loss, speaker.table.value).numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)
    tokens = tiny.captions()
    scores = speaker.log_probs(speaker.begin(tiny.batch(1)), tokens[None])
    p = np.exp(scores.numpy()[0].sum(-1))
    length = (tokens > 0).sum(-1)
    mean = (p * worth(tokens)).sum()
    expected = {
        "reward": mean,
        "reward_std": np.sqrt((p * (worth(tokens) - mean) ** 2).sum()),
        "reward_mean_length": (p * length).sum(),
    }
    for name, value in expected.items():
        assert float(logs[name]) == pytest.approx(value, rel=1e-4), name
