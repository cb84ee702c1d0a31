import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from tfcap.curves import Curve
from tfcap.curves.curve import pareto_front

#: Natural to discriminative, without noise.
SMOOTH = Curve(
    [1.3, 1.2, 1.0, 0.6], [50.0, 62.0, 74.0, 80.0], [0.5, 1.0, 2.5, 10.0]
)
#: Naturalness rises at first and falls back, and wavers in between.
WAVERING = Curve([1.0, 1.2, 1.05, 1.15, 0.8], [50.0, 60.0, 66.0, 70.0, 84.0])


def test_values_lie_on_the_line_between_two_neighbors():
    # A quarter of the way from 1.2 to 1.0, and half of that from 50 to 62.
    assert SMOOTH.recall_at(1.15) == pytest.approx(65.0)
    assert SMOOTH.naturalness_at(56.0) == pytest.approx(1.25)


def test_points_are_read_off_exactly():
    for x, y in zip(SMOOTH.naturalness, SMOOTH.recall):
        assert SMOOTH.recall_at(x) == y
        assert SMOOTH.naturalness_at(y) == x


def test_the_parameter_and_not_the_naturalness_orders_the_points():
    places = np.array([3, 0, 4, 1, 2])
    shuffled = Curve(
        WAVERING.naturalness[places], WAVERING.recall[places], places
    )
    np.testing.assert_array_equal(shuffled.recall, WAVERING.recall)
    assert shuffled.recall_at(1.1) == WAVERING.recall_at(1.1)
    by_naturalness = np.argsort(-WAVERING.naturalness)
    other = Curve(
        WAVERING.naturalness[by_naturalness], WAVERING.recall[by_naturalness]
    )
    assert other.recall_at(1.1) != WAVERING.recall_at(1.1)


def test_every_crossing_is_found_in_order():
    found = WAVERING.crossings(naturalness=1.1)
    assert found[:, 0].tolist() == [1.1] * 4
    third = Curve([0.1, 0.8], [0.3, 0.9]).crossings(naturalness=0.3)
    assert third[:, 0].tolist() == [0.3]
    np.testing.assert_allclose(found[:, 1], [55.0, 64.0, 68.0, 72.0])
    assert WAVERING.crossings(naturalness=2.0).shape == (0, 2)


def test_which_crossing_counts_is_told_by_its_place_alone():
    assert WAVERING.recall_at(1.1) == pytest.approx(72.0)
    assert WAVERING.recall_at(1.1, "first") == pytest.approx(55.0)
    assert WAVERING.recall_at(1.1, "mean") == pytest.approx(64.75)
    # Read backwards, the last crossing is the worst one: no peeking.
    backwards = Curve(WAVERING.naturalness[::-1], WAVERING.recall[::-1])
    assert backwards.recall_at(1.1) == pytest.approx(55.0)


def test_a_fixed_recall_is_taken_where_it_is_first_reached():
    # A listener that no longer follows: recall falls at the far end.
    collapsed = Curve([1.2, 1.0, 0.2], [60.0, 80.0, 40.0])
    assert collapsed.naturalness_at(70.0) == pytest.approx(1.1)
    assert collapsed.naturalness_at(70.0, "last") == pytest.approx(0.8)


def test_a_line_that_only_touches_a_level_crosses_it_once():
    peak = Curve([1.0, 1.2, 1.0], [50.0, 60.0, 70.0])
    assert peak.crossings(naturalness=1.2).tolist() == [[1.2, 60.0]]


def test_a_stretch_along_a_level_gives_both_of_its_ends():
    level = Curve([1.2, 1.0, 1.0, 0.8], [50.0, 60.0, 70.0, 80.0])
    assert level.crossings(naturalness=1.0)[:, 1].tolist() == [60.0, 70.0]
    assert level.recall_at(1.0) == 70.0


def test_naturalness_and_recall_are_read_alike():
    mirrored = Curve(WAVERING.recall, WAVERING.naturalness)
    for crossing in ("first", "last", "mean"):
        found = mirrored.naturalness_at(1.1, crossing)
        assert found == WAVERING.recall_at(1.1, crossing)


@pytest.mark.parametrize("naturalness", [1.3001, 0.5999, -1.0])
def test_nothing_is_read_off_beyond_the_points(naturalness):
    with pytest.warns(UserWarning, match="it goes from 0.6 to 1.3"):
        assert np.isnan(SMOOTH.recall_at(naturalness))
    with pytest.warns(UserWarning, match="no recall of 80.1"):
        assert np.isnan(SMOOTH.naturalness_at(80.1))


def test_a_single_point_is_a_curve_of_itself():
    point = Curve([1.0], [60.0])
    assert point.recall_at(1.0) == 60.0
    assert point.area() == 0.0
    with pytest.warns(UserWarning, match="without extrapolation"):
        assert np.isnan(point.recall_at(0.99))


def dominated(x, y, i):
    return any(
        x[j] >= x[i] and y[j] >= y[i] and (x[j] > x[i] or y[j] > y[i])
        for j in range(len(x))
    )


GRID = st.integers(0, 6).map(float)
POINTS = st.lists(st.tuples(GRID, GRID), min_size=1, max_size=9)


@given(POINTS)
def test_the_front_is_what_nothing_beats(points):
    x, y = np.array(points).T
    front = pareto_front(x, y)
    assert set(front) == {i for i in range(len(x)) if not dominated(x, y, i)}
    assert list(x[front]) == sorted(x[front], reverse=True)
    assert list(y[front]) == sorted(y[front])


def test_the_area_of_a_falling_line_is_that_of_its_trapezoids():
    assert SMOOTH.area() == pytest.approx(0.1 * 56 + 0.2 * 68 + 0.4 * 77)
    # From 1.1, where the recall is 68, to 1.25, where it is 56.
    wanted = 0.1 * (68 + 62) / 2 + 0.05 * (62 + 56) / 2
    assert SMOOTH.area(1.1, 1.25) == pytest.approx(wanted)


@settings(max_examples=25, deadline=None)
@given(POINTS.filter(lambda points: len({x for x, _ in points}) > 1))
def test_the_area_is_the_limit_of_a_sum_over_what_is_read_off(points):
    curve = Curve(*np.array(points).T)
    low, high = curve.naturalness.min(), curve.naturalness.max()
    steps = np.linspace(low, high, 1001)
    steps = (steps[1:] + steps[:-1]) / 2
    mean = np.mean([curve.recall_at(x) for x in steps])
    # At each of a few jumps, a step or less is on the wrong side.
    assert curve.area() == pytest.approx(mean * (high - low), abs=0.3)


def test_parts_of_an_area_make_the_whole():
    whole = WAVERING.area(0.8, 1.2)
    parts = WAVERING.area(0.8, 1.03), WAVERING.area(1.03, 1.2)
    assert sum(parts) == pytest.approx(whole)


def test_an_area_beyond_the_points_is_not_made_up():
    with pytest.warns(UserWarning, match="naturalness of 0.5 to 1"):
        assert np.isnan(SMOOTH.area(0.5, 1.0))
    with pytest.raises(ValueError, match="`low` must not be greater"):
        SMOOTH.area(1.2, 0.9)


@pytest.mark.parametrize(
    "points, told",
    [
        (([1.0, 0.9], [60.0, float("nan")]), "`recall` must be finite"),
        (([1.0, 0.9], [60.0]), "n of 2, 1 and 2"),
        (([], []), "must have one shape"),
        (([1, 0.9], [60, 70], [1e-3] * 2), "in which a value is repeated"),
    ],
)
def test_what_is_no_curve_is_refused(points, told):
    with pytest.raises(ValueError, match=told):
        Curve(*points)


def test_a_crossing_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="`crossing` must be one of"):
        SMOOTH.recall_at(1.0, "best")


def test_a_curve_does_not_change_with_the_arrays_it_was_made_of():
    recall = np.array([60.0, 70.0])
    curve = Curve([1.0, 0.9], recall)
    recall[:] = 0.0
    assert curve.recall_at(0.95) == pytest.approx(65.0)


def test_a_turned_sign_is_a_turned_direction():
    # Both small: the first one is the best.
    found = pareto_front([-1.0, -2.0], [-1.0, -3.0])
    assert found.tolist() == [0]
