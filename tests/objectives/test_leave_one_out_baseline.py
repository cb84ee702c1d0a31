import numpy as np
import pytest
from keras import ops

from tests import tiny
from tests.enumerated import WORTH
from tests.enumerated import exact_gradient
from tests.enumerated import gradient
from tfcap.decoding import Rollout
from tfcap.decoding import SumAndSample
from tfcap.objectives import DecoderBaseline
from tfcap.objectives import Episode
from tfcap.objectives import LeaveOneOutBaseline
from tfcap.objectives import RunningMeanBaseline
from tfcap.objectives import SampleMeanBaseline
from tfcap.objectives import ScoreFunction


def reward(rollout, episode):
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
    p = np.array(tiny.chances(speaker))
    order = np.argsort(-p)
    beam, others = order[:width], order[width:]
    share = p[others] / p[others].sum()
    total = 0.0
    for draw in np.ndindex(*[len(others)] * rest):
        decoder = Outcome(width, rest, 2)
        decoder.outcome = tokens[[*beam, *others[list(draw)]]]
        term = ScoreFunction(reward, decoder, baseline)
        slope, *_ = gradient(speaker, term, tiny.batch(1))
        total = total - share[list(draw)].prod() * slope
    return total


@pytest.mark.parametrize(
    "rest, baseline",
    [(1, None), (1, LeaveOneOutBaseline()), (2, LeaveOneOutBaseline())],
)
def test_the_mean_gradient_is_the_exact_one(rest, baseline):
    speaker = tiny.TableSpeaker(2)
    found = mean_gradient(speaker, rest, baseline)
    wanted = exact_gradient(speaker, worth)
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-5)


def test_a_real_draw_is_trained_on():
    speaker, decoder = tiny.TableSpeaker(2), SumAndSample(3, 2, 2, seed=0)
    term = ScoreFunction(reward, decoder, LeaveOneOutBaseline())
    slope, _, logs = gradient(speaker, term, tiny.batch(2))
    assert np.abs(slope).max() > 1e-3
    # Near the expectation, of which most is exact.
    expected = np.sum(tiny.chances(speaker) * worth(tiny.captions()))
    assert float(logs["reward"]) == pytest.approx(expected, abs=0.5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"baseline": SampleMeanBaseline()}, "Use LeaveOneOutBaseline"),
        # A deviation of a row would count sequences, whatever they weigh.
        ({"standardize": True}, "`standardize` must be False or"),
    ],
)
def test_what_counts_sequences_is_refused(options, message):
    decoder = SumAndSample(3, 2, 2, seed=0)
    term = ScoreFunction(reward, decoder, **options)
    with pytest.raises(ValueError, match=message):
        term.loss(Episode(tiny.TableSpeaker(), tiny.batch(1)))


def test_other_baselines_weigh_sequences_too():
    speaker, tokens = tiny.TableSpeaker(2), tiny.captions()
    decoder = Outcome(3, 1, 2)
    decoder.outcome = tokens[[0, 1, 2, 5]]
    episode = Episode(speaker, tiny.batch(1), training=True)
    weights = np.array(episode.rollout(decoder).weights[0])
    wanted = (weights * worth(decoder.outcome)).sum()
    zeros = np.zeros((1, 4), "float32")
    found = DecoderBaseline(reward, decoder)(zeros, episode)
    np.testing.assert_allclose(found, [[wanted]], rtol=1e-5)
    running = RunningMeanBaseline(0.5)
    ScoreFunction(reward, decoder, running).loss(episode)
    np.testing.assert_allclose(running.value(), wanted, rtol=1e-5)


@pytest.mark.parametrize("baseline", [None, LeaveOneOutBaseline()])
@pytest.mark.parametrize("pad", [0, tiny.EOS])
@pytest.mark.parametrize("width", [7, 5])
def test_a_beam_of_everything_has_the_exact_gradient(baseline, pad, width):
    """Also where beams are empty, and where a caption is an end alone."""
    speaker, tokens = tiny.TableSpeaker(1), tiny.captions()
    if width == 5:
        speaker.table.assign(speaker.table - 1e9 * np.eye(5)[4])
    wanted, p = exact_gradient(speaker, worth), np.array(tiny.chances(speaker))
    speaker.pad = pad
    term = ScoreFunction(reward, SumAndSample(width, 2, 2, seed=0), baseline)
    inputs = tiny.batch(2, [[[3, tiny.EOS]]] * 2)
    found, _, logs = gradient(speaker, term, inputs)
    np.testing.assert_allclose(-found, wanted, rtol=1e-4, atol=1e-6)
    mean = (p * worth(tokens)).sum()
    expected = {
        "reward": mean,
        "reward/std": np.sqrt((p * (worth(tokens) - mean) ** 2).sum()),
        "reward/mean_length": (p * (tokens > 0).sum(-1)).sum(),
    }
    for name, value in expected.items():
        assert float(logs[name]) == pytest.approx(value, rel=1e-4), name


def test_leaving_one_out_by_a_loop():
    rewards = np.random.default_rng(0).normal(size=(3, 4))
    found = np.asarray(LeaveOneOutBaseline()(rewards, None))
    for row, s in np.ndindex(3, 4):
        others = np.delete(rewards[row], s)
        np.testing.assert_allclose(
            found[row, s], others.mean(), rtol=1e-6, atol=1e-6
        )
    # It costs no expectation: the advantages of a row sum to zero.
    np.testing.assert_allclose((rewards - found).sum(1), 0, atol=1e-6)
