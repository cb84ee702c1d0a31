import numpy as np
import pytest
from keras import ops

from tests import tiny
from tests.enumerated import Worth
from tests.enumerated import assert_unbiased
from tests.enumerated import estimates
from tests.enumerated import exact_gradient
from tests.enumerated import worth
from tests.gradients import slopes
from tfcap.decoding import Greedy
from tfcap.decoding import Rollout
from tfcap.decoding import Sample
from tfcap.layers import Categorical
from tfcap.models import RetrievalListener
from tfcap.objectives import DecoderBaseline
from tfcap.objectives import Episode
from tfcap.objectives import LeaveOneOutBaseline
from tfcap.objectives import MonteCarlo
from tfcap.objectives import PrefixBaseline
from tfcap.objectives import ScoreFunction
from tfcap.rewards import BidirectionalContrastive
from tfcap.rewards import ConstantReward
from tfcap.rewards import KLPenalty
from tfcap.rewards import PairwiseDiversity
from tfcap.rewards import Reward
from tfcap.rewards import Surprisal


def sample(num_samples=1, length=3, seed=5):
    return Sample(Categorical(seed=seed), num_samples, max_length=length)


class Told(Sample):
    """Says what it is told, and goes on by chance."""

    def __init__(self, tokens, channel=None):
        super().__init__(channel or Categorical(seed=3))
        self.tokens = np.asarray(tokens, "int32")

    def decode(self, speaker, state, references=None, training=False):
        mask = (self.tokens > 0).astype("float32")
        return Rollout(ops.convert_to_tensor(self.tokens), mask)


class Thirds(Categorical):
    """A third of all draws, in turn, from each third of the probability."""

    def uniform(self, shape, minval=0.0):
        places = ops.arange(shape[0], dtype="int32") % 3
        return (ops.cast(places, "float32") + 0.5) / 3.0


def value(table, beginning, length):
    """What a beginning is worth, by enumeration of its ends."""
    captions = tiny.captions(length)
    captions = captions[(captions[:, : len(beginning)] == beginning).all(-1)]
    p = np.array([tiny.probability(table, c) for c in captions])
    return (p * worth(captions)).sum() / p.sum()


def credit(speaker, decoder, count):
    episode = Episode(speaker, tiny.batch(len(decoder.tokens)))
    rollout = episode.rollout(decoder)
    rewards = Worth()(rollout, episode)
    found = MonteCarlo(count)(rewards, episode, Worth(), decoder)
    return np.array(found), np.array(rewards)


def test_credit_is_what_beginnings_are_worth():
    speaker = tiny.TableSpeaker()
    table = ops.convert_to_numpy(speaker.table)
    tokens = np.array([[[3, 4, 4], [4, 2, 0]], [[2, 0, 0], [3, 3, 2]]])
    found, rewards = credit(speaker, Told(tokens), count=30_000)
    assert found.shape == (2, 2, 3)
    for row, s in np.ndindex(2, 2):
        caption = tokens[row, s]
        size = np.count_nonzero(caption)
        for t in range(size - 1):
            wanted = value(table, caption[: t + 1], 3)
            assert abs(found[row, s, t] - wanted) < 0.08
        # The last word's is that of the sentence; nothing is left to chance.
        np.testing.assert_array_equal(
            found[row, s, size - 1 :], rewards[row, s]
        )


def test_a_sentence_of_one_word_has_its_own_reward():
    episode = Episode(tiny.TableSpeaker(), tiny.batch(2))
    rewards = np.array([[4.0], [5.0]])
    told = Told([[[3]], [[2]]])
    found = MonteCarlo(2)(rewards, episode, ConstantReward(), told)
    np.testing.assert_array_equal(found, rewards[..., None])


def even_speaker():
    """Every word is as likely as any other, after any."""
    speaker = tiny.TableSpeaker()
    speaker.table.assign(np.zeros_like(speaker.table))
    return speaker


def everything(length):
    """Such a speaker, all that it can say, and how likely that is."""
    speaker = even_speaker()
    told = Told(tiny.captions(length)[:, None], Thirds())
    return speaker, told, np.array(tiny.chances(speaker, length))


def expected_gradient(speaker, told, p, reward=None, **options):
    """Of an estimator, over everything that can be said."""
    objective = ScoreFunction(reward or Worth(), told, **options)

    def expected():
        episode = Episode(speaker, tiny.batch(len(p)))
        losses, _, _ = objective.per_sample_loss(episode)
        return (ops.sum(p * ops.mean(losses, axis=1)),)

    return np.array(slopes(expected, speaker.table)()[0])


@pytest.mark.parametrize("baseline", [None, PrefixBaseline()])
def test_the_expected_gradient_is_that_of_the_plain_reward_to_the_digit(
    baseline,
):
    # Two words, each of three: three continuations enumerate what may come.
    speaker, told, p = everything(2)
    plain = expected_gradient(speaker, told, p)
    assert np.abs(plain).max() > 0.1
    options = {"credit": MonteCarlo(3), "baseline": baseline}
    found = expected_gradient(speaker, told, p, **options)
    np.testing.assert_allclose(found, plain, atol=1e-6)
    exact = exact_gradient(speaker, worth)
    np.testing.assert_allclose(-found, exact, atol=1e-6)


@pytest.mark.parametrize("every", [1, 2, 3])
def test_some_beginnings_are_enough_for_the_expected_gradient(every):
    # Nine continuations of two words enumerate them, too.
    speaker, told, p = everything(3)
    credit = MonteCarlo(9, rollout_every=every)
    exact = exact_gradient(speaker, worth, 3)

    def found(credit, baseline):
        options = {"credit": credit, "baseline": baseline}
        return -expected_gradient(speaker, told, p, **options)

    for baseline in (None, PrefixBaseline()):
        np.testing.assert_allclose(found(credit, baseline), exact, atol=1e-6)
    if every > 1:
        # Of a baseline that knows the word, this would be wrong.
        wrong = found(lambda *args: credit(*args), PrefixBaseline())
        assert np.abs(wrong - exact).max() > 0.1 * np.abs(exact).max()


def test_a_word_has_the_value_of_the_next_beginning_that_is_continued():
    speaker = tiny.TableSpeaker()
    tokens = np.array([[[3, 4, 3, 4, 4], [3, 4, 3, 2, 0], [3, 2, 0, 0, 0]]])
    told = Told(tokens)
    episode = Episode(speaker, tiny.batch(1))
    rewards = np.array([[10.0, 20.0, 30.0]], "float32")

    class Places(Reward):
        """How many words of what was said a continuation begins with."""

        def call(self, rollout, episode):
            said = ops.reshape(rollout.tokens, (1, 3, -1, 5))
            same = ops.cast(said == tokens[:, :, None], "float32")
            return ops.reshape(ops.sum(ops.cumprod(same, -1), -1), (1, -1))

    found = MonteCarlo(50, 2)(rewards, episode, Places(), told)[0]
    first, second = found[0, 1], found[0, 3]
    assert 2 < first < second < 5
    np.testing.assert_array_equal(found[0], [first, first, second, second, 10])
    # After the last beginning, and where the caption ends before it: all.
    np.testing.assert_array_equal(found[1], [found[1, 0]] * 2 + [20] * 3)
    np.testing.assert_array_equal(found[2], [30] * 5)


#: Without one and with its own, the gradient is enumerated above.
GREEDY = DecoderBaseline(Worth(), Greedy(max_length=3))


@pytest.mark.parametrize(
    "baseline", [PrefixBaseline(GREEDY), GREEDY, LeaveOneOutBaseline()]
)
def test_one_continuation_is_enough_for_the_mean_gradient(baseline):
    speaker = tiny.TableSpeaker(2)
    term = ScoreFunction(Worth(), sample(2), baseline, credit=MonteCarlo(1))
    found = estimates(speaker, term, repeats=30)
    assert_unbiased(found, exact_gradient(speaker, worth, 3), 0.05)


def test_early_feedback_quietens_the_gradient():
    # What counts is the first word, and what follows is noise.
    def first_word(rollout, episode):
        worth = ops.array([0.0, 0.0, 1.0, 3.0, -3.0])
        words = ops.take(worth, rollout.tokens) * rollout.mask
        return words[..., 0] + 2.0 * ops.sum(words[..., 1:], axis=-1)

    def noise(**options):
        objective = ScoreFunction(first_word, sample(length=4), **options)
        return estimates(even_speaker(), objective, 200, 30).var(0).sum()

    plain = noise()
    early = noise(credit=MonteCarlo(4))
    both = noise(credit=MonteCarlo(4), baseline=PrefixBaseline())
    assert early < 0.75 * plain and both < 0.75 * early


def test_what_is_logged_is_the_reward_of_sentences():
    told = Told([[[3, 4, 2]], [[4, 2, 0]]])
    credit = MonteCarlo(2)
    term = ScoreFunction(Worth(), told, PrefixBaseline(), credit=credit)
    _, logs = term.loss(Episode(tiny.TableSpeaker(), tiny.batch(2)))
    assert float(logs["worth"]) == pytest.approx(worth(told.tokens).mean())


@pytest.mark.parametrize("training", [True, False])
def test_all_continuations_are_scored_in_one_call_beside_their_batch(training):
    seen, asked = [], []

    def curious(rollout, episode):
        seen.append((rollout.tokens.shape, episode.state, {*asked}))
        asked.clear()
        return ops.ones(rollout.tokens.shape[:2])

    class Asked(tiny.TableSpeaker):
        def step(self, words, state, training=False):
            asked.append(training)
            return super().step(words, state, training)

    episode = Episode(Asked(1), tiny.batch(2), training=training)
    credited(curious, sample(2, 4), 3).per_sample_loss(episode)
    # Words go on with dropout where they were drawn with it.
    assert seen == [
        ((2, 2, 4), episode.state, {training}),
        ((2, 2 * 3 * 3, 4), episode.state, {training}),
    ]


def by_word(rollout, episode):
    return rollout.mask


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MonteCarlo(0), "`num_continuations`.*num_continuations=0"),
        (lambda: MonteCarlo(1, 0), "`rollout_every`.*rollout_every=0"),
        (
            lambda: credited(Worth(), Greedy(2)),
            "`continuations.*decoder=Greedy",
        ),
        (
            lambda: credited(Worth(), Sample(no_repeat_ngram=3)),
            "`no_repeat_ngram` must be 0",
        ),
        (
            lambda: credited(by_word, sample()).loss(
                Episode(tiny.TableSpeaker(), tiny.batch(2))
            ),
            "one number for each sequence",
        ),
    ],
)
def test_what_cannot_be_credited_is_refused(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()


def credited(reward, decoder, count=1):
    return ScoreFunction(reward, decoder, credit=MonteCarlo(count))


def contrast(**options):
    return BidirectionalContrastive(
        RetrievalListener(tiny.VOCABULARY, units=4), **options
    )


REFUSED = {
    "diverse": (PairwiseDiversity, "compare samples"),
    "contrast": (contrast, "compare samples"),
    "surprisal": (Surprisal, "read log probabilities"),
    "kl": (lambda: KLPenalty(tiny.TableSpeaker()), "read log probabilities"),
}


@pytest.mark.parametrize("reward", REFUSED)
def test_rewards_of_more_than_a_sentence_are_refused(reward):
    make, what = REFUSED[reward]
    for refused in (make(), ConstantReward() + 0.1 * make()):
        ScoreFunction(refused, sample(2))
        with pytest.raises(ValueError, match=f"must not .*{what}"):
            credited(refused, sample(2))
    credited(contrast(directions=("image",)), sample())
