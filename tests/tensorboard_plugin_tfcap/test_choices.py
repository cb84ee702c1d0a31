"""Filters by parameter, names of curves, columns and scales."""

import csv
import io

import pytest

from tensorboard_plugin_tfcap.figure_view import figure_view
from tensorboard_plugin_tfcap.query import Query
from tensorboard_plugin_tfcap.query import parse_query
from tensorboard_plugin_tfcap.query_error import QueryError
from tensorboard_plugin_tfcap.state_view import state_view
from tensorboard_plugin_tfcap.table_text import table_text
from tensorboard_plugin_tfcap.tradeoff.point import TradeoffPoint
from tests.tensorboard_plugin_tfcap.views import dataset
from tests.tensorboard_plugin_tfcap.views import selected
from tests.tensorboard_plugin_tfcap.views import viewed

POINTS = [
    TradeoffPoint(
        f"{k}/{optimizer}/{seed}",
        "net",
        {"k": k, "optimizer": optimizer},
        seed,
        9,
        {"speed": 10.0**k, "loss": 1 / k + seed, "size": 1.0 * seed},
    )
    for k in (1, 2, 3)
    for optimizer in ("adam", "sgd")
    for seed in (0, 1)
]
DATASET = dataset(POINTS)


def asked(**options):
    return selected(DATASET, **{"x": "speed", "y": "loss", **options})


def runs(selection):
    return {p.run for group in selection.groups.values() for p in group}


def test_runs_are_filtered_by_values_and_ranges():
    query = parse_query({"where": "k>=1.5\nk<=2.5\noptimizer=adam"})
    assert query.where == ("k>=1.5", "k<=2.5", "optimizer=adam")
    assert runs(asked(where=query.where)) == {"2/adam/0", "2/adam/1"}
    # Of two values, one is enough.
    found = runs(asked(where=("k=1", "k=3", "seed=1", "optimizer=sgd")))
    assert found == {"1/sgd/1", "3/sgd/1"}
    assert list(asked(where=("k=2",)).groups) == [
        *("net, optimizer = adam", "net, optimizer = sgd")
    ]
    assert not runs(asked(where=(f"k={'9' * 5000}", f"seed={'9' * 310}")))
    none = asked(where=("k>=9",))
    assert "No run has k>=9." in none.notices and not none.groups


@pytest.mark.parametrize("text", ["k", "k>=many", "other=1"])
def test_what_is_no_filter_is_refused(text):
    with pytest.raises(QueryError, match="`where` must"):
        asked(where=(text,))


def test_curves_are_named_by_choice():
    selection = asked(curve=("method",))
    assert list(selection.groups) == ["net"] and selection.order == "k"
    rows = figure_view(selection)["rows"]
    assert [row["seeds"] for row in rows] == [4, 4, 4]
    assert list(asked(curve=("k",)).groups) == ["k = 1", "k = 2", "k = 3"]
    # What is left out of the names can still be filtered, and be a column.
    some = asked(curve=("method",), where=("optimizer=sgd",))
    assert len(runs(some)) == 6
    options = {"curve": ("method",), "where": ("k=1",)}
    (row,) = figure_view(asked(columns=("optimizer",), **options))["rows"]
    assert row["columns"] == {"optimizer": "adam, sgd"}
    options["where"] = ("k=1", "k=3", "optimizer=sgd")
    rows = figure_view(
        asked(columns=("k", "size"), order="optimizer", **options)
    )["rows"]
    assert [row["columns"] for row in rows] == [{"k": "1, 3", "size": 0.5}]
    query = Query(curve=("k",))
    methods = state_view(DATASET, query, {}, None)["methods"]
    assert methods == ["k = 1", "k = 2", "k = 3"]


def test_columns_are_metrics_and_parameters():
    selection = asked(columns=("size", "optimizer"), where=("k=1",))
    view = figure_view(selection)
    assert [head["title"] for head in view["head"][-2:]] == [
        *("size", "optimizer")
    ]
    assert [row["columns"] for row in view["rows"]] == [
        {"size": 0.5, "optimizer": "adam"},
        {"size": 0.5, "optimizer": "sgd"},
    ]
    lines = table_text(selection, "csv", "points")
    first = next(csv.DictReader(io.StringIO(lines)))
    assert (first["column size"], first["column optimizer"]) == ("0.0", "adam")
    text = table_text(selection, "markdown", "points")
    assert "| size | optimizer |" in " ".join(text.split())
    with pytest.raises(QueryError, match="`columns` must be"):
        figure_view(asked(columns=("gone",)))


def test_axes_may_be_logarithmic():
    view = figure_view(asked(xscale="log", yscale="linear"))
    layout = view["figure"]["layout"]
    assert layout["xaxis"]["type"] == "log"
    assert layout["xaxis"]["range"] == pytest.approx([0.84, 3.16])
    assert layout["yaxis"].get("type") != "log"
    assert any("still interpolate linearly" in text for text in view["notices"])
    view = figure_view(asked(x="size", xscale="log"))
    assert any("its axis stays linear" in text for text in view["notices"])
    assert view["figure"]["layout"]["xaxis"].get("type") != "log"


def test_a_filter_finds_the_very_value_that_it_offers():
    jobs = [20260101, 20260102, 20260103.0]
    folds = ["01", "1e-3", "adam"]
    seeds = [1, 2, 10**17 + 1]
    rates = [1e-7 / 3, 0.1, 0.12345678]
    points = [
        TradeoffPoint(
            f"r{place}",
            "net",
            {"job": job, "fold": fold, "seed": seed, "rate": rate},
            metrics={"speed": 1.0, "loss": 2.0},
        )
        for place, (job, fold, seed, rate) in enumerate(
            zip(jobs, folds, seeds, rates)
        )
    ]
    found = dataset(points)
    runs = state_view(found, Query(), {}, None)["runs"]
    for place, run in enumerate(runs):
        for name, value in run["params"].items():
            text = f"{name}={value:.17g}" if name == "rate" else None
            where = (text or f"{name}={value}",)
            (group,) = selected(found, where=where).groups.values()
            assert [point.run for point in group] == [f"r{place}"], where
    assert not selected(found, where=("fold=1",)).groups
    rows = viewed(found, columns=("job",))["rows"]
    assert {row["columns"]["job"] for row in rows} == {*jobs}
