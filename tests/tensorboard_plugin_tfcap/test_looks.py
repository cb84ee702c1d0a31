"""Focus, names, aggregates and published points in a figure and its tables."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from tensorboard_plugin_tfcap.comparison import Comparison
from tensorboard_plugin_tfcap.figure_view import figure_view
from tensorboard_plugin_tfcap.shown import Shown
from tensorboard_plugin_tfcap.table_text import table_text
from tensorboard_plugin_tfcap.tradeoff.name_labels import name_places
from tensorboard_plugin_tfcap.tradeoff.picture import draw_sheet
from tensorboard_plugin_tfcap.tradeoff.point import Reference
from tests.tensorboard_plugin_tfcap.tradeoff.points import boxes_meet
from tests.tensorboard_plugin_tfcap.tradeoff.points import line
from tests.tensorboard_plugin_tfcap.views import dataset
from tests.tensorboard_plugin_tfcap.views import selected
from tests.tensorboard_plugin_tfcap.views import traces
from tests.tensorboard_plugin_tfcap.views import viewed

POINTS = [*line("a", seeds=(0, 1, 2)), *line("b", 4.0, seeds=(0, 1, 2))]


AXES = {"x": "cider_d", "y": "r@10"}


def curves(view):
    return {trace["legendgroup"]: trace for trace in traces(view)}


def test_what_is_out_of_focus_is_gray():
    view = viewed(POINTS, **AXES, focus=("a",))
    one, other = curves(view)["a"], curves(view)["b"]
    assert one["line"]["color"] == "#0072B2"
    assert other["line"]["color"] == "#c3c9cf"
    assert "error_y" in one and "error_y" not in other
    assert [t["legendgroup"] for t in traces(view, "label")] == ["a"]
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
    view = viewed(POINTS, **AXES, hide=("b",))
    notes = view["figure"]["layout"]["annotations"]
    assert [note["text"] for note in notes] == ["a"]
    bare = viewed(POINTS, **AXES, names=False)["figure"]["layout"]
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
    selection = selected(points, **AXES, value=1.5, **asked)
    center = selection.query.center
    wanted = {"mean": 60.0, "median": 57.0, "iqm": 58.5}[center]
    view = figure_view(selection)
    assert curves(view)["a"]["y"][0] == wanted - 5
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


def test_a_level_that_no_curve_reaches_is_said_and_another_one_offered():
    view = viewed(POINTS, **AXES, value=9.0, along="x")
    assert view["line"]["offer"] == 2.0
    assert view["line"]["note"] in view["notices"]
    assert view["line"]["note"].startswith(
        "No curve reaches CIDEr-D = 9: they range from 1 to 2. At 2, 2 of 2"
    )
    again = viewed(POINTS, **AXES, value=2.0, along="x")
    assert "note" not in again["line"]
    assert all(row[1] != "\u2014" for row in again["tables"][0]["rows"])


def test_published_points_are_offered_where_data_and_metrics_fit():
    metrics = {"cider_d": 1.2, "r@10": 70.0}
    coco = Comparison(references=[Reference("a", metrics, "paper", "COCO")])
    view = viewed(dataset(POINTS, comparison=coco), **AXES)
    assert view["published"] == {"count": 1, "data": ["COCO"], "here": ""}
    for comparison, y, count in (
        (coco, "mean_rank", 0),
        (replace(coco, data="coco"), "r@10", 1),
        (replace(coco, data="flickr8k"), "r@10", 0),
    ):
        found = dataset(POINTS, comparison=comparison)
        view = viewed(found, x="cider_d", y=y, refs=True)
        assert view["published"]["count"] == count
        assert sum(row["reference"] for row in view["rows"]) == count


def test_what_is_drawn_for_print_has_names_and_grays():
    pytest.importorskip("matplotlib")
    shown = Shown(selected(POINTS, **AXES, focus=("b",)))
    (panel,) = draw_sheet(shown.view["figure"], 400, 9.0).axes
    texts = [text.get_text() for text in panel.texts]
    assert "b" in texts and "a" not in texts
    figure = viewed(POINTS, **AXES)["figure"]
    (panel,) = draw_sheet(figure, 237, 8.0).axes
    boxes = [text.get_window_extent().padded(-1) for text in panel.texts]
    assert len(boxes) > 3
    pairs = itertools.combinations(boxes, 2)
    assert not any(boxes_meet(*pair) for pair in pairs)
