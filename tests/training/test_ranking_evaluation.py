import keras
import numpy as np
import pytest

from tfcap.metrics import RankingReport
from tfcap.training import RankingEvaluation


def evaluate():
    report = RankingReport()
    report.add(np.array([[0.1, 0.9], [0.8, 0.2]]), [1, 1])
    return report


def fit(**arguments):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    callback = RankingEvaluation(evaluate, **arguments)
    x, y = np.ones((2, 2)), np.ones((2, 1))
    history = model.fit(x, y, epochs=4, callbacks=[callback], verbose=0)
    return history.history


def test_metrics_join_the_logs_under_names_that_files_can_bear():
    history = fit()
    assert history["val_mrr"] == [0.75] * 4
    assert history["val_r_1"] == [50.0] * 4
    assert "val_count" not in history


def test_every_other_epoch_may_be_enough():
    assert fit(every=2, prefix="dev_")["dev_mean_rank"] == [1.5, 1.5]


def test_never_is_refused():
    with pytest.raises(ValueError, match="`every`.*every=0"):
        RankingEvaluation(evaluate, every=0)
