"""Any two scalars of runs that never heard of tfcap."""

import pytest
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.hparams import summary_v2
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from tensorboard_plugin_tfcap.dataset import QueryError
from tensorboard_plugin_tfcap.run_names import run_names
from tests.tensorboard_plugin_tfcap.serving import serving

PATTERN = r"(?P<method>\w+)_k=(?P<k>[\d.]+)_s(?P<seed>\d)"


def write_run(folder, values, hparams=None):
    """Values by tag and step, of an old-fashioned writer."""
    writer = EventFileWriter(str(folder))
    if hparams:
        summary = summary_v2.hparams_pb(hparams)
        writer.add_event(Event(summary=summary))
    for tag, series in values.items():
        for step, value in enumerate(series):
            one = Summary.Value(tag=tag, simple_value=value)
            writer.add_event(Event(step=step, summary=Summary(value=[one])))
    writer.close()


@pytest.fixture(scope="module")
def logdir(tmp_path_factory):
    logs = tmp_path_factory.mktemp("logs")
    for seed in (0, 1):
        for k in (1, 2):
            run = logs / f"net_k={k}_s{seed}"
            write_run(
                run / "validation",
                {
                    "accuracy": [0.5, 0.6 + 0.1 * k, 0.55 + 0.1 * k],
                    "size_rate": [9.0, 8.0 - k, 7.0 - k + seed],
                },
            )
            write_run(run, {}, {"k": k, "seed": seed, "method": "net"})
    write_run(logs / "alone", {"accuracy": [0.1], "size_rate": [1.0]})
    return logs


@pytest.fixture(scope="module", params=[True, False], ids=["fast", "slow"])
def server(request, logdir):
    with serving(logdir, request.param) as found:
        found.wait(4)
        yield found


def test_runs_are_grouped_by_their_hparams(server):
    state = server.json("state")
    assert state["source"] == "scalars" and state["methods"] == ["net"]
    assert "1 runs have no HParams" in state["notices"][0]
    assert state["parameters"][0] == {"id": "k", "title": "k", "values": 2}
    x, y = "validation/size_rate", "validation/accuracy"
    view = server.json("figure", x=x, y=y)
    rows = view["rows"]
    assert [row["label"] for row in rows] == ["k = 1", "k = 2"]
    assert [row["x"] for row in rows] == [6.5, 5.5]
    assert rows[0]["y"] == pytest.approx(0.65) and rows[0]["seeds"] == 2
    better = {m["id"]: m["better"] for m in state["metrics"]}
    assert better[x] == "lower" and better[y] == "higher"


def test_the_best_step_of_one_scalar_gives_the_other(server):
    view = server.json(
        "figure",
        x="validation/size_rate",
        y="validation/accuracy",
        at="best",
        by="validation/accuracy",
    )
    assert [row["x"] for row in view["rows"]] == [7.0, 6.0]
    assert {run["step"] for run in view["rows"][0]["runs"]} == {1}


def test_runs_are_grouped_by_a_pattern(server):
    view = server.json(
        "figure",
        group=PATTERN,
        source="scalars",
        x="validation/size_rate",
        y="validation/accuracy",
    )
    assert [row["label"] for row in view["rows"]] == ["k = 1", "k = 2"]
    assert view["rows"][0]["seeds"] == 2
    assert "1 runs do not match" in " ".join(view["notices"])
    code, text = server.error("state", source="scalars", group="(")
    assert code == 400 and "`group` must be" in text


def test_runs_may_stand_alone(server):
    state = server.json("state", source="scalars", group="run")
    assert len(state["runs"]) == 5 and "alone" in state["methods"]


def test_settings_may_name_curves(server):
    state = server.json(
        "state", source="scalars", group="hparams", curve="k,method"
    )
    assert sorted(state["methods"]) == ["net, k = 1", "net, k = 2"]


def test_a_run_has_its_steps(server):
    view = server.json(
        "trajectory",
        run="net_k=1_s0",
        x="validation/size_rate",
        y="validation/accuracy",
    )
    assert [p["step"] for p in view["points"]] == [0, 1, 2]


def test_parts_of_a_run_are_found_by_name():
    found = run_names(["a/train", "a/validation", "b/c"], "run", {})
    assert [(n.whole, n.part) for n in found.values()] == [
        ("a", "train"),
        ("a", "validation"),
        ("b/c", ""),
    ]
    with pytest.raises(QueryError, match="regular expression"):
        run_names(["a"], "[", {})
