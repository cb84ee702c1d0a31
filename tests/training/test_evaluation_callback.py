import json
import os

import keras
import numpy as np
import pytest

from tests.scribe import BagListener
from tests.scribe import Batches
from tests.scribe import Scribe
from tfcap.metrics import RankingReport
from tfcap.metrics import RetrievalReport
from tfcap.training import EvaluationCallback
from tfcap.training import Evaluator
from tfcap.training import SpeakerReport


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
    assert all(name.isidentifier() for name in logged)


def test_reports_of_rankings_and_dicts_are_logged_without_their_count():
    history = fit(EvaluationCallback(ranking))
    assert history["val_mrr"] == [0.75] * 4
    assert history["val_r_1"] == [50.0] * 4
    assert "val_count" not in history
    history = fit(EvaluationCallback(lambda: {"r@5": 3.0, "count": 2}))
    assert history["val_r_5"] == [3.0] * 4 and "val_count" not in history


def test_every_other_epoch_may_be_enough():
    history = fit(EvaluationCallback(ranking, every=2, prefix="dev_"))
    assert history["dev_mean_rank"] == [1.5, 1.5]


def test_some_scores_may_be_enough(evaluate):
    callback = EvaluationCallback(
        evaluate, names=["r@1", "spice"], prefix="dev_"
    )
    assert {*fit(callback)} == {"loss", "dev_r_1"}


def test_captions_are_kept_by_epoch(evaluate, tmp_path):
    folder = tmp_path / "runs" / "captions"
    callback = EvaluationCallback(evaluate, every=2, folder=folder)
    assert callback.report is None
    assert len(fit(callback)["val_r_1"]) == 2
    names = ["epoch_0002.json", "epoch_0004.json"]
    assert sorted(os.listdir(folder)) == names
    for name in names:
        kept = SpeakerReport.load(folder / name)
        assert kept.captions == ["a dog", "a cat"]
        assert kept.result() == callback.report.result()


@pytest.mark.parametrize(
    "evaluate, name",
    [
        (ranking, "mrr"),
        (lambda: {"mrr": np.float32(0.75), "none": np.nan}, "mrr"),
        (lambda: RetrievalReport([1, 2], [1, 1]), "image_to_text_mrr"),
    ],
)
def test_of_what_cannot_save_itself_the_numbers_are_kept(
    evaluate, name, tmp_path
):
    fit(EvaluationCallback(evaluate, folder=tmp_path), epochs=1)
    kept = json.loads((tmp_path / "epoch_0001.json").read_text())
    assert kept[name] == 0.75 and kept.get("none") is None


def test_captions_are_kept_where_nobody_logs(evaluate, tmp_path):
    EvaluationCallback(evaluate, folder=tmp_path).on_epoch_end(11)
    assert os.listdir(tmp_path) == ["epoch_0012.json"]


def test_arguments_out_of_range_are_refused(evaluate):
    with pytest.raises(ValueError, match="`every`.*every=0"):
        EvaluationCallback(evaluate, every=0)
    with pytest.raises(TypeError, match="`names`.*'r@1'"):
        EvaluationCallback(evaluate, names="r@1")
