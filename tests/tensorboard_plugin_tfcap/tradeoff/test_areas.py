import pytest

from tensorboard_plugin_tfcap.tradeoff.areas import curve_areas
from tensorboard_plugin_tfcap.tradeoff.curve import Curve


def test_areas_are_over_what_all_curves_cover():
    curves = {
        "a": {0: Curve([3.0, 1.0], [50.0, 70.0])},
        "b": {0: Curve([2.0, 0.0], [50.0, 70.0])},
    }
    curves["c"] = {0: Curve([2.2, 0.8], [50.0, 70.0])}
    (a, b, c), notices = curve_areas(curves)
    assert notices == [] and (a["low"], a["high"]) == (1.0, 2.0)
    assert (a["area"], b["area"]) == pytest.approx((65.0, 55.0))
    assert c["interval"] == [None, None]


def test_who_is_far_off_has_none_and_is_named():
    curves = {
        "a": {0: Curve([3.0, 2.0], [50.0, 70.0])},
        "b": {0: Curve([3.1, 1.9], [50.0, 70.0])},
        "c": {0: Curve([1.0, 0.9], [50.0, 70.0])},
    }
    found, notices = curve_areas(curves)
    assert [area["method"] for area in found] == ["a", "b"]
    assert notices == ["c does not go from 2 to 3, and has no area."]


def test_seeds_without_a_range_in_common_have_none():
    curves = {
        0: Curve([3.0, 2.0], [5.0, 7.0]),
        1: Curve([1.0, 0.0], [5.0, 7.0]),
    }
    found, notices = curve_areas({"a": curves})
    assert found == [] and "no range" in notices[0]


def test_a_single_point_does_not_count():
    curves = {
        "a": {0: Curve([3.0, 2.0], [50.0, 70.0])},
        "b": {0: Curve([1.0], [50.0])},
    }
    assert [found["method"] for found in curve_areas(curves)[0]] == ["a"]
    assert "no method has a curve" in curve_areas({"b": curves["b"]})[1][0]
