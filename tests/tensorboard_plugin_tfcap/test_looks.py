"""Looks, names, aggregates and published points in a figure and its tables."""

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
from tensorboard_plugin_tfcap.several_view import reference_point
from tensorboard_plugin_tfcap.several_view import several_table
from tensorboard_plugin_tfcap.several_view import several_view
from tensorboard_plugin_tfcap.several_view import shown_metrics
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


def test_chosen_looks_and_focus_are_in_what_is_drawn():
    query = parse_query({"looks": "a\t#123456\tx", "focus": "a"})
    view = figure_view(selected(looks=query.looks, focus=query.focus))
    curves = traces(view, "curve")
    assert curves["a"]["line"]["color"] == "#123456"
    assert curves["a"]["marker"]["symbol"][0].startswith("x")
    assert curves["b"]["line"]["color"] == "#c3c9cf"
    assert "error_y" in curves["a"] and "error_y" not in curves["b"]
    assert list(traces(view, "label")) == ["a"]
    legend = {m["method"]: m for m in view["methods"]}
    assert legend["b"]["faint"] and legend["b"]["assigned"] == "#56B4E9"
    assert {row["color"] for row in view["rows"]} == {"#123456", "#c3c9cf"}


def test_marks_have_the_colors_of_a_parameter():
    view = figure_view(selected(color_by="lambda"))
    found = traces(view, "curve")
    colors = [found[name]["marker"]["color"] for name in "ab"]
    assert colors[0] == colors[1] and len(set(colors[0])) == 2
    assert [row["color"] for row in view["rows"]] == colors[0] * 2
    (bar,) = [t for t in view["figure"]["data"] if t["meta"]["kind"] == "scale"]
    assert bar["marker"]["colorbar"]["ticktext"] == ["0.1", "0.2"]
    legend = view["figure"]["layout"]["legend"]["title"]["text"]
    assert legend.endswith("Colors: \u03bb.")
    # A curve of one value is of its color; in focus, all others stay gray.
    points = [*line("a", k=1), *line("a", k=2)]
    view = figure_view(selected(points, color_by="k", focus=("a, k = 1",)))
    one, other = traces(view, "curve").values()
    assert one["line"]["color"] == one["marker"]["color"][0] == "#0d0887"
    assert other["line"]["color"] == "#c3c9cf"
    # Runs that are repetitions of one another keep their settings.
    view = figure_view(selected(points, color_by="k", curve=("k",)))
    one, other = traces(view, "curve").values()
    assert one["line"]["color"] != other["line"]["color"]
    # Hidden methods are on no scale, whatever values they have.
    points = [*line("a"), *line("b", weights=(9,)), *line("c", weights=("x",))]
    asked = {"color_by": "lambda", "order": "lambda", "hide": ("b", "c")}
    view = figure_view(selected(points, **asked))
    (bar,) = [t for t in view["figure"]["data"] if t["meta"]["kind"] == "scale"]
    assert bar["marker"]["colorbar"]["ticktext"] == ["0.1", "0.2"]
    assert traces(view, "curve")["a"]["marker"]["color"] == colors[0]
    for hide in (("a",), ("a", "b")):
        view = figure_view(selected(POINTS, color_by="lambda", hide=hide))
        assert view["rows"]
    with pytest.raises(QueryError, match="`color_by` must be a parameter"):
        figure_view(selected(color_by="nothing"))


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


def test_several_metrics_are_drawn_with_better_up():
    view = several_view(selected(metrics=("cider_d", "r@10", "mean_rank")))
    tracks = {t["name"]: t for t in view["figure"]["data"]}
    # b has the better, lower ranks: 5 to 6 of 5 to 10.
    assert tracks["b"]["y"][:3] == [1.0, 0.28571, 0.8]
    assert tracks["a"]["y"][6] == 0.2
    ends = [a["text"] for a in view["figure"]["layout"]["annotations"]]
    assert ends == ["1", "2", "52", "66", "10", "5"]
    titles = [m["title"][-1] for m in view["metrics"]]
    assert titles == ["\u2191", "\u2191", "\u2193"]


def test_hypervolumes_respect_directions_and_their_reference_point():
    names = ("cider_d", "r@10", "mean_rank")
    worst = ("cider_d=1", "r@10=50", "mean_rank=10")
    table = several_table(selected(metrics=names, worst=worst))
    # Of a: (2, 50 + 2s, 10) and (1, 60 + 2s, 9) add nothing. Of b, in edges
    # over the reference: (1, 4 + 2s, 4) alone.
    assert [row[1].split()[0] for row in table.rows] == ["0", "24"]
    assert table.best == [[1, 1]]
    note = table.notes[0]
    assert "CIDEr-D = 1, recall@10 = 50, mean rank = 10. Each" in note
    usual = several_table(selected(metrics=names, hide=("a",)))
    assert [row[0] for row in usual.rows] == ["b"]
    assert "a tenth of the range worse" in usual.notes[0]
    text = table_text(selected(metrics=names), "csv", "hypervolume")
    assert text.startswith("method,metrics,reference,seed,value,points,mean")
    unknown = [replace(p, metrics={**p.metrics, "z": 1.0}) for p in POINTS]
    said = several_table(selected(unknown, metrics=("cider_d", "z")))
    assert said.rows == [] and "z is better is not known" in said.notes[0]
    # Great numbers close together: worse than all of them nevertheless.
    close = [12345.61, 12345.63]
    near = [
        replace(p, metrics={**p.metrics, "r@10": value})
        for p, value in zip(POINTS, close * 6)
    ]
    found, _ = reference_point(selected(near), shown_metrics(selected(near)))
    assert found["r@10"] == pytest.approx(12345.608, abs=1e-6)
    with pytest.raises(QueryError, match="`worst` must be lines"):
        several_table(selected(metrics=names, worst=("cider_d",)))
    with pytest.raises(QueryError, match="`metrics` must be at most"):
        several_view(selected(metrics=("nothing",)))


def test_a_volume_says_where_seeds_have_fewer_points():
    lost = [p for p in POINTS if (p.method, p.seed) != ("b", 1)]
    lost += [p for p in POINTS if (p.method, p.seed) == ("b", 1)][:1]
    said = "b: its seeds have 1 to 2 points; of fewer, a volume is smaller."
    names = ("cider_d", "r@10")
    assert said in several_table(selected(lost, metrics=names)).notes
    assert len(several_table(selected(metrics=names)).notes) == 3


def test_what_is_drawn_for_print_has_names_grays_and_a_color_bar():
    pytest.importorskip("matplotlib")
    shown = Shown(selected(focus=("b",), color_by="lambda"))
    panel, bar = draw_sheet(shown.view["figure"], 400, 9.0).axes
    texts = [text.get_text() for text in panel.texts]
    assert "b" in texts and "a" not in texts
    assert bar.get_ylabel() == "\u03bb"
    ticks = [text.get_text() for text in bar.get_yticklabels()]
    assert ticks == ["0.1", "0.2"]
    (panel,) = draw_sheet(Shown(selected()).view["figure"], 237, 8.0).axes
    boxes = [text.get_window_extent().padded(-1) for text in panel.texts]
    assert len(boxes) > 3
    pairs = itertools.combinations(boxes, 2)
    assert not any(boxes_meet(*pair) for pair in pairs)
