import numpy as np
import pytest

from tfcap.metrics import RetrievalReport
from tfcap.metrics import evaluate_retrieval
from tfcap.metrics import ndcg
from tfcap.training import EvaluationCallback

RNG = np.random.default_rng(0)
SCORES = RNG.integers(6, size=(9, 9)).astype("float32")


def test_metrics_are_those_of_the_ranks():
    report = RetrievalReport([1, 3, 8, np.nan], [2.0, 11.0])
    assert report.rows()["image_to_text"] == {
        "r@1": pytest.approx(100 / 3),
        "r@5": pytest.approx(200 / 3),
        "r@10": 100.0,
        "median_rank": 3.0,
        "mean_rank": 4.0,
        "mrr": pytest.approx((1 + 1 / 3 + 1 / 8) / 3),
        "count": 3,
    }
    assert report.result()["text_to_image_mean_rank"] == 6.5


def test_ndcg_of_one_truth_is_that_of_its_relevance():
    for depth in (None, 1, 3, 50):
        report = evaluate_retrieval(scores=SCORES, ndcg_depth=depth)
        k = depth or 9
        np.testing.assert_allclose(
            report.image_ndcg, ndcg(SCORES, np.eye(9), k), rtol=1e-6, atol=1e-6
        )
        np.testing.assert_allclose(
            report.text_ndcg, ndcg(SCORES.T, np.eye(9), k), rtol=1e-6, atol=1e-6
        )


@pytest.mark.parametrize("block_size", [1, 3, 100])
@pytest.mark.parametrize("images, texts", [(9, 9), (4, 9), (9, 4)])
def test_graded_relevance_may_be_a_matrix_or_a_function(
    images, texts, block_size
):
    scores = SCORES[:images, :texts]
    ids = np.arange(texts) % images
    relevance = RNG.uniform(size=scores.shape).round(1)

    def function(rows, columns):
        return relevance[np.ix_(rows, columns)]

    for given in (relevance, function):
        report = evaluate_retrieval(
            scores=scores, ids=ids, relevance=given, block_size=block_size
        )
        np.testing.assert_allclose(
            report.image_ndcg, ndcg(scores, relevance, 9), rtol=1e-5, atol=1e-6
        )
        np.testing.assert_allclose(
            report.text_ndcg,
            ndcg(scores.T, relevance.T, 9),
            rtol=1e-5,
            atol=1e-6,
        )


def test_several_truths_need_relevance_for_an_ndcg():
    ids = np.array([0, 0, 1, 1, -1])
    scores = RNG.normal(size=(2, 5))
    report = evaluate_retrieval(scores=scores, ids=ids)
    assert report.image_ndcg is None
    assert np.isnan(report.text_ndcg[4])
    assert "image_to_text_ndcg" not in report.result()
    table = str(report).splitlines()
    assert table[1].split()[-2:] == ["-", "2"] and "NDCG" in table[0]


def test_the_callback_adds_both_directions_to_the_logs():
    report = evaluate_retrieval(scores=SCORES)
    logs = {}
    EvaluationCallback(lambda: report).on_epoch_end(0, logs)
    assert logs["val_text_to_image_r_1"] == report.result()["text_to_image_r@1"]
    assert all(np.isscalar(x) for x in logs.values())
