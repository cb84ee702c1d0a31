import numpy as np
import pytest

from tfcap.metrics.reports import RetrievalReport


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
    # Metrics of no ranks are not a number.
    row = RetrievalReport([np.nan], []).rows()["image_to_text"]
    assert row.pop("count") == 0 and np.isnan(list(row.values())).all()
