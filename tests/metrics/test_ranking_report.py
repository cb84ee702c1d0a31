import numpy as np
import pytest

from tfcap.metrics import RankingReport
from tfcap.metrics.ranking import candidate_ranks
from tfcap.metrics.ranking import ndcg

RNG = np.random.default_rng(0)
SCORES = RNG.normal(size=(12, 10, 30))
TRUTH = RNG.integers(-1, 30, size=(12, 10))
RELEVANCE = np.maximum(0, RNG.normal(size=SCORES.shape) - 1)


def test_batches_add_up_to_the_whole():
    report = RankingReport()
    for rows in np.split(np.arange(12), [5, 6]):
        report.add(SCORES[rows], TRUTH[rows], RELEVANCE[rows])
    ranks = candidate_ranks(SCORES, TRUTH)
    ranks = ranks[~np.isnan(ranks)]
    wanted = {
        "mrr": np.mean(1 / ranks),
        "r@1": 100 * np.mean(ranks <= 1),
        "r@5": 100 * np.mean(ranks <= 5),
        "r@10": 100 * np.mean(ranks <= 10),
        "mean_rank": ranks.mean(),
        "ndcg": ndcg(SCORES, RELEVANCE).mean(),
        "count": (TRUTH >= 0).sum(),
    }
    assert report.result() == pytest.approx(wanted)
    assert list(report.result()) == list(wanted)


def test_rows_in_which_nothing_is_relevant_have_no_ndcg():
    relevance = RELEVANCE.copy()
    relevance[3], relevance[5, 1:] = 0.0, np.nan
    report = RankingReport()
    for rows in np.split(np.arange(12), [5]):
        report.add(SCORES[rows], TRUTH[rows], relevance[rows])
    there = np.ones((12, 10), bool)
    there[3] = there[5, 1:] = False
    wanted = ndcg(SCORES[there], RELEVANCE[there]).mean()
    assert report.result()["ndcg"] == pytest.approx(wanted)
    assert report.result()["count"] == (TRUTH >= 0).sum()


def test_invalid_candidates_count_for_neither_rank_nor_ndcg():
    valid = np.ones(SCORES.shape, bool)
    valid[..., 20:] = False
    some, all_ = RankingReport(), RankingReport()
    truth = TRUTH % 20
    some.add(SCORES, truth, RELEVANCE, valid)
    all_.add(SCORES[..., :20], truth, RELEVANCE[..., :20])
    assert some.result() == all_.result()


def test_an_empty_report_says_so():
    report = RankingReport()
    result = report.result()
    assert result["count"] == 0 and np.isnan(result["mrr"])
    report.add(np.zeros((1, 4)), [0])
    result = report.result()
    assert result["mean_rank"] == 2.5 and "ndcg" not in result
