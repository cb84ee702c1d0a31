import numpy as np

from reproduce.visdial.corrupted_batches import CorruptedBatches
from reproduce.visdial.corrupted_batches import corrupt
from tests import dialogs

EOS = 2


def rng(seed=0):
    return np.random.default_rng(seed)


def test_copies_come_after_the_other_candidates():
    data, features = dialogs.encoded(), dialogs.features(8)
    draws = {"negatives": 3, "in_batch_negatives": 2}
    plain = CorruptedBatches(data, features, 4, **draws).batch(0)
    batches = CorruptedBatches(
        data, features, 4, **draws, corrupted_negatives=2
    )
    inputs, labels = batches.batch(0)
    words = inputs["options"]
    np.testing.assert_array_equal(words[:, :, :6], plain[0]["options"])
    np.testing.assert_array_equal(labels[..., :6], plain[1])
    truth = words[:, :, :1]
    equal = (words[:, :, 6:] == truth).all(-1)
    np.testing.assert_array_equal(labels[..., 6:], np.where(equal, -1.0, 0.0))
    absent = ~truth.any(-1)[..., 0]
    assert absent.any() and not words[absent].any()
    assert words.dtype == np.int32 and labels.dtype == np.float32


def test_corrupted_copies_are_the_four_kinds_and_well_formed():
    answer = np.array([[10, 11, 12, 13, EOS, 0, 0, 0]])
    copies = corrupt(answer, np.array([50, 51]), 4_000, EOS, rng())[0]
    seen = {"append": 0, "repeat": 0, "shuffle": 0, "cut": 0}
    for row in copies.tolist():
        end = row.index(EOS)
        words, rest = row[:end], row[end + 1 :]
        assert not any(rest) and 0 not in words
        new = [word for word in words if word >= 50]
        old = words[: len(words) - len(new)]
        if sorted(words) == [10, 11, 12, 13]:
            seen["shuffle"] += 1
        elif not new:
            assert set(words[4:]) == {13} and 5 <= len(words) <= 7
            seen["repeat"] += 1
        elif old == [10, 11, 12, 13]:
            assert 1 <= len(new) <= 3
            seen["append"] += 1
        else:
            assert old == [10, 11, 12, 13][: len(old)] and len(new) == 2
            seen["cut"] += 1
    for count in seen.values():
        assert abs(count / 4_000 - 0.25) < 0.04


def test_full_and_empty_answers_are_corrupted_within_the_width():
    answers = np.array([[10, 11, 12, EOS], [EOS, 0, 0, 0]])
    copies = corrupt(answers, np.array([50]), 200, EOS, rng())
    assert copies.shape == (2, 200, 4)
    assert ((copies == EOS).sum(-1) == 1).all()
