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
from tfcap.training import Resume
from tfcap.training import TradeoffLogger


def fit(*callbacks, epochs=4, **options):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse", metrics=["mae"])
    x, y = np.ones((2, 2)), np.ones((2, 1))
    model.fit(
        x,
        y,
        epochs=epochs,
        callbacks=list(callbacks),
        validation_data=(x, y),
        verbose=0,
        **options,
    )


def history(folder, run="run"):
    return Sources(read_log(folder)).chosen().history(run)


def evaluate():
    return {"cider_d": 1.0, "r@10": 50.0, "count": 3}


def test_what_is_evaluated_is_on_disk_at_once(tmp_path):
    seen = []

    class Look(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            seen.append([p.step for p in history(tmp_path)])

    logger = TradeoffLogger(
        tmp_path / "run", "mine", {"lambda": 0.1}, 3, evaluate, every=2
    )
    fit(logger, Look())
    assert seen[1:] == [[2], [2], [2, 4]]
    (point, _) = history(tmp_path)
    assert point.metrics == {"cider_d": 1.0, "r@10": 50.0}
    assert point.params == {"lambda": 0.1} and point.seed == 3


def test_logs_are_points_where_nothing_else_is_asked(tmp_path):
    fit(TradeoffLogger(tmp_path / "run", "mine"), epochs=1)
    (point,) = history(tmp_path)
    assert set(point.metrics) == {"loss", "mae"}


def test_epochs_that_nobody_evaluates_are_no_points(tmp_path):
    fit(TradeoffLogger(tmp_path / "run", "mine"), validation_freq=2)
    assert [point.step for point in history(tmp_path)] == [2, 4]


def test_a_fit_without_any_point_is_told(tmp_path):
    logger = TradeoffLogger(tmp_path / "run", "mine", prefix="test_")
    with pytest.warns(RuntimeWarning, match="has written no point.*'test_'"):
        fit(logger)
    assert os.listdir(tmp_path) == []


def test_a_run_that_goes_on_may_have_its_points_behind_it(tmp_path):
    for epochs in (4, 5):
        logger = TradeoffLogger(tmp_path / "run", "mine")
        resume = Resume(tmp_path / "resume")
        fit(logger, resume, epochs=epochs, validation_freq=2, shuffle=False)
    assert [point.step for point in history(tmp_path)] == [2, 4]


def test_it_lives_beside_keras_own_logs(tmp_path):
    board = keras.callbacks.TensorBoard(tmp_path, write_graph=False)
    fit(board, TradeoffLogger(tmp_path / "tradeoff", "mine", evaluate=evaluate))
    assert len(history(tmp_path, "tradeoff")) == 4


def test_one_worker_writes_for_all(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "tfcap.training.tradeoff_logger.is_chief", lambda model: False
    )
    asked = []
    fit(
        TradeoffLogger(
            tmp_path / "run", "mine", evaluate=lambda: asked.append(1)
        )
    )
    # All evaluate, since that may take all of them.
    assert len(asked) == 4 and os.listdir(tmp_path) == []


def test_captions_of_a_speaker_are_samples(tmp_path):
    batches = Batches(["a dog", "a cat"], [["A dog."], ["The cat.", "a cat"]])
    evaluator = Evaluator(Scribe(), batches, BagListener())
    writer = TradeoffWriter(tmp_path / "run", "mine", seed=0)

    def picture(row):
        return np.full((9, 9, 3), row, "uint8")

    picture.filenames = ["dog.jpg", "cats/1.jpg"]
    fit(
        EvaluationCallback(evaluator, every=2, writer=writer, images=picture),
    )
    log = read_log(tmp_path)
    points = Sources(log).chosen().history("run")
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


def test_epochs_between_points_are_at_least_one(tmp_path):
    with pytest.raises(ValueError, match="`every` must be at least 1"):
        TradeoffLogger(tmp_path, "mine", every=0)
