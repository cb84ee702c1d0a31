"""Settings that nobody was asked for: in names, and in HParams."""

import pytest

from tensorboard_plugin_tfcap.name_parts import name_settings
from tensorboard_plugin_tfcap.run_names import grouped_scalars
from tensorboard_plugin_tfcap.run_names import run_names
from tensorboard_plugin_tfcap.summary import TradeoffWriter
from tests.tensorboard_plugin_tfcap import strangers
from tests.tensorboard_plugin_tfcap.views import logged
from tests.tensorboard_plugin_tfcap.views import selected
from tests.tensorboard_plugin_tfcap.views import viewed


def scalars(folder, **asked):
    return logged(folder, "scalars", **asked)


def told(runs, *about):
    """What is told of runs by their names."""
    found = run_names(runs, *about).values()
    return [(n.whole, n.part, n.method, n.params, n.seed) for n in found]


@pytest.mark.parametrize(
    "name, settings, left",
    [
        ("psst/k=0.1,seed=2", {"k": 0.1, "seed": 2}, "psst"),
        ("resnet_lr=0.1_seed=3", {"lr": 0.1, "seed": 3}, "resnet"),
        ("lr=-2_weight_decay=.1", {"lr": -2, "weight_decay": 0.1}, ""),
        ("x/batch_size=8/opt=adam_w", {"batch_size": 8, "opt": "adam_w"}, "x"),
        ("a_opt=sgd_lr=1_big/b", {"opt": "sgd", "lr": 1}, "a_big/b"),
        ("net_top_k=2,k=1", {"top_k": 2, "k": 1}, "net"),
        ("net_k=2_s0", {"k": 2}, "net_s0"),
        ("model=7b_seed=1", {"model": "7b", "seed": 1}, ""),
        ("dqn/seed_4", {"seed": 4}, "dqn"),
        ("dqn-seed4", {"seed": 4}, "dqn"),
        ("e=mc=2", {"e": "mc", "mc": 2}, ""),
        ("day=2024-01-02", {"day": "2024-01-02"}, ""),
        ("=odd/b=", {"b": ""}, "=odd"),
        ("plain_name-2, old", {}, "plain_name-2, old"),
    ],
)
def test_settings_in_names(name, settings, left):
    assert name_settings(name) == (settings, left)


def test_names_and_hparams_are_joined():
    hparams = {"b/k=2": {"rate": 0.1, "seed": 3.0}, "c": {"model": "cnn"}}
    runs = ["a/k=1,seed=0/train", "b/k=2/validation", "c/train", "d"]
    assert told(runs, "auto", hparams) == [
        ("a/k=1,seed=0", "train", "a", {"k": 1}, 0),
        ("b/k=2", "validation", "b", {"k": 2, "rate": 0.1}, 3),
        ("c", "train", "cnn", {}, None),
        ("d", "", "d", {}, None),
    ]
    assert list(run_names(runs, "hparams", hparams)) == runs[1:3]


def test_the_log_directory_may_be_the_run():
    ((*whole, _, params, _),) = told(["validation"], "auto", {".": {"lr": 1}})
    assert whole == [".", "validation"] and params == {"lr": 1}
    both = {".": {"lr": 1}, "b": {"lr": 2}}
    assert run_names(["a"], "auto", both)["a"].params == {}


def test_hparams_in_a_folder_below_are_those_of_the_run(tmp_path):
    strangers.write_torch(tmp_path, rates=(1, 2))
    found = scalars(tmp_path)
    assert found.notices == []
    assert len(found.points) == 8
    assert {p.method for p in found.points} == {"cnn", "mlp"}
    assert {p.seed for p in found.points} == {0, 1}
    assert set(found.parameters()) == {"lr"}
    point = found.points[0]
    # The result, which torch writes at step 0, is that of the last step.
    assert point.metrics["hparam/accuracy"] == point.metrics["Accuracy/val"]
    assert {"Loss/train", "Loss/val"} <= set(point.metrics)
    history = scalars(tmp_path, at="common").histories[point.run]
    assert ["hparam/accuracy" in p.metrics for p in history] == [0, 0, 1]
    view = viewed(found, value="auto")
    assert len(view["rows"]) == 4 and view["rows"][0]["seeds"] == 2


def test_points_in_a_folder_below_keep_their_steps(tmp_path):
    strangers.write_scalars(tmp_path / "a", {"loss": [3.0, 2.0, 1.0]})
    folder = tmp_path / "a" / "points"
    with TradeoffWriter(folder, "mine", {"lambda": 0.1}, 4) as writer:
        for step in (0, 1):
            writer.point(step, {"r@10": 50.0 + step})
    (point,) = scalars(tmp_path).points
    assert (point.run, point.method, point.seed) == ("a", "mine", 4)
    assert point.metrics == {"loss": 1.0, "r@10": 51.0}
    history = scalars(tmp_path, at="common").histories["a"]
    found = [p.metrics.get("r@10") for p in history]
    assert found == [50.0, 51.0, None]


def test_many_sessions_below_a_folder_are_runs_of_their_own(tmp_path):
    for rate in range(3):
        strangers.write_scalars(
            tmp_path / "Nov23" / f"170000000{rate}.5",
            {"hparam/accuracy": [0.1 * rate], "hparam/loss": [1.0 - rate]},
            strangers.hparams({"lr": rate, "bsize": 8}),
        )
    found = scalars(tmp_path)
    assert [p.params["lr"] for p in found.points] == [0, 1, 2]
    assert found.axes()[1].name == "hparam/accuracy"
    assert len(selected(found).groups) == 1


def test_axes_of_keras_are_measured_on_held_out_data(tmp_path):
    strangers.write_keras(tmp_path)
    found = scalars(tmp_path)
    axes = ["validation/epoch_loss", "validation/epoch_accuracy"]
    assert [metric.name for metric in found.axes()] == axes
    assert found.order() == "lr" and found.points[-1].seed == 1
    assert {point.method for point in found.points} == {"resnet"}
    # As many as there are without HParams and names.
    assert len({p.method for p in scalars(tmp_path, group="run").points}) == 4


def test_axes_are_those_that_hparams_are_configured_to_show(tmp_path):
    strangers.write_keras(tmp_path)
    asked = ("train", "epoch_loss"), ("", "gone"), ("train", "epoch_accuracy")
    strangers.write_scalars(tmp_path, {}, strangers.hparams_config(*asked))
    axes = scalars(tmp_path).axes()
    names = [metric.name for metric in axes]
    assert names == ["train/epoch_loss", "train/epoch_accuracy"]


def test_axes_of_lightning_are_no_bookkeeping(tmp_path):
    strangers.write_lightning(tmp_path)
    found = scalars(tmp_path)
    assert [metric.name for metric in found.axes()] == ["val_loss", "val_acc"]
    assert [point.params["lr"] for point in found.points] == [0.1, 0.2]
    assert scalars(tmp_path, at="best").points[0].metrics["val_acc"] > 0.55


def test_a_setting_of_infinity_is_a_word(tmp_path):
    for place, clip in enumerate((1.0, float("inf"), float("nan"))):
        summary = strangers.hparams({"clip": clip, "name": "a"})
        run = tmp_path / f"r{place}"
        strangers.write_scalars(run, {"acc": [0.5], "loss": [1.0]}, summary)
    found = scalars(tmp_path)
    assert [p.params["clip"] for p in found.points] == [1.0, "inf", "nan"]


def test_a_pattern_takes_no_runs_for_parts_of_one():
    runs = ["a/v0", "a/v1/train", "a/v1/validation", "b/x/y"]
    found = told(runs, "(?P<method>[^/]+)", {})
    assert [name[:3] for name in found] == [
        *(("a/v0", "", "a"), ("a/v1", "train", "a")),
        *(("a/v1", "validation", "a"), ("b/x/y", "", "b")),
    ]
    # A match may take the part in.
    (name,) = told(["a/train"], "(?P<method>.+)", {})
    assert name[:3] == ("a/train", "", "a/train")


@pytest.mark.parametrize(
    "run, tag, found",
    [
        # torch
        ("a/Loss_train", "Loss", ("a", "Loss/train")),
        ("a/Loss_val_train", "Loss/val", ("a", "Loss/val/train")),
        ("a/Loss x_train", "Loss_x", ("a", "Loss x/train")),
        ("a/r@10_val", "r_10", ("a", "r@10/val")),
        ("a/_Loss_train", "Loss", ("a", "Loss/train")),
        ("a/_r@10_val_train", "r_10/val", ("a", "r_10/val/train")),
        ("a/x__y_train", "x//y", ("a", "x/y/train")),
        # tensorboardX
        ("Loss/train", "Loss", (".", "Loss/train")),
        ("a/b/Loss/val/train", "Loss/val", ("a/b", "Loss/val/train")),
        ("a/CIDEr D/beam 5", "CIDEr_D", ("a", "CIDEr D/beam 5")),
        ("loss/a/loss/val", "loss", ("loss/a", "loss/val")),
        ("a/eval/r/eval/r", "eval/r", ("a", "eval/r/eval/r")),
        ("a/Mean / x (s)/b", "Mean_/_x__s_", ("a", "Mean_/_x__s_/b")),
        ("a/Loss/val/train", "Loss//val", ("a", "Loss/val/train")),
        # Runs of their own.
        ("a/train", "Loss", None),
        ("a/Loss", "Loss", None),
        ("a/myLoss/train", "Loss", None),
    ],
)
def test_parts_of_several_writers_are_those_of_one_run(run, tag, found):
    expected = {} if found is None else {run: found}
    assert grouped_scalars({run: {tag: None}}) == expected
    assert grouped_scalars({run: {tag: None, "other": None}}) == {}


def test_parts_and_cleaned_names_are_axes(tmp_path):
    for rate in (1, 2):
        run = tmp_path / f"cnn_lr={rate}"
        strangers.write_scalars(run, {"CIDEr-D": [1.0 / rate]})
        strangers.write_scalars(run / "r@10/val", {"r_10": [9.0 + rate]})
    found = scalars(tmp_path)
    assert [m.name for m in found.axes()] == ["CIDEr-D", "r@10/val"]
    assert [m.role for m in found.axes()] == ["naturalness", "recall"]
    assert [p.run for p in found.points] == ["cnn_lr=1", "cnn_lr=2"]
