from collections import Counter

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


def kind(words):
    """How a copy of 10, 11, 12, 13 was made of words from 50 on."""
    old = [word for word in words if word < 50]
    if sorted(words) == [10, 11, 12, 13]:
        return "same" if words == sorted(words) else "shuffled"
    if len(old) > 4:
        assert words[:4] == [10, 11, 12, 13] and {*words[4:]} == {13}
        return f"{len(words) - 4} repeated"
    assert old == [10, 11, 12, 13][: len(old)] == words[: len(old)]
    new = len(words) - len(old)
    return "cut" if len(old) < 4 and new == 2 else f"{new} appended"


def test_corrupted_copies_are_the_four_kinds_and_well_formed():
    answer = np.array([[10, 11, 12, 13, EOS, 0, 0, 0]])
    copies = corrupt(answer, np.array([50, 51]), 2_000, EOS, rng())[0]
    assert ((copies == EOS).sum(axis=1) == 1).all()
    kinds = Counter(
        kind([word for word in row if word > EOS]) for row in copies.tolist()
    )
    made = {f"{n} {how}" for n in "123" for how in ("appended", "repeated")}
    assert kinds.keys() == {"shuffled", "same", "cut", *made}
    assert min(kinds["shuffled"], kinds["cut"]) > 400
    assert min(kinds[x] for x in made) > 100


def test_full_and_empty_answers_are_corrupted_within_the_width():
    answers = np.array([[10, 11, 12, EOS], [EOS, 0, 0, 0]])
    copies = corrupt(answers, np.array([50]), 200, EOS, rng())
    assert copies.shape == (2, 200, 4)
    assert ((copies == EOS).sum(-1) == 1).all()
