import numpy as np
import pytest

from tests import tiny
from tests.enumerated import Everything
from tests.enumerated import Known
from tfcap.objectives import Episode
from tfcap.objectives import StructureLoss
from tfcap.objectives.ranking import PreferenceLoss
from tfcap.rewards import Surprisal

SPEAKER, REFERENCE = tiny.TableSpeaker(1), tiny.TableSpeaker(2)
TOKENS = tiny.captions()
#: Two are equal, and so no pair.
REWARDS = np.array([0.3, 1.0, -0.5, 0.2, 0.2, 0.7, -1.0], "float32")


def reward(values=REWARDS[None]):
    return Known(values)


def scores(speaker, mean=False):
    found = np.log(tiny.chances(speaker))
    return found / (TOKENS > 0).sum(-1) if mean else found


def loss_of(margin, kind, beta, gamma):
    if kind == "ipo":
        return (margin - 1 / (2 * beta)) ** 2
    return np.log1p(np.exp(-(beta * margin - gamma)))


@pytest.mark.parametrize("pairs", ["best_worst", "all"])
@pytest.mark.parametrize("kind", ["dpo", "ipo", "simpo"])
def test_losses_by_a_loop(kind, pairs):
    beta, gamma = 0.4, 0.3 if kind == "simpo" else 0.0
    reference = None if kind == "simpo" else REFERENCE
    made = PreferenceLoss(
        reward(), Everything(), reference, kind, beta, gamma, pairs
    )
    found, _, logs = made.per_sample_loss(Episode(SPEAKER, tiny.batch(1)))
    s = scores(SPEAKER, kind == "simpo")
    s = s if kind == "simpo" else s - scores(REFERENCE)
    count = len(REWARDS)

    def above(w, o):
        return REWARDS[w] > REWARDS[o]

    chosen = [(w, o) for w, o in np.ndindex(count, count) if above(w, o)]
    if pairs == "best_worst":
        chosen = [(int(REWARDS.argmax()), int(REWARDS.argmin()))]
    losses = [loss_of(s[w] - s[o], kind, beta, gamma) for w, o in chosen]
    assert float(found[0, 0]) == pytest.approx(np.mean(losses), 1e-4)
    assert float(logs["pairs"][0, 0]) == len(chosen)
    right = np.mean([s[w] > s[o] for w, o in chosen])
    assert float(logs["accuracy"][0, 0]) == pytest.approx(right)


@pytest.mark.parametrize("pairs", ["best_worst", "all"])
def test_what_is_logged_is_of_pairs_and_not_of_rows(pairs):
    worth = np.zeros((3, len(TOKENS)), "float32")
    worth[0], worth[1, 2] = REWARDS, 1.0

    made = PreferenceLoss(reward(worth), Everything(), REFERENCE, pairs=pairs)
    s = scores(SPEAKER) - scores(REFERENCE)
    margins = []
    for row in worth[:2]:
        if pairs == "best_worst":
            margins.append(s[row.argmax()] - s[row.argmin()])
        else:
            above = row[:, None] > row
            margins += (s[:, None] - s)[above].tolist()
    _, logs = made.loss(Episode(SPEAKER, tiny.batch(3)))
    right = np.mean(np.array(margins) > 0)
    wanted = {
        "accuracy": right,
        "margin": np.mean(margins),
        "pairs": len(margins) / 3,
    }
    for name, value in wanted.items():
        assert float(logs[f"reward/{name}"]) == pytest.approx(value, 1e-4)


def test_equal_rewards_are_no_pair():
    equal = reward(np.ones((1, len(TOKENS))))
    made = PreferenceLoss(equal, Everything(), REFERENCE)
    losses, _, logs = made.per_sample_loss(Episode(SPEAKER, tiny.batch(1)))
    assert float(losses[0, 0]) == 0 and float(logs["pairs"][0, 0]) == 0
    assert float(logs["accuracy"][0, 0]) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "`reference` must be a speaker for"),
        ({"reference": REFERENCE, "loss": "simpo"}, "`reference`.*None for .s"),
        ({"reference": REFERENCE, "loss": "kto"}, "`loss` must be one of"),
        ({"reference": REFERENCE, "beta": 0.0}, "`beta` must be positive"),
        ({"reference": REFERENCE, "gamma": 5.0}, "`gamma` must be 0"),
        (
            {"reference": REFERENCE, "loss": "ipo", "gamma": 5.0},
            "`gamma` must be 0",
        ),
    ],
)
def test_arguments_are_refused_with_the_cure(options, message):
    with pytest.raises(ValueError, match=message):
        PreferenceLoss(reward(), Everything(), **options)


def test_rewards_of_words_are_refused():
    words = reward() + Surprisal(per_word=True)
    episode = Episode(SPEAKER, tiny.batch(1))
    for made in (
        PreferenceLoss(words, Everything(), REFERENCE),
        StructureLoss(words, Everything(), "risk"),
    ):
        with pytest.raises(ValueError, match="one number for each sequence"):
            made.per_sample_loss(episode)
