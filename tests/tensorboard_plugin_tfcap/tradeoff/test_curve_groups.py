from dataclasses import replace

import pytest

from tensorboard_plugin_tfcap.tradeoff.curve_groups import group_points
from tensorboard_plugin_tfcap.tradeoff.curve_groups import measured_curves
from tensorboard_plugin_tfcap.tradeoff.curve_groups import order_places
from tensorboard_plugin_tfcap.tradeoff.point import TradeoffPoint
from tests.tensorboard_plugin_tfcap.tradeoff.points import line


def test_methods_come_in_the_order_of_the_legend_and_then_of_their_names():
    names = ("zebra", "luo2018", "antelope", "psst_multinomial")
    points = [point for name in names for point in line(name)]
    titles = {"psst_multinomial": "PSST Multinomial", "none": "None"}
    titles["luo2018"] = "Luo et al. 2018"
    groups, notices = group_points(points, "lambda", titles)
    assert list(groups) == [*titles.values()][::2] + ["antelope", "zebra"]
    assert notices == []


@pytest.mark.parametrize(
    "points, order, titles",
    [
        (
            [*line("mine", k=10), *line("mine", k=9), *line("mine", k="a")],
            "lambda",
            ["mine, k = 9", "mine, k = 10", "mine, k = a"],
        ),
        # Along k, each lambda is a curve.
        (
            [*line("mine", k=10), *line("mine", k=9)],
            "k",
            ["mine, \u03bb = 0.1", "mine, \u03bb = 0.2"],
        ),
        # A setting that some lack.
        (
            [*line("mine"), *line("mine", k=1)],
            "lambda",
            ["mine, k = 1", "mine"],
        ),
        # A method with the title of a curve.
        (
            [*line("m", k=1), *line("m", k=2), *line("m, k = 1")],
            "lambda",
            ["m, k = 1", "m, k = 2", "m, k = 1 (m, k = 1)"],
        ),
    ],
)
def test_another_setting_makes_another_curve(points, order, titles):
    groups, _ = group_points(points, order)
    assert list(groups) == titles
    assert sum(map(len, groups.values())) == len(points)


def test_two_sweeps_in_one_log_are_told_apart_by_folder():
    points = [
        replace(point, run=f"{folder}/{place}")
        for folder in ("old", "new")
        for place, point in enumerate(line("mine"))
    ]
    groups, notices = group_points(points, "lambda")
    assert list(groups) == ["mine (old)", "mine (new)"] and notices == []


def in_folders(form, **options):
    """A sweep whose runs are named so."""
    return [
        replace(p, run=form.format(*p.params.values(), p.seed))
        for p in line("mine", weights=(0, 0.1, 0.2), **options)
    ]


@pytest.mark.parametrize(
    "again", ["mine/lambda=0.1/seed=0_retry", "mine/lambda=0.1_retry/seed=0"]
)
def test_a_run_that_is_repeated_leaves_its_curve_whole(again):
    points = in_folders("mine/lambda={}/seed={}")
    repeated = replace(points[1], run=again, wall_time=5.0)
    groups, notices = group_points([*points, repeated], "lambda")
    assert list(groups) == ["mine"] and len(groups["mine"]) == 6
    assert repeated in groups["mine"]
    assert "1 runs have the seed and lambda of another run" in notices[0]


def test_sweeps_with_folders_within_are_told_apart_by_their_own():
    points = in_folders("all/old/lambda={}/seed={}")
    points += in_folders("all/new/lambda={}/seed={}")
    points.append(replace(points[0], run="all/old/lambda=0/seed=0_retry"))
    groups, notices = group_points(points, "lambda")
    assert {title: len(found) for title, found in groups.items()} == {
        "mine (all/old)": 6,
        "mine (all/new)": 6,
    }
    assert notices[0].startswith("mine (all/old): 1 runs")
    # A method that is a point is one in each sweep.
    points = [TradeoffPoint(f"{name}/base", "base") for name in ("a", "b")]
    assert [*group_points(points, None)[0]] == ["base (a)", "base (b)"]


def test_of_the_same_point_the_latest_run_counts():
    first = line("mine", seeds=(0,))
    later = [replace(p, run=f"{p.run}b", wall_time=5.0) for p in first]
    groups, notices = group_points([*later, *first], "lambda")
    assert groups["mine"] == later
    assert "2 runs have the seed and lambda of another run" in notices[0]


def test_words_are_places_in_their_order():
    points = [*line("mine", k="b"), *line("mine", k="a")]
    places, texts = order_places(points, "k")
    assert places == {"a": 0.0, "b": 1.0} and texts[1.0] == "k = b"


def test_points_without_a_metric_are_left_out_and_named():
    points = line("mine")
    points[0] = replace(points[0], metrics={"cider_d": 1.0})
    curves, notices = measured_curves(
        {"mine": points}, "cider_d", "r@10", "lambda"
    )
    assert len(curves["mine"][0]) == 1 and len(curves["mine"][1]) == 2
    assert notices == [
        "mine: 1 of 4 points lack cider_d and r@10, and are left out."
    ]


def test_values_that_differ_beyond_six_digits_are_curves_of_their_own():
    for values, titles in (
        ((20260101, 20260102), ["20260101", "20260102"]),
        ((20260101.0, 20260102.0), ["20260101", "20260102"]),
        ((0.1, 0.10000003), ["0.1", "0.10000003"]),
        ((1.7e18, 1.8e18), ["1.7e+18", "1.8e+18"]),
    ):
        points = [point for k in values for point in line("mine", k=k)]
        groups, notices = group_points(points, "lambda")
        assert list(groups) == [f"mine, k = {text}" for text in titles]
        assert notices == []
        places, texts = order_places(points, "k")
        assert [texts[places[k]] for k in values] == [
            f"k = {text}" for text in titles
        ]
