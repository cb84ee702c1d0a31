import math

import numpy as np
import pytest

from tfcap.curves import mean_interval
from tfcap.curves.aggregate import Aggregate
from tfcap.curves.aggregate import student_t_quantile


# Published tables of the t distribution, two-sided 95 % and 99 %.
@pytest.mark.parametrize(
    "freedom, at_95, at_99",
    [
        (1, 12.706, 63.657),
        (2, 4.303, 9.925),
        (3, 3.182, 5.841),
        (4, 2.776, 4.604),
        (5, 2.571, 4.032),
        (9, 2.262, 3.250),
        (30, 2.042, 2.750),
        (1000, 1.962, 2.581),
    ],
)
def test_quantiles_are_those_of_the_tables(freedom, at_95, at_99):
    assert round(student_t_quantile(0.975, freedom), 3) == at_95
    assert round(student_t_quantile(0.995, freedom), 3) == at_99


def test_intervals_of_a_mean_hold_as_often_as_they_say():
    draws = np.random.default_rng(0).normal(3.0, 2.0, size=(2000, 4))
    hits = [i.low <= 3.0 <= i.high for i in map(mean_interval, draws)]
    assert abs(np.mean(hits) - 0.95) < 4 * math.sqrt(0.95 * 0.05 / 2000)


def test_one_run_says_nothing_about_its_spread():
    assert mean_interval([2.0]) == (2.0, -math.inf, math.inf)


@pytest.mark.parametrize("level", [0.0, 1.0, 95])
def test_a_level_outside_the_unit_interval_is_refused(level):
    with pytest.raises(ValueError, match=r"`level` must be in \(0, 1\)"):
        Aggregate(level=level)


def test_no_draws_are_refused():
    with pytest.raises(ValueError, match="`samples` must be at least 1"):
        Aggregate("median", "bootstrap", samples=0)


def test_no_values_are_refused():
    with pytest.raises(ValueError, match="`values` must not be empty"):
        mean_interval([])
