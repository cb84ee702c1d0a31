"""What counts in tables and figures: at which step, of whom, which way."""

import csv
import io
from dataclasses import replace

import pytest

from tensorboard_plugin_tfcap.comparison import Comparison
from tensorboard_plugin_tfcap.comparison import Preset
from tensorboard_plugin_tfcap.figure_view import figure_view
from tensorboard_plugin_tfcap.query import parse_query
from tensorboard_plugin_tfcap.table_view import area_table
from tensorboard_plugin_tfcap.table_view import level_tables
from tensorboard_plugin_tfcap.table_view import rows_table
from tensorboard_plugin_tfcap.tradeoff.point import Reference
from tensorboard_plugin_tfcap.tradeoff.point import TradeoffPoint
from tensorboard_plugin_tfcap.tradeoff.style import FAINT
from tests.tensorboard_plugin_tfcap.tradeoff.points import line
from tests.tensorboard_plugin_tfcap.views import dataset
from tests.tensorboard_plugin_tfcap.views import selected
from tests.tensorboard_plugin_tfcap.views import traces
from tests.tensorboard_plugin_tfcap.views import viewed

#: A curve that bends back: CIDEr-D is 1 at three places.
BENT = [(0.8, 40.0), (1.2, 50.0), (0.8, 60.0), (1.2, 70.0)]


def at(run, cider, recall=50.0, method="mine", seed=None, step=0, **params):
    """A point of a run."""
    metrics = {"cider_d": cider, "r@10": recall}
    return TradeoffPoint(run, method, params, seed, step, metrics)


def test_swapped_axes_have_the_same_tables():
    points = [
        at(f"r{place}", *values, **{"lambda": place / 10})
        for place, values in enumerate(BENT)
    ]
    found = []
    for x, y, along in (("cider_d", "r@10", "x"), ("r@10", "cider_d", "y")):
        selection = selected(points, x=x, y=y, along=along, value=1.0)
        tables = level_tables(selection, selection.line())
        found.append({**tables, "area": area_table(selection)})
    assert found[0] == found[1]
    # The strongest weight at which captions are still so natural.
    assert found[0]["level"].rows == [["mine", "65.0", "1"]]
    assert "cross it more than once, up to 3" in found[0]["level"].notes[-1]


def test_a_direction_that_is_given_counts_everywhere():
    points = [
        replace(point, metrics={**point.metrics, "novelty": value})
        for point, value in zip([*line("a"), *line("b", 4.0)], range(8))
    ]
    asked = {"x": "cider_d", "y": "novelty", "value": 1.5, "pareto": True}
    unknown = selected(points, **asked)
    assert not traces(figure_view(unknown), "pareto")
    assert area_table(unknown).best == []
    assert "Whether more of novelty is better is unknown" in unknown.notices[0]
    for way, row in (("higher", 1), ("lower", 0)):
        selection = selected(points, **asked, **{way: ("novelty",)})
        tables = level_tables(selection, selection.line())
        assert tables["level"].best == [[row, 1]]
        assert area_table(selection).best[0] == [row, 1]
        assert f"Better: {way}." in tables["level"].markdown()
        view = figure_view(selection)
        assert view["panels"][0]["y_title"][-1] in "\u2191\u2193"
        assert any(mark["pareto"] for mark in view["rows"])


def test_an_address_holds_directions_and_hidden_methods():
    found = parse_query({"lower": "a\nb,c", "hide": "x " * 400})
    assert found.lower == ("a", "b,c") and len(found.hide[0]) == 800


def test_the_worst_level_is_not_the_automatic_one():
    points = [*line("a"), *line("b", 4.0)]
    asked = {"x": "cider_d", "y": "mean_rank", "value": "auto"}
    assert selected(points, **asked, along="x").line()["value"] == 2.0
    # Ranks of a are 9 to 10, of b 5 to 6.
    assert selected(points, **asked, along="y").line()["value"] == 5.0


def test_less_is_bold_in_areas_where_less_is_better():
    selection = selected(
        [*line("a"), *line("b", 4.0)], x="cider_d", y="mean_rank", level=0.8
    )
    table = area_table(selection)
    assert table.best == [[1, 1], [1, 2]]
    assert "80 % interval" in table.notes[0] and "**6" not in table.markdown()


def test_hidden_methods_count_nowhere():
    points = [*line("a"), *line("b", 4.0, weights=(0.1, 0.2, 0.3))]
    asked = {"value": "auto", "pareto": True, "x": "cider_d", "y": "r@10"}
    selection = selected(points, **asked, hide=("b",))
    alone = selected(line("a"), **asked)
    assert selection.line() == alone.line()
    tables = level_tables(selection, selection.line())
    assert tables == level_tables(alone, alone.line())
    assert area_table(selection) == area_table(alone)
    view = figure_view(selection)
    assert {r["method"] for r in view["rows"] if r["pareto"]} == {"a"}
    assert [m["method"] for m in view["methods"]] == ["a", "b"]
    shown = [t["name"] for t in traces(view) if t.get("visible") is None]
    assert shown == ["a"]
    assert {row[0] for row in rows_table(view, selection).rows} == {"a"}


def test_nothing_is_read_off_between_words():
    points = [
        at(name, cider, optimizer=name)
        for name, cider in (("adam", 1.0), ("sgd", 2.0))
    ]
    selection = selected(points, order="optimizer", value=1.5)
    view = figure_view(selection)
    assert view["tables"] == [] and view["area"] is None
    assert view["line"] is None and "strings as values" in view["notices"][-1]
    assert traces(view)[0]["mode"] == "markers"
    # By default, each is a method of its own.
    assert len(selected(points).groups) == 2


def uneven():
    """Three seeds of one point: one has come to step 1, two to step 10."""
    params = {"lambda": 0.1}
    return {
        f"r{seed}": [
            at(f"r{seed}", 0.05 * step, seed=seed, step=step, **params)
            for step in steps
        ]
        for seed, steps in enumerate([(1,), (1, 10), (1, 10)])
    }


def last_of(histories, **changes):
    """A data set of the last points, the first of which may be another."""
    first, *others = (run[-1] for run in histories.values())
    points = [replace(first, **changes), *others]
    return dataset(points, histories=histories)


@pytest.mark.parametrize(
    "at, x, step, said",
    [
        ("last", 0.35, "1 to 10", "1 of 1 points are means of seeds at diff"),
        ("common", 0.05, "1", "All runs at step 1, the last that all 3"),
        ("finished", 0.5, "10", "1 of 3 left out, behind"),
    ],
)
def test_seeds_are_compared_at_steps_that_are_told(at, x, step, said):
    view = viewed(last_of(uneven()), at=at)
    (row,) = view["rows"]
    assert row["x"] == x and row["step"] == step
    assert any(said in notice for notice in view["notices"])
    (curve,) = traces(view)
    (symbol,) = curve["marker"]["symbol"]
    legend = view["figure"]["layout"]["legend"]["title"]["text"]
    assert symbol.endswith("-open") == ("Hollow" in legend) == (at == "last")


def runs_of(method, *settings, **metrics):
    """Runs of a method without seeds, one for each of these settings."""
    metrics = {"cider_d": 1.0, "r@10": 50.0, **metrics}
    return [
        TradeoffPoint(f"{method}/{place}", method, params, metrics=metrics)
        for place, params in enumerate(settings or ({},))
    ]


@pytest.mark.parametrize(
    "about, title",
    [({"method": "other"}, "other"), ({"params": {"k": 1}}, "mine, k = 1")],
)
def test_nobody_waits_for_a_hidden_method(about, title):
    found = last_of(uneven(), **about)
    selection = selected(found, at="common", hide=(title,))
    assert title in selection.groups
    rows = figure_view(selection)["rows"]
    steps = {row["method"]: row["step"] for row in rows}
    assert steps == {title: "1", "mine": "10"}
    assert "that all 2 have" in selection.notices[0]
    # Nor is one told of that has not come as far as the others.
    finished = selected(found, at="finished", hide=(title,))
    assert not any("left out" in text for text in finished.notices)


def test_a_hidden_method_is_on_no_axis():
    points = [*line("a"), *runs_of("z", cider_d=0.0), *runs_of("b")]
    asked = {"x": "cider_d", "y": "r@10", "xscale": "log", "hide": ("z",)}
    layout = viewed(points, **asked)["figure"]["layout"]
    assert layout["xaxis"]["type"] == "log"


def test_what_a_filter_leaves_out_is_no_baseline_and_no_focus():
    points = [*line("a"), *line("b", 4.0)]
    asked = {"x": "cider_d", "y": "r@10", "value": 1.5}
    view = viewed(points, **asked, runs="^b", baseline="a", focus=("a",))
    assert FAINT not in [m["color"] for m in view["methods"]]
    head = ["", "recall@10", "mean rank", "seeds"]
    assert view["tables"][0]["head"] == head
    said = "There are no differences to a: it has no curve here."
    assert said in view["notices"]
    # Another parameter along curves gives them other titles.
    points = runs_of("net", *({"k": k, "l": n} for k in (1, 2) for n in (1, 2)))
    view = viewed(points, order="k", focus=("net, k = 1",))
    assert FAINT not in [m["color"] for m in view["methods"]]
    # Of a focus that is hidden, nothing is left, either.
    view = viewed(line("a"), focus=("b",), hide=("b",))
    assert view["methods"][0]["color"] != FAINT


def test_a_seed_without_the_metric_is_one_of_all_seeds():
    lost = [
        replace(point, metrics={"cider_d": 1.0}, diverged=("r@10",))
        for point in line("mine", seeds=(2,))
    ]
    asked = {"x": "cider_d", "y": "r@10", "value": 1.5}
    selection = selected([*line("mine"), *lost], **asked)
    view = figure_view(selection)
    assert [(row["seeds"], row["of"]) for row in view["rows"]] == [(2, 3)] * 2
    (curve,) = traces(view)
    assert all("2 of 3 seeds" in text for text in curve["text"])
    assert all(name.endswith("-open") for name in curve["marker"]["symbol"])
    assert [table["rows"][0][-1] for table in view["tables"]] == ["2/3"]
    assert area_table(selection).rows[0][-1] == "2/3"
    assert rows_table(view, selection).rows[0][-3] == "2/3"
    assert area_table(selection).records[0]["seeds"] == 3


def test_a_seed_of_a_curve_is_one_combination_of_what_is_left_out():
    settings = [
        {"optimizer": optimizer, "lr": lr}
        for lr in (1, 2, 3)
        for optimizer in ("adam", "sgd")
        if (optimizer, lr) != ("adam", 2)
    ]
    points = [
        replace(point, metrics={"cider_d": place / 10, "r@10": 5.0})
        for place, point in enumerate(runs_of("net", *settings))
    ]
    asked = {"x": "cider_d", "y": "r@10", "order": "lr", "curve": ("method",)}
    curves = selected(points, **asked).curves["net"]
    assert {seed: [*curve.naturalness] for seed, curve in curves.items()} == {
        "optimizer = adam": [0.0, 0.3],
        "optimizer = sgd": [0.1, 0.2, 0.4],
    }
    # Methods, too, may be left out, and seeds stay apart.
    points = [*line("a", seeds=(0,), rho=1), *line("b", rho=1)]
    (curves,) = selected(points, curve=("rho",)).curves.values()
    assert list(curves) == ["a, seed = 0", "b, seed = 0", "b, seed = 1"]
    # Where nothing is left out, a seed is what it was.
    (curves,) = selected(line("a"), curve=("method",)).curves.values()
    assert list(curves) == [0, 1]


def test_methods_of_one_title_stay_apart():
    points = [
        replace(point, title="PSST") for point in [*line("a"), *line("b", 4.0)]
    ]
    points += line("PSST", 8.0)
    titles = ["PSST (a)", "PSST (b)", "PSST"]
    for asked in ({}, {"curve": ("method",)}):
        selection = selected(points, **asked)
        assert sorted(selection.groups) == sorted(titles)
        assert selection.notices == []
    # Those that a filter leaves have the names that they had.
    assert [*selected(points, runs="^a").groups] == ["PSST (a)"]


def test_a_panel_of_a_parameter_says_over_which_points_it_reads():
    weights = (0.1, 0.2, 0.3)
    points = line("a", seeds=(0,), weights=weights, rho=0.25)
    points += line("a", 4.0, seeds=(0,), weights=weights, rho=0.5)
    for point in points:
        point.metrics["bleu_4"] = point.metrics["cider_d"] / 4
    # What is left out of the log's own axes is said anyway.
    del points[4].metrics["bleu_4"]
    panels = ({"title": "(f)", "x": "bleu_4", "parameter": "rho"},)
    preset = Preset("f", "F", y="r@10", panels=panels)
    comparison = Comparison(presets={"f": preset})
    view = viewed(dataset(points, comparison=comparison), preset="f")
    assert [row["label"] for row in view["rows"]] == [
        *("\u03c1 = 0.25", "\u03c1 = 0.5")
    ]
    assert (
        "a, \u03c1 = 0.5: 1 of 3 points lack bleu_4 and r@10, and are left out."
    ) in view["notices"]


def test_a_run_without_the_parameter_is_none_of_those_with_zero():
    points = line("mine", seeds=(0,), weights=(0, 0.1))
    points.append(replace(points[0], run="mine/left", params={}, seed=1))
    points += runs_of("plain", mean_rank=9.0)
    asked = {"x": "cider_d", "y": "r@10", "value": 1.5}
    selection = selected(points, **asked)
    view = figure_view(selection)
    mine = [row for row in view["rows"] if row["method"] == "mine"]
    assert [(row["seeds"], row["of"]) for row in mine] == [(1, 1)] * 2
    assert "mine: 1 points without lambda are left out." in view["notices"]
    assert area_table(selection).rows[0][-1] == "1"
    records = csv.DictReader(io.StringIO(rows_table(view, selection).csv()))
    assert "mine/left" not in {record["run"] for record in records}
    # Nor does anybody wait for it where its method is hidden.
    points[2] = replace(points[2], step=-1)
    histories = {point.run: [point] for point in points}
    found = dataset(points, histories=histories)
    found = selected(found, at="common", hide=("mine",))
    assert "All runs at step 0" in found.notices[0]


@pytest.mark.parametrize(
    "hide, shown", [((), True), (("published",), "legendonly")]
)
def test_published_points_are_hidden_by_the_legend(hide, shown):
    reference = Reference("SR-PL", {"cider_d": 1.0, "r@10": 9.0}, "COCO")
    found = dataset(line("a"), references=[reference])
    view = viewed(found, refs=True, hide=hide)
    (trace,) = traces(view, "reference")
    assert trace.get("visible", True) == shown
    assert view["rows"][-1]["hidden"] == bool(hide)
