import dataclasses

import numpy as np
import pytest

from reproduce.visdial.controls import answer_prior
from reproduce.visdial.controls import other_images
from tests import dialogs
from tfcap.metrics import RankingReport

FEATURES = np.random.default_rng(0).normal(size=(7, 2, 3)).astype("float32")


def test_frequent_answers_stand_first():
    data = dialogs.encoded()
    said = [
        data.vocabulary.decode(data.answers[i])
        for i in data.answer_index[data.answer_index >= 0]
    ]
    by_hand = RankingReport()
    for options, truth in zip(
        data.options.reshape(-1, data.options.shape[-1]),
        data.gt_index.reshape(-1),
    ):
        if truth >= 0:
            words = [data.vocabulary.decode(data.answers[i]) for i in options]
            by_hand.add(np.array([[said.count(w) for w in words]]), [truth])
    found = answer_prior(data, data).result()
    assert found == pytest.approx(by_hand.result())
    assert 0.3 < found["mrr"] < 1


def test_only_answers_of_the_training_split_are_counted():
    train, test = dialogs.encoded(seed=1), dialogs.encoded()
    decode = test.vocabulary.decode
    given = train.answer_index[train.answer_index >= 0]
    said = [decode(train.answers[i]) for i in given]
    counts = [said.count(decode(answer)) for answer in test.answers]
    scores = np.array(counts, float)[test.options]
    by_hand = RankingReport()
    there = test.gt_index >= 0
    by_hand.add(scores[there], test.gt_index[there])
    found = answer_prior(train, test).result()
    assert found == pytest.approx(by_hand.result())
    assert found != answer_prior(test, test).result()


def test_answers_are_known_by_their_words_and_not_by_their_numbers():
    data = dialogs.encoded()
    order = np.random.default_rng(0).permutation(len(data.answers))
    place = np.argsort(order)
    moved = dataclasses.replace(
        data,
        answers=np.pad(data.answers[order], ((0, 0), (0, 3))),
        options=np.where(data.options >= 0, place[data.options], -1),
        answer_index=np.where(
            data.answer_index >= 0, place[data.answer_index], -1
        ),
    )
    assert (
        answer_prior(data, moved).result() == answer_prior(data, data).result()
    )


@pytest.mark.parametrize("dialogs", [2, 3, 7])
@pytest.mark.parametrize("seed", range(5))
def test_every_image_is_some_other_dialogs(dialogs, seed):
    features = np.arange(float(dialogs))[:, None, None]
    found = other_images(features, dialogs, seed)(np.arange(dialogs)).ravel()
    assert sorted(found) == list(range(dialogs))
    assert (found != np.arange(dialogs)).all()


def test_a_dialog_has_the_same_other_image_in_every_batch():
    whole = other_images(FEATURES, 7, seed=1)(np.arange(7))
    read = other_images(lambda rows: FEATURES[rows], 7, seed=1)
    np.testing.assert_array_equal(read(np.array([5, 2])), whole[[5, 2]])
    other = other_images(FEATURES, 7, seed=2)(np.arange(7))
    assert not np.array_equal(other, whole)


def test_one_dialog_has_no_other():
    with pytest.raises(ValueError, match="at least 2.*dialogs=1"):
        other_images(FEATURES[:1], 1)
