import dataclasses

import numpy as np
import pytest

from reproduce.visdial.measures import answer_prior
from reproduce.visdial.measures import answer_statistics
from reproduce.visdial.measures import other_images
from tests import dialogs
from tfcap.metrics import RankingReport


def test_answers_that_are_frequent_in_the_training_split_stand_first():
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
    wanted = answer_prior(data, data).result()
    assert answer_prior(data, moved).result() == wanted


@pytest.mark.parametrize("dialogs", [2, 3, 7])
def test_every_image_is_some_other_dialogs(dialogs):
    features = np.arange(float(dialogs))[:, None, None]
    orders = set()
    for seed in range(5):
        found = other_images(features, dialogs, seed)(np.arange(dialogs))
        orders.add(tuple(found.ravel()))
        assert sorted(found.ravel()) == list(range(dialogs))
        assert (found.ravel() != np.arange(dialogs)).all()
    assert len(orders) > 1 or dialogs == 2


def test_a_dialog_has_the_same_other_image_in_every_batch():
    features = np.arange(7.0)[:, None, None]
    whole = other_images(features, 7, seed=1)(np.arange(7))
    read = other_images(lambda rows: features[rows], 7, seed=1)
    np.testing.assert_array_equal(read(np.array([5, 2])), whole[[5, 2]])


def test_statistics_are_counted_by_hand():
    said = ["no", "No", "yes, it is", "yes", "a red hat", "can't tell"]
    corpus = iter(["no", "can't tell", "blue", "yes"])
    assert answer_statistics(iter(said), corpus) == pytest.approx(
        {
            "count": 6,
            "distinct": 5,
            "distinct_share": 5 / 6,
            "corpus_share": 4 / 6,
            # "yes , it is" has four tokens, "ca n't tell" three.
            "mean_length": (1 + 1 + 4 + 1 + 3 + 3) / 6,
            "yes_no_share": 3 / 6,
        }
    )
