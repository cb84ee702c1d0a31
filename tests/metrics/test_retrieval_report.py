import numpy as np
import pytest

from tfcap.metrics import evaluate_retrieval
from tfcap.metrics.reports import RetrievalReport
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


def test_metrics_of_no_ranks_are_not_a_number():
    row = RetrievalReport([np.nan], []).rows()["image_to_text"]
    assert row.pop("count") == 0 and np.isnan(list(row.values())).all()


def test_the_callback_adds_both_directions_to_the_logs():
    report = evaluate_retrieval(scores=SCORES)
    logs = {}
    EvaluationCallback(lambda: report).on_epoch_end(0, logs)
    assert logs["val_text_to_image_r_1"] == report.result()["text_to_image_r@1"]
    assert all(np.isscalar(x) for x in logs.values())
