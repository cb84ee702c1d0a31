import keras
import numpy as np
import pytest

from tests import tiny
from tests.enumerated import Worth
from tests.enumerated import worth
from tests.objectives.test_monte_carlo import Told
from tests.objectives.test_score_function import decoder
from tfcap.decoding import MixedPrefix
from tfcap.objectives import Episode
from tfcap.objectives import LeaveOneOutBaseline
from tfcap.objectives import MonteCarlo
from tfcap.objectives import PrefixBaseline
from tfcap.objectives import ScoreFunction
from tfcap.objectives import TeacherForcing
from tfcap.training import JointTraining

SAID = np.array(
    [
        [[3, 4, 2], [4, 2, 0], [3, 3, 4]],
        [[4, 3, 2], [4, 3, 2], [4, 3, 2]],
        [[3, 2, 0], [4, 4, 4], [2, 0, 0]],
        # Of a row without a human word, nothing counts.
        [[3, 3, 3], [3, 3, 3], [3, 3, 3]],
    ]
)
HUMAN = [[[3, 2]], [[4, 2]], [[3, 2]], [[0, 0]]]


class Known(Told):
    """Says what it is told, as so many samples."""

    def __init__(self, tokens):
        super().__init__(tokens)
        self.num_samples = self.tokens.shape[1]


def logged(objective, human=HUMAN):
    episode = Episode(tiny.TableSpeaker(1), tiny.batch(len(human), human))
    _, logs = objective.loss(episode)
    assert set(logs) == set(objective.log_names())
    return {k.removeprefix("worth/"): float(v) for k, v in logs.items()}


def test_all_is_as_by_a_loop():
    objective = ScoreFunction(Worth(), Known(SAID), LeaveOneOutBaseline())
    found, there = logged(objective), SAID[:3]
    table = keras.ops.convert_to_numpy(tiny.TableSpeaker(1).table)
    rewards = worth(there)
    baseline = (rewards.sum(1, keepdims=True) - rewards) / 2
    chances = [tiny.probability(table, r) for r in there.reshape(9, 3)]
    words = np.count_nonzero(there)
    wanted = {
        "worth": rewards.mean(),
        "std": rewards.std(),
        "mean_length": words / 9,
        "clipped_ratio": 2 / 9,
        "entropy": -np.sum(np.log(chances)) / words,
        "frac_reward_zero_std": 1 / 3,
        "baseline": baseline.mean(),
        "advantage": 0.0,
        "advantage_std": (rewards - baseline).std(),
    }
    assert found.keys() == wanted.keys()
    for key, value in wanted.items():
        np.testing.assert_allclose(found[key], value, rtol=1e-4, atol=1e-6)


def test_what_is_of_words_is_a_mean_over_words():
    credit = np.random.default_rng(0).normal(size=SAID.shape)

    def told(rewards, episode, reward, decoder):
        return credit.astype("float32")

    objective = ScoreFunction(
        Worth(), Told(SAID), PrefixBaseline(), credit=told
    )
    found = logged(objective)
    before = np.pad(credit, [(0, 0), (0, 0), (1, 0)])[..., :-1]
    counts = SAID > 0
    counts[3] = False
    advantage = (credit - before)[counts]
    for key, wanted in {
        "baseline": before[counts].mean(),
        "advantage": advantage.mean(),
        "advantage_std": advantage.std(),
    }.items():
        np.testing.assert_allclose(found[key], wanted, rtol=1e-4, atol=1e-6)
    plain = logged(ScoreFunction(Worth(), Told(SAID)))
    assert found["worth"] == pytest.approx(plain["worth"])


def test_what_cannot_be_known_is_not_logged():
    # Without a baseline there is none; of one sample, or of as many as there
    # are references, no groups are known.
    assert set(logged(ScoreFunction(Worth(), Told(SAID)))) == {
        "worth",
        *("std", "mean_length", "clipped_ratio", "entropy"),
    }
    mixed = MixedPrefix(1, 3)
    assert "frac_reward_zero_std" not in logged(ScoreFunction(Worth(), mixed))
    assert set(logged(TeacherForcing())) == {"teacher_forcing"}


def test_only_drawn_words_surprise():
    speaker, mixed = tiny.TableSpeaker(1), MixedPrefix(3, 3)
    human = [[[3, 4, 2]]]
    objective = ScoreFunction(Worth(), mixed)
    inputs = tiny.batch(1, human)
    _, logs = objective.loss(Episode(speaker, inputs))
    assert logs["worth/entropy"] == 0.0 and logs["worth/mean_length"] == 3.0
    mixed.prefix.assign(0)
    _, logs = objective.loss(Episode(speaker, inputs))
    assert logs["worth/entropy"] > 0.0


def test_training_tracks_all_of_it(capsys):
    speaker, samples = tiny.TableSpeaker(), decoder(2)
    objective = ScoreFunction(
        Worth(), samples, PrefixBaseline(), credit=MonteCarlo(1)
    )
    names = set(objective.log_names())
    assert {"worth/advantage", "worth/frac_reward_zero_std"} < names
    model = JointTraining(speaker, objective)
    model.compile(keras.optimizers.SGD(0.1))
    data = tiny.batch(8)
    history = model.fit(data, epochs=2, batch_size=4).history
    assert set(history) == {"loss", *names}
    assert "worth/advantage_std" in capsys.readouterr().out
    assert all(np.isfinite(v).all() for v in history.values())
