import itertools
import math

import numpy as np
import pytest

from tfcap.curves import Curve
from tfcap.curves import compare_curves
from tfcap.curves import mean_interval
from tfcap.curves.aggregate import Aggregate
from tfcap.curves.aggregate import student_t_quantile
from tfcap.curves.lines import line_band

VALUES = [3.0, 1.0, 8.0]


def test_means_have_students_interval_by_default():
    half = 2.919986 * math.sqrt(13 / 3)  # t(0.95, 2) * std / sqrt(n)
    found = Aggregate(level=0.9)(VALUES)
    assert found == pytest.approx((4.0, 4.0 - half, 4.0 + half))
    assert mean_interval(VALUES) == Aggregate()(VALUES)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 11])
def test_interquartile_means_are_those_of_the_middle_half(n):
    values = np.random.default_rng(n).normal(size=n)
    # Each value four times: a quarter of them is a whole number.
    middle = np.sort(np.repeat(values, 4))[n : 3 * n]
    found = Aggregate("iqm", "range")(values)
    assert found.mean == pytest.approx(middle.mean())


@pytest.mark.parametrize("center", ["mean", "median"])
def test_bootstrap_bounds_are_those_of_all_draws(center):
    drawn = itertools.product(VALUES, repeat=3)
    centers = np.sort([getattr(np, center)(some) for some in drawn])
    found = Aggregate(center, "bootstrap", 0.8)(VALUES)
    assert found.mean == getattr(np, center)(VALUES)
    assert found.low == pytest.approx(centers[math.ceil(0.1 * 27) - 1])
    assert found.high == pytest.approx(centers[math.ceil(0.9 * 27) - 1])
    assert "80 %" in Aggregate(center, "bootstrap", 0.8).words
    assert "2000 draws, seed 0" in Aggregate(center, "bootstrap").words


def test_a_range_is_that_of_the_runs_and_one_run_has_none():
    for center in ("mean", "median", "iqm"):
        assert Aggregate(center, "range")(VALUES)[1:] == (1.0, 8.0)
        for bounds in ("range", "bootstrap"):
            found = Aggregate(center, bounds)([2.0])
            assert found == (2.0, -math.inf, math.inf)


def test_curves_are_compared_and_banded_by_it():
    curves = {
        "a": {s: Curve([2, 1], [50 + v, 60 + v]) for s, v in enumerate(VALUES)}
    }
    aggregate = Aggregate("median", "range")
    found = compare_curves(curves, 1.5, baseline="a", aggregate=aggregate)
    assert found["a"].interval == (58.0, 56.0, 63.0)
    assert found["a"].difference == (0.0, 0.0, 0.0)
    level = {s: Curve([0, 1], [v, v]) for s, v in enumerate(VALUES)}
    outline = line_band(level, np.arange(2.0), aggregate=aggregate)
    assert np.ptp(outline[:, 1]) == 7.0 and outline[:, 1].max() == 8.0


@pytest.mark.parametrize(
    "given, told",
    [
        ({"center": "mode"}, "`center` must be"),
        ({"bounds": "x"}, "`bounds` must be"),
        ({"level": 0.0}, r"`level` must be in \(0, 1\)"),
        ({"level": 1.0}, r"`level` must be in \(0, 1\)"),
        # Student's interval is of means.
        ({"center": "median"}, "'bootstrap' or 'range'"),
        (
            {"center": "median", "bounds": "bootstrap", "samples": 0},
            "`samples` must be at least 1",
        ),
    ],
)
def test_what_is_no_aggregate_is_refused(given, told):
    with pytest.raises(ValueError, match=told):
        Aggregate(**given)


def test_one_value_says_nothing_of_its_spread_and_none_are_refused():
    assert mean_interval([2.0]) == (2.0, -math.inf, math.inf)
    with pytest.raises(ValueError, match="`values` must not be empty"):
        mean_interval([])


# Published tables of the t distribution, two-sided 95 % and 99 %.
@pytest.mark.parametrize(
    "freedom, at_95, at_99",
    [
        *((1, 12.706, 63.657), (2, 4.303, 9.925), (3, 3.182, 5.841)),
        *((4, 2.776, 4.604), (9, 2.262, 3.250), (1000, 1.962, 2.581)),
    ],
)
def test_quantiles_are_those_of_the_tables(freedom, at_95, at_99):
    assert round(student_t_quantile(0.975, freedom), 3) == at_95
    assert round(student_t_quantile(0.995, freedom), 3) == at_99


def test_intervals_of_a_mean_hold_as_often_as_they_say():
    draws = np.random.default_rng(0).normal(3.0, 2.0, size=(2000, 4))
    hits = [i.low <= 3.0 <= i.high for i in map(mean_interval, draws)]
    assert abs(np.mean(hits) - 0.95) < 4 * math.sqrt(0.95 * 0.05 / 2000)
