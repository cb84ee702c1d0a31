import os

import keras
import numpy as np
import pytest

from tensorboard_plugin_tfcap.query import Query
from tensorboard_plugin_tfcap.report import read_log
from tensorboard_plugin_tfcap.samples_view import samples_view
from tensorboard_plugin_tfcap.sources import Sources
from tensorboard_plugin_tfcap.summary import TradeoffWriter
from tests.scribe import BagListener
from tests.scribe import Batches
from tests.scribe import Scribe
from tfcap.metrics import RankingReport
from tfcap.training import EvaluationCallback
from tfcap.training import Evaluator


@pytest.fixture(scope="module")
def evaluate():
    batches = Batches(["a dog", "a cat"], [["A dog."], ["The cat.", "a cat"]])
    return Evaluator(Scribe(), batches, BagListener())


def ranking():
    report = RankingReport()
    report.add(np.array([[0.1, 0.9], [0.8, 0.2]]), [1, 1])
    return report


def fit(callback, epochs=4):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    x, y = np.ones((2, 2)), np.ones((2, 1))
    history = model.fit(x, y, epochs=epochs, callbacks=[callback], verbose=0)
    return history.history


def test_scores_join_the_logs_under_names_that_files_can_bear(evaluate):
    history, result = fit(EvaluationCallback(evaluate)), evaluate().result()
    assert history["val_cider_d"] == [result["cider_d"]] * 4
    assert history["val_r_10"] == [100.0] * 4
    logged = {name for name in history if name.startswith("val_")}
    assert len(logged) == len(result)
    assert all(name.replace("/", "_").isidentifier() for name in logged)
    # Details have groups, which TensorBoard draws after the scores.
    assert {"val_human/r_10", "val_language/mean_length"} < logged


def test_reports_of_rankings_and_dicts_are_logged_without_their_count():
    history = fit(EvaluationCallback(ranking))
    assert history["val_mrr"] == [0.75] * 4
    assert history["val_r_1"] == [50.0] * 4
    assert "val_count" not in history
    history = fit(EvaluationCallback(lambda: {"r@5": 3.0, "count": 2}))
    assert history["val_r_5"] == [3.0] * 4 and "val_count" not in history


def test_every_other_epoch_may_be_enough():
    history = fit(EvaluationCallback(ranking, every=2))
    assert history["val_mean_rank"] == [1.5, 1.5]


def test_one_worker_writes_for_all(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "tfcap.training.evaluator.is_chief", lambda model: False
    )
    asked = []

    def evaluate():
        asked.append(1)
        return {"r@10": 50.0}

    writer = TradeoffWriter(tmp_path / "run", "mine")
    fit(EvaluationCallback(evaluate, writer=writer))
    # All evaluate, since that may take all of them.
    assert len(asked) == 4 and os.listdir(tmp_path) == []


def test_captions_of_a_speaker_are_samples(tmp_path):
    batches = Batches(["a dog", "a cat"], [["A dog."], ["The cat.", "a cat"]])
    evaluator = Evaluator(Scribe(), batches, BagListener())
    writer = TradeoffWriter(tmp_path / "run", "mine", seed=0)

    def picture(row):
        return np.full((9, 9, 3), row, "uint8")

    picture.filenames = ["dog.jpg", "cats/1.jpg"]
    fit(EvaluationCallback(evaluator, every=2, writer=writer, images=picture))
    log = read_log(tmp_path)
    found = Sources(log).chosen().dataset(Query(at="common"))
    assert "Scores/train_loss" in log.scalars()["run"]
    points = found.histories["run"]
    assert [p.step for p in points] == [2, 4]
    assert points[0].metrics["r@10"] == 100.0
    page = samples_view(log, "run", None, 0, {})
    assert [item["caption"] for item in page["items"]] == ["a dog", "a cat"]
    assert page["items"][1]["human"] == ["The cat.", "a cat"]
    assert all(item["image"] for item in page["items"])
    assert [item["name"] for item in page["items"]] == picture.filenames


def test_ranks_of_a_dialog_model_are_points(tmp_path):
    report = RankingReport()
    report.add(np.array([[0.1, 0.9], [0.8, 0.2]]), truth=[1, 1])
    writer = TradeoffWriter(tmp_path / "run", "hciae_g", {"ranking": "a"})
    fit(EvaluationCallback(lambda: report, writer=writer), epochs=2)
    found = Sources(read_log(tmp_path)).chosen().dataset(Query())
    (point,) = found.points
    assert point.metrics["mrr"] == 0.75 and "count" not in point.metrics
    assert found.metrics["mean_rank"].better == "lower"


def test_epochs_between_evaluations_are_at_least_one(evaluate):
    with pytest.raises(ValueError, match="`every`.*every=0"):
        EvaluationCallback(evaluate, every=0)
