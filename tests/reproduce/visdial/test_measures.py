import numpy as np
import pytest

from reproduce.visdial.measures import answer_statistics
from reproduce.visdial.measures import other_images
from tests import dialogs
from tfcap.metrics import RankingReport
from tfcap.metrics import answer_prior


def test_answers_that_are_frequent_in_the_training_split_stand_first():
    # Of other lists of answers: known by their words, not by their numbers.
    train, test = dialogs.encoded(seed=1), dialogs.encoded()
    assert train.answers.tolist() != test.answers.tolist()
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


@pytest.mark.parametrize("dialogs", [2, 3, 7])
def test_every_image_is_some_other_dialogs(dialogs):
    features, orders = np.arange(float(dialogs))[:, None, None], set()
    for seed in range(5):
        whole = other_images(features, dialogs, seed)(np.arange(dialogs))
        orders.add(tuple(whole.ravel()))
        assert sorted(whole.ravel()) == list(range(dialogs))
        assert (whole.ravel() != np.arange(dialogs)).all()
        # The same in every batch.
        read = other_images(lambda rows: features[rows], dialogs, seed)
        np.testing.assert_array_equal(read(np.array([1, 0])), whole[[1, 0]])
    assert len(orders) > 1 or dialogs == 2


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
