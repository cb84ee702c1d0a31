"""Scalars of runs of other programs."""

from dataclasses import replace

import pytest

from tensorboard_plugin_tfcap.query import Query
from tensorboard_plugin_tfcap.query_error import QueryError
from tensorboard_plugin_tfcap.report import read_log
from tensorboard_plugin_tfcap.run_names import run_names
from tensorboard_plugin_tfcap.scalars_source import ScalarsSource
from tensorboard_plugin_tfcap.sources import Sources
from tensorboard_plugin_tfcap.summary import TradeoffWriter
from tensorboard_plugin_tfcap.summary import write_comparison
from tensorboard_plugin_tfcap.summary import write_references
from tests.tensorboard_plugin_tfcap.serving import serving
from tests.tensorboard_plugin_tfcap.strangers import hparams
from tests.tensorboard_plugin_tfcap.strangers import write_scalars
from tests.tensorboard_plugin_tfcap.views import logged
from tests.tensorboard_plugin_tfcap.views import selected
from tests.tensorboard_plugin_tfcap.views import viewed

AXES = {"x": "validation/size_error", "y": "validation/accuracy"}
PATTERN = r"(?P<method>\w+)_k=(?P<k>[\d.]+)_s(?P<seed>\d)"


@pytest.fixture(scope="module")
def logdir(tmp_path_factory):
    logs = tmp_path_factory.mktemp("logs")
    for seed in (0, 1):
        for k in (1, 2):
            run = logs / f"net_k={k}_s{seed}"
            write_scalars(
                run / "validation",
                {
                    "accuracy": [0.5, 0.6 + 0.1 * k, 0.55 + 0.1 * k],
                    "size_error": [9.0, 8.0 - k, 7.0 - k + seed],
                },
            )
            about = {"k": k, "seed": seed, "method": "net"}
            write_scalars(run, {}, hparams(about))
    write_scalars(logs / "alone", {"accuracy": [0.1], "size_error": [1.0]})
    return logs


def scalars(folder, **asked):
    return logged(folder, "scalars", **asked)


@pytest.mark.parametrize("kind", ["references", "comparison"])
def test_scalars_are_what_is_drawn_where_no_run_has_points(tmp_path, kind):
    write_scalars(tmp_path / "run", {"accuracy": [0.1], "size_error": [1.0]})
    if kind == "comparison":
        write_comparison(tmp_path / "about", {"run": "Run"})
    else:
        metrics = {"cider_d": 1.2, "r@10": 80.0}
        about = {"title": "SR-PL", "source": "COCO", "metrics": metrics}
        write_references(tmp_path / "about", [about])
    sources = Sources(read_log(tmp_path))
    assert sources.chosen().name == "scalars"
    assert sources.counts("scalars") == {"points": None, "scalars": 1}
    assert sources.counts("points") == {"points": 0, "scalars": 1}
    with TradeoffWriter(tmp_path / "more", "mine", scalars=False) as writer:
        writer.point(0, {"cider_d": 1.0, "r@10": 50.0})
    assert Sources(read_log(tmp_path)).chosen().name == "points"


def test_best_needs_no_metric_and_looks_at_every_step(tmp_path):
    loss = [0.5] * 1500
    loss[700] = 0.1
    write_scalars(tmp_path / "a", {"note": [1.0], "val_loss": loss})
    (best,) = scalars(tmp_path, at="best").points
    # What was logged before that step has its last value there.
    assert best.step == 700 and best.metrics["note"] == 1.0
    with pytest.raises(QueryError, match="known direction"):
        scalars(tmp_path, at="best", by="note")
    turned = scalars(tmp_path, at="best", by="note", higher=("note",))
    assert turned.points[0].step == 0


def test_what_is_looked_at_is_said_where_it_is_a_sample(tmp_path):
    write_scalars(tmp_path / "a", {"val_loss": [0.5] * 8, "speed": [1.0] * 8})
    log = replace(read_log(tmp_path), kept={"scalars": 8})
    found = ScalarsSource(log).dataset(Query(at="best"))
    assert "is the best of a sample" in found.notices[0]
    assert "--samples_per_plugin scalars=0" in found.notices[0]
    assert scalars(tmp_path, at="best").notices == []


def test_runs_without_a_best_step_are_named(tmp_path):
    write_scalars(tmp_path / "a", {"loss": [2.0, 1.0, 3.0], "acc": [0.5] * 3})
    write_scalars(tmp_path / "b", {"acc": [0.1, 0.2]})
    said = "Best by loss: no step of b has it, so the last one is drawn."
    found = scalars(tmp_path, at="best", by="loss")
    assert found.notices == [said]
    assert [(p.run, p.step) for p in found.points] == [("a", 1), ("b", 1)]
    assert scalars(tmp_path, at="best", by="acc").notices == []


def test_runs_that_diverge_are_counted_and_named(tmp_path):
    nan, inf = float("nan"), float("inf")
    for name, loss in (("a", [2.0, 1.0]), ("b", [1.0, inf]), ("c", [nan] * 2)):
        write_scalars(tmp_path / name, {"loss": loss})
    found = scalars(tmp_path)
    assert [p.run for p in found.points] == ["a", "b", "c"]
    said = "2 of 3 runs end in NaN or infinity: b (loss), c (loss)."
    assert said in found.notices
    assert said in scalars(tmp_path, at="best", by="loss").notices


def test_scalars_are_compared_at_a_common_step(tmp_path):
    for seed, steps in enumerate((2, 5)):
        loss = [1.0 / (step + 1) for step in range(steps)]
        values = {"loss": loss, "acc": [0.1 * step for step in range(steps)]}
        write_scalars(tmp_path / str(seed), values)
    found = scalars(tmp_path, at="common", group="(?P<seed>.)")
    (row,) = viewed(found, at="common", x="loss", y="acc")["rows"]
    assert (row["x"], row["y"], row["step"]) == (0.5, 0.1, "1")


@pytest.fixture(scope="module", params=[True, False], ids=["fast", "slow"])
def server(request, logdir):
    with serving(logdir, request.param) as found:
        found.wait(4)
        yield found


def test_runs_are_grouped_by_their_hparams(server):
    state = server.json("state")
    assert state["source"] == "scalars"
    assert state["methods"] == ["alone", "net"]
    assert state["defaults"]["group"] == "auto" and state["notices"] == []
    asked = server.json("state", group="hparams")
    assert asked["methods"] == ["net"]
    assert "1 runs have no HParams" in asked["notices"][0]
    assert state["parameters"][0] == {"id": "k", "title": "k", "values": 2}
    rows = server.json("figure", **AXES)["rows"]
    assert [row["label"] for row in rows] == ["k = 1", "k = 2"]
    assert [row["x"] for row in rows] == [6.5, 5.5]
    assert rows[0]["y"] == pytest.approx(0.65) and rows[0]["seeds"] == 2
    better = {m["id"]: m["better"] for m in state["metrics"]}
    assert [better[AXES[axis]] for axis in "xy"] == ["lower", "higher"]


def test_the_best_step_of_one_scalar_gives_the_other(server):
    view = server.json("figure", **AXES, at="best", by=AXES["y"])
    assert [row["x"] for row in view["rows"]] == [7.0, 6.0]
    assert {run["step"] for run in view["rows"][0]["runs"]} == {1}


def test_runs_are_grouped_by_a_pattern(server):
    view = server.json("figure", **AXES, group=PATTERN, source="scalars")
    assert [row["label"] for row in view["rows"]] == ["k = 1", "k = 2"]
    assert view["rows"][0]["seeds"] == 2
    assert "1 runs do not match" in " ".join(view["notices"])


def test_runs_may_stand_alone_and_settings_may_name_curves(logdir):
    alone = {point.method for point in scalars(logdir, group="run").points}
    assert len(alone) == 5 and "alone" in alone
    found = selected(scalars(logdir, group="hparams"), curve=("k", "method"))
    assert sorted(found.groups) == ["net, k = 1", "net, k = 2"]


def test_parts_of_a_run_are_found_by_name():
    found = run_names(["a/train", "a/validation", "b/c"], "run", {})
    assert [(n.whole, n.part) for n in found.values()] == [
        ("a", "train"),
        ("a", "validation"),
        ("b/c", ""),
    ]
    with pytest.raises(QueryError, match="regular expression"):
        run_names(["a"], "[", {})


def test_colors_hang_on_no_grouping_that_was_looked_at_before(logdir):
    found = []
    for groups in ((PATTERN,), ("run", PATTERN)):
        with serving(logdir, False) as server:
            for group in groups:
                about = {"source": "scalars", "group": group}
                server.wait(4, **about)
                methods = server.json("figure", **about, **AXES)["methods"]
        found.append([one["color"] for one in methods])
    assert found[0] == found[1]
