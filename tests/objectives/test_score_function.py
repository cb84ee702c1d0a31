import numpy as np
import pytest
from keras import ops

from tests import tiny
from tests.enumerated import Everything
from tests.enumerated import Known
from tests.enumerated import Worth
from tests.enumerated import assert_unbiased
from tests.enumerated import estimates
from tests.enumerated import exact_gradient
from tests.enumerated import gradient
from tests.enumerated import worth
from tfcap.decoding import BeamSearch
from tfcap.decoding import Greedy
from tfcap.decoding import Sample
from tfcap.layers import Categorical
from tfcap.layers import PartialSamplingST
from tfcap.objectives import DecoderBaseline
from tfcap.objectives import Episode
from tfcap.objectives import LeaveOneOutBaseline
from tfcap.objectives import MonteCarlo
from tfcap.objectives import PrefixBaseline
from tfcap.objectives import SampleMeanBaseline
from tfcap.objectives import ScoreFunction
from tfcap.objectives.estimator import Baseline


def decoder(num_samples=1):
    return Sample(Categorical(seed=5), num_samples=num_samples, max_length=2)


@pytest.mark.parametrize(
    "baseline",
    [
        None,
        DecoderBaseline(Worth(), Greedy(max_length=2)),
        LeaveOneOutBaseline(),
    ],
)
def test_the_mean_gradient_is_the_exact_one(baseline):
    speaker = tiny.TableSpeaker(2)
    objective = ScoreFunction(Worth(), decoder(3), baseline=baseline)
    found = estimates(speaker, objective)
    assert_unbiased(found, exact_gradient(speaker, worth))


def test_words_of_a_search_are_learned_from():
    """Whatever it searches by, the speaker scores them with a gradient."""
    speaker = tiny.TableSpeaker(1)
    slopes = [
        gradient(speaker, ScoreFunction(Worth(), x), tiny.batch(1), True)[0]
        for x in (Greedy(max_length=2), BeamSearch(1, max_length=2))
    ]
    assert np.abs(slopes[0]).max() > 0.01
    np.testing.assert_allclose(*slopes, rtol=1e-5, atol=1e-6)


def test_leaving_one_out_quietens_the_gradient():
    def noise(baseline):
        speaker = tiny.TableSpeaker(2)
        objective = ScoreFunction(Worth(5.0), decoder(4), baseline)
        return estimates(speaker, objective, repeats=30).var(0).sum()

    assert noise(LeaveOneOutBaseline()) < 0.3 * noise(None)


def asking(rewards, episode):
    return 0.5


asking.decoders = (decoder(),)


@pytest.mark.parametrize(
    ("decoder", "options", "message"),
    [
        (decoder(), {"normalize": "word"}, "`normalize`.*normalize='word'"),
        (decoder(), {"standardize": "row"}, "`standardize` must be one of"),
        (decoder(1), {"standardize": True}, "`standardize` needs at least 2"),
        (decoder(1), {"baseline": LeaveOneOutBaseline()}, "at least 2 samples"),
        (decoder(2), {"baseline": asking}, "`baseline` must be a function or"),
        (
            Sample(PartialSamplingST(0.5), max_length=2),
            {},
            "discrete.*PartialSamplingST",
        ),
    ],
)
def test_what_cannot_be_estimated_is_refused(decoder, options, message):
    episode = Episode(tiny.TableSpeaker(), tiny.batch(2))
    with pytest.raises((TypeError, ValueError), match=message):
        ScoreFunction(Worth(), decoder, **options).loss(episode)


@pytest.fixture
def said():
    """An episode of eight rows, its decoder and what it draws."""
    episode = Episode(tiny.TableSpeaker(2), tiny.batch(8))
    samples = decoder(4)
    rollout = episode.rollout(samples)
    scores = np.array(rollout.log_probs).sum(-1)
    return episode, samples, rollout, scores


def test_losses_are_normalized_by_lengths(said):
    episode, samples, rollout, scores = said
    found = {
        name: ScoreFunction(Worth(), samples, normalize=name)
        for name in ("sequence", "constant", "length")
    }
    found = {name: x.per_sample_loss(episode)[0] for name, x in found.items()}
    wanted = -np.array(Worth()(rollout, episode)) * scores
    words = np.array(rollout.mask).sum(-1)
    assert {*words.ravel()} == {1, 2}
    # The greatest length is 2.
    for name, by in (("sequence", 1), ("constant", 2), ("length", words)):
        np.testing.assert_allclose(found[name], wanted / by, 1e-5)


@pytest.mark.parametrize("of", [True, "batch"])
def test_advantages_have_one_deviation_in_every_row_or_batch(said, of):
    episode, samples, _, scores = said
    rewards = np.random.default_rng(0).normal(2.0, 5.0, (8, 4))
    axis = 1 if of is True else None
    baseline = SampleMeanBaseline() if of is True else None
    term = ScoreFunction(Known(rewards), samples, baseline, standardize=of)
    losses, _, _ = term.per_sample_loss(episode)
    advantage = rewards - rewards.mean(axis, keepdims=True)
    advantage /= rewards.std(axis, keepdims=True)
    np.testing.assert_allclose(losses, -advantage * scores, 1e-4, 1e-5)


def test_rows_of_equal_rewards_teach_nothing_when_standardized():
    # The samples of one row are worth the same, up to float error.
    level = Known([[3.0, 3.0 + 1e-6], [1.0, 2.0]])
    samples, episode = decoder(2), Episode(tiny.TableSpeaker(2), tiny.batch(2))
    for baseline in (None, lambda rewards, _: 0.5 * rewards[:, :1]):
        objective = ScoreFunction(level, samples, baseline, standardize=True)
        losses, _, _ = objective.per_sample_loss(episode)
        np.testing.assert_array_equal(losses[0], [0, 0])
        assert np.abs(losses[1]).min() > 0.1


def test_standardized_word_by_word_each_row_has_its_own_deviation():
    spreads = Known([[1.0, 3.0], [10.0, 30.0]])
    samples, episode = decoder(2), Episode(tiny.TableSpeaker(2), tiny.batch(2))

    def word_by_word(rewards, episode):
        return ops.zeros_like(episode.rollout(samples).mask)

    found, wanted = (
        ScoreFunction(spreads, samples, x, standardize=True)
        for x in (word_by_word, None)
    )
    np.testing.assert_allclose(
        found.per_sample_loss(episode)[0],
        wanted.per_sample_loss(episode)[0],
        rtol=1e-6,
        atol=1e-6,
    )


def test_a_reward_is_given_ids_where_words_are_discrete():
    seen = []

    class Heard(Worth):
        def call(self, rollout, episode):
            seen.append(rollout)
            return super().call(rollout, episode)

    samples, reward = decoder(2), Heard()
    baseline = DecoderBaseline(reward, Greedy(max_length=2))
    episode = Episode(tiny.TableSpeaker(), tiny.batch(2))
    ScoreFunction(reward, samples, baseline).loss(episode)
    assert len(seen) == 2
    assert all(rollout.listener_inputs is rollout.tokens for rollout in seen)
    assert episode.rollout(samples).words is not None


def test_unfinished_captions_teach_nothing_and_are_compared(said):
    episode, samples, rollout, _ = said
    rewards, compare = Known(np.arange(32.0)), LeaveOneOutBaseline()
    rewards.values = rewards.values.reshape(8, 4)
    made = [
        ScoreFunction(rewards, samples, compare, mask_unfinished=mask)
        for mask in (True, False)
    ]
    found, plain = (x.per_sample_loss(episode)[0] for x in made)
    ended = (np.array(rollout.tokens) == 2).any(-1)
    assert ended.any() and not ended.all()
    np.testing.assert_allclose(found, np.where(ended, plain, 0.0), 1e-6)


def test_few_words_count_where_few_captions_end():
    speaker, every = tiny.TableSpeaker(2), Everything()
    episode = Episode(speaker, tiny.batch(1))
    term = ScoreFunction(
        Known(np.ones((1, 7))), every, normalize="token", mask_unfinished=True
    )
    # Of seven captions three have an end, and five words in all.
    ended = (every.tokens == 2).any(-1)
    scores = np.array(episode.rollout(every).log_probs)[0].sum(-1)
    wanted = -scores[ended].sum() / 5
    assert float(term.loss(episode)[0]) == pytest.approx(wanted, 1e-5)


class Bare(Baseline):
    """A baseline that asks for no words."""

    def __init__(self, value=0.5):
        super().__init__(lambda rewards, episode: value)


def test_a_baseline_may_be_the_first_words():
    credit = MonteCarlo(1)
    for baseline in (Bare(), PrefixBaseline(Bare())):
        term = ScoreFunction(Worth(), decoder(2), baseline, credit=credit)
        term.loss(Episode(tiny.TableSpeaker(), tiny.batch(2)))
        assert len(term.decoders) == 1


@pytest.mark.parametrize("credit", [None, MonteCarlo(1)])
def test_baselines_are_numbers_of_all_rows_or_of_each(credit):
    """Rewards are 1 in one row and 2 in the other, whatever is said."""

    def row_number(rollout, episode):
        shape = ops.shape(rollout.mask)[:2]
        return ops.broadcast_to(np.array([[1.0], [2.0]], "float32"), shape)

    def advantages(value):
        term = ScoreFunction(row_number, decoder(2), Bare(value), credit=credit)
        _, logs = term.loss(Episode(tiny.TableSpeaker(), tiny.batch(2)))
        names = ("row_number/advantage", "row_number/advantage_std")
        return tuple(float(logs[name]) for name in names)

    assert advantages(np.array([[1.0], [2.0]], "float32")) == (0.0, 0.0)
    for half in (0.5, np.float32(0.5)):
        mean, std = advantages(half)
        assert mean > 0.5 and std > 0.1
    with pytest.raises(ValueError, match=r"`baseline` must return.*x\[:, None"):
        advantages(np.array([1.0, 2.0], "float32"))
