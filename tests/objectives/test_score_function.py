import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tests import tiny
from tests.enumerated import Everything
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
from tfcap.objectives import ScoreFunction
from tfcap.objectives.estimator import Baseline
from tfcap.rewards import Reward

WORTH = np.array([0.0, 0.0, 0.5, 2.0, -1.0], "float32")


class Worth(Reward):
    """Each word is worth something, and a word said twice a lot more."""

    name = "worth"

    def call(self, rollout, episode):
        tokens = rollout.tokens
        worth = ops.sum(ops.take(WORTH, tokens) * rollout.mask, axis=-1)
        twice = ops.cast(tokens[..., 0] == tokens[..., 1], "float32")
        return worth + 3.0 * twice


def exact_gradient(speaker):
    """Of the expected reward, by enumeration of all captions."""
    tokens = tiny.captions()
    with tf.GradientTape() as tape:
        log_probs = speaker.log_probs(
            speaker.begin(tiny.batch(1)), tokens[None]
        )
        p = ops.exp(ops.sum(log_probs[0], axis=-1))
        worth = ops.sum(ops.take(WORTH, tokens), axis=-1)
        twice = ops.cast(tokens[:, 0] == tokens[:, 1], "float32")
        expected = ops.sum(p * (worth + 3.0 * twice))
    np.testing.assert_allclose(ops.sum(p), 1.0, rtol=1e-5, atol=1e-6)
    return tape.gradient(expected, speaker.table.value).numpy()


def estimates(speaker, objective, rows=500, repeats=60):
    @tf.function(autograph=False)
    def one():
        with tf.GradientTape() as tape:
            loss, _ = objective.loss(Episode(speaker, tiny.batch(rows)))
        return -tape.gradient(loss, speaker.table.value)

    return np.stack([one().numpy() for _ in range(repeats)])


def decoder(num_samples=1):
    return Sample(Categorical(seed=5), num_samples=num_samples, max_length=2)


@pytest.mark.parametrize("baseline", ["none", "greedy", "leave_one_out"])
def test_the_mean_gradient_is_the_exact_one(baseline):
    speaker = tiny.TableSpeaker(2)
    baseline = {
        "none": None,
        "greedy": DecoderBaseline(Worth(), Greedy(max_length=2)),
        "leave_one_out": LeaveOneOutBaseline(),
    }[baseline]
    objective = ScoreFunction(Worth(), decoder(3), baseline=baseline)
    found = estimates(speaker, objective)
    error = found.std(0, ddof=1) / np.sqrt(len(found))
    gap = np.abs(found.mean(0) - exact_gradient(speaker))
    assert (gap <= 4.5 * error + 1e-6).all()
    # The test would notice a gradient that is wrong by a tenth.
    scale = np.abs(exact_gradient(speaker)).max()
    assert error.max() < 0.03 * scale


def test_words_of_a_search_are_learned_from():
    """Whatever it searches by, the speaker scores them with a gradient."""
    speaker = tiny.TableSpeaker(1)
    slopes = []
    for search in (Greedy(max_length=2), BeamSearch(1, max_length=2)):
        with tf.GradientTape() as tape:
            term = ScoreFunction(Worth(), search)
            loss, _ = term.loss(Episode(speaker, tiny.batch(1), training=True))
        slopes.append(tape.gradient(loss, speaker.table.value).numpy())
    assert np.abs(slopes[0]).max() > 0.01
    np.testing.assert_allclose(*slopes, rtol=1e-5, atol=1e-6)


def test_leaving_one_out_quietens_the_gradient():
    class MostlyGood(Worth):
        def call(self, rollout, episode):
            return 5.0 + super().call(rollout, episode)

    def noise(baseline):
        speaker = tiny.TableSpeaker(2)
        objective = ScoreFunction(MostlyGood(), decoder(4), baseline)
        return estimates(speaker, objective, repeats=30).var(0).sum()

    assert noise(LeaveOneOutBaseline()) < 0.3 * noise(None)


def test_distributions_have_no_log_probability():
    objective = ScoreFunction(
        Worth(), Sample(PartialSamplingST(0.5), max_length=2)
    )
    with pytest.raises(ValueError, match="discrete.*PartialSamplingST"):
        objective.loss(Episode(tiny.TableSpeaker(), tiny.batch(2)))


def test_an_unknown_normalization_is_refused():
    with pytest.raises(ValueError, match="`normalize`.*normalize='word'"):
        ScoreFunction(Worth(), decoder(), normalize="word")


def test_one_sample_cannot_be_left_out():
    objective = ScoreFunction(Worth(), decoder(1), LeaveOneOutBaseline())
    with pytest.raises(ValueError, match="at least 2 samples"):
        objective.loss(Episode(tiny.TableSpeaker(), tiny.batch(2)))


def test_a_constant_normalization_divides_by_the_greatest_length():
    speaker, samples = tiny.TableSpeaker(2), decoder(2)
    episode = Episode(speaker, tiny.batch(6))
    summed, divided = (
        ScoreFunction(Worth(), samples, normalize=normalize).loss(episode)[0]
        for normalize in ("sequence", "constant")
    )
    assert float(divided) == pytest.approx(float(summed) / 2)


def test_standardized_advantages_have_one_deviation_in_every_row():
    seen = []

    class Told(LeaveOneOutBaseline):
        def __call__(self, rewards, episode):
            return ops.mean(rewards, axis=1, keepdims=True)

        def losses(self, rewards, values, mask):
            seen.append(np.array(rewards))
            return ops.zeros_like(rewards)

    speaker, samples = tiny.TableSpeaker(2), decoder(4)
    episode = Episode(speaker, tiny.batch(8))
    objective = ScoreFunction(Worth(), samples, Told(), standardize=True)
    loss, _ = objective.loss(episode)
    rewards = seen[0]
    advantage = rewards - rewards.mean(1, keepdims=True)
    advantage /= rewards.std(1, keepdims=True) + 1e-6
    scores = np.array(episode.rollout(samples).log_probs).sum(-1)
    assert float(loss) == pytest.approx(-(advantage * scores).mean(), rel=1e-4)


def test_one_sample_has_no_deviation():
    objective = ScoreFunction(Worth(), decoder(1), standardize=True)
    with pytest.raises(ValueError, match="`standardize` needs at least 2"):
        objective.loss(Episode(tiny.TableSpeaker(), tiny.batch(2)))


def test_rows_of_equal_rewards_teach_nothing_when_standardized():
    class Level(Reward):
        """The samples of one row are worth the same, up to float error."""

        def call(self, rollout, episode):
            return np.array([[3.0, 3.0 + 1e-6], [1.0, 2.0]], "float32")

    speaker, samples = tiny.TableSpeaker(2), decoder(2)
    episode = Episode(speaker, tiny.batch(2))
    for baseline in (None, lambda rewards, _: 0.5 * rewards[:, :1]):
        objective = ScoreFunction(Level(), samples, baseline, standardize=True)
        losses, _, _ = objective.per_sample_loss(episode)
        np.testing.assert_array_equal(losses[0], [0, 0])
        assert np.abs(losses[1]).min() > 0.1


def test_standardized_word_by_word_each_row_has_its_own_deviation():
    spreads = np.array([[1.0, 3.0], [10.0, 30.0]], "float32")

    class Given(Reward):
        def call(self, rollout, episode):
            return spreads

    speaker, samples = tiny.TableSpeaker(2), decoder(2)
    episode = Episode(speaker, tiny.batch(2))

    def losses(baseline):
        objective = ScoreFunction(Given(), samples, baseline, standardize=True)
        return objective.per_sample_loss(episode)[0]

    def word_by_word(rewards, episode):
        return ops.zeros_like(episode.rollout(samples).mask)

    np.testing.assert_allclose(
        losses(word_by_word), losses(None), rtol=1e-6, atol=1e-6
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


def known(rewards):
    class Known(Reward):
        def call(self, rollout, episode):
            return ops.convert_to_tensor(np.asarray(rewards, "float32"))

    return Known()


def test_a_length_normalization_is_the_mean_of_a_sequences_words():
    speaker, samples = tiny.TableSpeaker(2), decoder(3)
    episode = Episode(speaker, tiny.batch(6))
    term = ScoreFunction(Worth(), samples, normalize="length")
    losses, rewards, _ = term.per_sample_loss(episode)
    rollout = episode.rollout(samples)
    words, scores = (
        np.array(x).sum(-1) for x in (rollout.mask, rollout.log_probs)
    )
    assert set(words.ravel()) == {1, 2}
    np.testing.assert_allclose(losses, -rewards * scores / words, 1e-5)


def test_unfinished_captions_teach_nothing_and_are_compared():
    speaker, samples = tiny.TableSpeaker(2), decoder(6)
    episode = Episode(speaker, tiny.batch(2))
    rewards = np.arange(12.0).reshape(2, 6)
    made = [
        ScoreFunction(
            known(rewards), samples, LeaveOneOutBaseline(), mask_unfinished=mask
        ).per_sample_loss(episode)[0]
        for mask in (True, False)
    ]
    ended = (np.array(episode.rollout(samples).tokens) == 2).any(-1)
    assert ended.any() and not ended.all()
    np.testing.assert_allclose(made[0], np.where(ended, made[1], 0.0), 1e-6)


def test_advantages_are_standardized_over_a_batch():
    speaker, samples = tiny.TableSpeaker(2), decoder(3)
    episode = Episode(speaker, tiny.batch(4))
    rewards = np.random.default_rng(0).normal(2.0, 5.0, (4, 3))
    term = ScoreFunction(known(rewards), samples, standardize="batch")
    losses, _, _ = term.per_sample_loss(episode)
    advantage = (rewards - rewards.mean()) / rewards.std()
    scores = np.array(episode.rollout(samples).log_probs).sum(-1)
    np.testing.assert_allclose(losses, -advantage * scores, 1e-4, 1e-5)
    with pytest.raises(ValueError, match="`standardize` must be one of"):
        ScoreFunction(known(rewards), samples, standardize="row")


def test_few_words_count_where_few_captions_end():
    speaker, every = tiny.TableSpeaker(2), Everything()
    episode = Episode(speaker, tiny.batch(1))
    term = ScoreFunction(
        known(np.ones((1, 7))), every, normalize="token", mask_unfinished=True
    )
    # Of seven captions three have an end, and five words in all.
    ended = (every.tokens == 2).any(-1)
    scores = np.array(episode.rollout(every).log_probs)[0].sum(-1)
    wanted = -scores[ended].sum() / 5
    assert float(term.loss(episode)[0]) == pytest.approx(wanted, 1e-5)


class Row(Baseline):
    def __init__(self, value):
        self.value = value

    def __call__(self, rewards, episode):
        return self.value


class Bare(Baseline):
    """A baseline that asks for no words."""

    def __init__(self):
        super().__init__(lambda rewards, episode: 0.5)


def test_a_baseline_may_be_the_first_words():
    credit = MonteCarlo(1)
    for baseline in (Bare(), PrefixBaseline(Bare())):
        term = ScoreFunction(Worth(), decoder(2), baseline, credit=credit)
        term.loss(Episode(tiny.TableSpeaker(), tiny.batch(2)))
        assert len(term.decoders) == 1


def test_a_function_that_asks_for_words_is_no_baseline():
    def asks(rewards, episode):
        return 0.5

    asks.decoders = (decoder(),)
    with pytest.raises(
        TypeError, match="`baseline` must be a function or inherit"
    ):
        ScoreFunction(Worth(), decoder(2), asks)


@pytest.mark.parametrize("credit", [None, MonteCarlo(1)])
def test_baselines_are_numbers_of_all_rows_or_of_each(credit):
    """Rewards are 1 in one row and 2 in the other, whatever is said."""

    class RowNumber(Reward):
        def call(self, rollout, episode):
            shape = ops.shape(rollout.mask)[:2]
            return ops.broadcast_to(np.array([[1.0], [2.0]], "float32"), shape)

    def advantages(value):
        term = ScoreFunction(RowNumber(), decoder(2), Row(value), credit=credit)
        _, logs = term.loss(Episode(tiny.TableSpeaker(), tiny.batch(2)))
        return float(logs["reward_advantage"]), logs["reward_advantage_std"]

    assert advantages(np.array([[1.0], [2.0]], "float32")) == (0.0, 0.0)
    for half in (0.5, np.float32(0.5)):
        mean, std = advantages(half)
        assert mean > 0.5 and std > 0.1
    with pytest.raises(ValueError, match=r"`baseline` must return.*x\[:, None"):
        advantages(np.array([1.0, 2.0], "float32"))
