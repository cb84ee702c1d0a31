import pytest

from tensorboard_plugin_tfcap.tradeoff.areas import curve_areas
from tensorboard_plugin_tfcap.tradeoff.curve import Curve


def test_areas_are_over_what_all_curves_cover():
    curves = {
        "a": {0: Curve([3.0, 1.0], [50.0, 70.0])},
        "b": {0: Curve([2.0, 0.0], [50.0, 70.0])},
    }
    (a, b), notices = curve_areas(curves)
    assert notices == [] and (a["low"], a["high"]) == (1.0, 2.0)
    assert (a["area"], b["area"]) == pytest.approx((65.0, 55.0))


def test_without_a_range_in_common_there_is_none():
    curves = {
        "a": {0: Curve([3.0, 2.0], [50.0, 70.0])},
        "b": {0: Curve([1.0, 0.0], [50.0, 70.0])},
    }
    assert curve_areas(curves)[0] == []
    assert "no range" in curve_areas(curves)[1][0]


def test_a_single_point_does_not_count():
    curves = {
        "a": {0: Curve([3.0, 2.0], [50.0, 70.0])},
        "b": {0: Curve([1.0], [50.0])},
    }
    assert [found["method"] for found in curve_areas(curves)[0]] == ["a"]
    assert "no method has a curve" in curve_areas({"b": curves["b"]})[1][0]
