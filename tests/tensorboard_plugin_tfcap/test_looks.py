"""Focus, names, aggregates and published points in a figure and its tables."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from tensorboard_plugin_tfcap.comparison import Comparison
from tensorboard_plugin_tfcap.dataset import Dataset
from tensorboard_plugin_tfcap.dataset import all_metrics
from tensorboard_plugin_tfcap.figure_view import figure_view
from tensorboard_plugin_tfcap.query import Query
from tensorboard_plugin_tfcap.query import parse_query
from tensorboard_plugin_tfcap.query_error import QueryError
from tensorboard_plugin_tfcap.selection import select
from tensorboard_plugin_tfcap.shown import Shown
from tensorboard_plugin_tfcap.table_text import table_text
from tensorboard_plugin_tfcap.tradeoff.name_labels import name_places
from tensorboard_plugin_tfcap.tradeoff.picture import draw_sheet
from tensorboard_plugin_tfcap.tradeoff.point import Reference
from tests.tensorboard_plugin_tfcap.tradeoff.points import boxes_meet
from tests.tensorboard_plugin_tfcap.tradeoff.points import line

POINTS = [*line("a", seeds=(0, 1, 2)), *line("b", 4.0, seeds=(0, 1, 2))]


def selected(points=POINTS, comparison=None, **asked):
    asked = {"x": "cider_d", "y": "r@10", **asked}
    dataset = Dataset("points", "1", points, all_metrics(points, {}))
    dataset = replace(dataset, comparison=comparison or Comparison())
    return select(dataset, Query(**asked))


def traces(view, kind):
    return {
        t["legendgroup"]: t
        for t in view["figure"]["data"]
        if t["meta"]["kind"] == kind
    }


def test_what_is_out_of_focus_is_gray():
    view = figure_view(selected(focus=("a",)))
    curves = traces(view, "curve")
    assert curves["a"]["line"]["color"] == "#0072B2"
    assert curves["b"]["line"]["color"] == "#c3c9cf"
    assert "error_y" in curves["a"] and "error_y" not in curves["b"]
    assert list(traces(view, "label")) == ["a"]
    assert {row["color"] for row in view["rows"]} == {"#0072B2", "#c3c9cf"}


def test_names_lie_on_nothing():
    rng = np.random.default_rng(0)
    curves = [100 + 300 * rng.random((6, 2)) for _ in range(15)]
    titles = [f"a method {n}" for n in range(15)]
    found = name_places(curves, titles, (760, 420))
    boxes = np.array([box for _, box in filter(None, found)])
    assert len(boxes) == 15
    marks = np.concatenate(curves)
    for place, (left, low, right, high) in enumerate(boxes):
        rest = np.delete(boxes, place, axis=0)
        meets = (rest[:, 0] < right) & (rest[:, 2] > left)
        assert not (meets & (rest[:, 1] < high) & (rest[:, 3] > low)).any()
        inside = (marks > [left, low]) & (marks < [right, high])
        assert not inside.all(axis=1).any()
    view = figure_view(selected(hide=("b",)))
    notes = view["figure"]["layout"]["annotations"]
    assert [note["text"] for note in notes] == ["a"]
    bare = figure_view(selected(names=False))["figure"]["layout"]
    assert bare["annotations"] == []


@pytest.mark.parametrize(
    "asked, said",
    [
        ({"bounds": "range"}, "Means over seeds; in brackets, the least and"),
        ({"center": "median"}, "Medians over seeds; in brackets, the 95 %"),
        (
            {"center": "iqm", "bounds": "bootstrap", "level": 0.8},
            "Interquartile means over seeds; in brackets, the 80 % interval of "
            "the interquartile mean by the percentile bootstrap (2000 draws",
        ),
    ],
)
def test_aggregates_are_followed_and_stated_everywhere(asked, said):
    points = [
        replace(p, metrics={**p.metrics, "r@10": p.metrics["r@10"] + skew})
        for p, skew in zip(line("a", seeds=(0, 1, 2)), [0, 0, 0, 0, 9, 9])
    ]
    selection = selected(points, value=1.5, **asked)
    center = selection.query.center
    wanted = {"mean": 60.0, "median": 57.0, "iqm": 58.5}[center]
    view = figure_view(selection)
    assert traces(view, "curve")["a"]["y"][0] == wanted - 5
    assert view["tables"][0]["rows"][0][1].startswith(f"{wanted:.1f} [")
    assert view["tables"][0]["notes"][0].startswith(said)
    assert view["area"]["notes"][0].startswith(said)
    legend = view["figure"]["layout"]["legend"]["title"]["text"]
    assert selection.query.aggregate.words in legend
    text = table_text(selection, "csv", "points")
    assert f"y_{center}" in text
    assert f",{selection.query.aggregate.bounds}," in text
    for form in ("markdown", "latex"):
        found = table_text(selection, form, "level")
        assert selection.query.aggregate.words.replace("%", "") in (
            found.replace("\\%", "").replace("%", "")
        )


def test_students_interval_of_medians_is_refused():
    with pytest.raises(QueryError, match="`bounds` must be 'bootstrap'"):
        parse_query({"center": "median", "bounds": "student"})


def test_a_level_that_no_curve_reaches_is_said_and_another_one_offered():
    selection = selected(value=9.0, along="x")
    view = figure_view(selection)
    assert view["line"]["offer"] == 2.0
    assert view["line"]["note"] in view["notices"]
    assert view["line"]["note"].startswith(
        "No curve goes to CIDEr-D = 9: they go from 1 to 2. At 2, 2 of 2"
    )
    again = figure_view(selected(value=view["line"]["offer"], along="x"))
    assert "note" not in again["line"]
    assert all(row[1] != "\u2014" for row in again["tables"][0]["rows"])


def test_published_points_are_offered_where_data_and_metrics_fit():
    metrics = {"cider_d": 1.2, "r@10": 70.0}
    coco = Comparison(references=[Reference("a", metrics, "paper", "COCO")])
    found = figure_view(selected(comparison=coco))["published"]
    assert found == {"count": 1, "data": ["COCO"], "here": ""}
    for comparison, y, count in (
        (coco, "mean_rank", 0),
        (replace(coco, data="coco"), "r@10", 1),
        (replace(coco, data="flickr8k"), "r@10", 0),
    ):
        selection = selected(comparison=comparison, y=y, refs=True)
        view = figure_view(selection)
        assert view["published"]["count"] == count
        assert sum(row["reference"] for row in view["rows"]) == count


def test_what_is_drawn_for_print_has_names_and_grays():
    pytest.importorskip("matplotlib")
    shown = Shown(selected(focus=("b",)))
    (panel,) = draw_sheet(shown.view["figure"], 400, 9.0).axes
    texts = [text.get_text() for text in panel.texts]
    assert "b" in texts and "a" not in texts
    (panel,) = draw_sheet(Shown(selected()).view["figure"], 237, 8.0).axes
    boxes = [text.get_window_extent().padded(-1) for text in panel.texts]
    assert len(boxes) > 3
    pairs = itertools.combinations(boxes, 2)
    assert not any(boxes_meet(*pair) for pair in pairs)
