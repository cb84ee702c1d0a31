import math

import pytest

from tfcap.curves import Curve
from tfcap.curves import compare_curves
from tfcap.curves import curve_overlap
from tfcap.curves import group_curves
from tfcap.curves import mean_interval
from tfcap.curves import operating_point
from tfcap.curves.aggregate import Aggregate
from tfcap.curves.areas import curve_areas


def line(shift=0.0, low=0.8, high=1.2):
    """A curve of two points, 60 at the natural end and 80 at the other."""
    return Curve([high, low], [60.0 + shift, 80.0 + shift])


CURVES = {
    "psst": {0: line(5.0), 1: line(8.0), 2: line(2.0)},
    "st": {0: line(0.0), 1: line(1.0), 2: line(-1.0, low=1.1)},
    "luo": {0: line(-9.0, high=0.9)},
}


def test_each_seed_is_read_off_by_itself():
    found = compare_curves(CURVES, at=1.0)
    assert found["psst"].values == pytest.approx({0: 75.0, 1: 78.0, 2: 72.0})
    assert found["psst"].interval == pytest.approx(mean_interval([75, 78, 72]))
    assert found["psst"].difference is None


def test_seeds_that_do_not_go_there_are_counted_and_not_made_up():
    found = compare_curves(CURVES, at=1.0)
    assert list(found["st"].values) == [0, 1] and found["st"].seeds == 3
    assert found["luo"].values == {} and found["luo"].seeds == 1
    assert all(map(math.isnan, found["luo"].interval))


def test_differences_are_of_the_same_seeds():
    found = compare_curves(CURVES, at=1.0, baseline="st")
    # Seeds 0 and 1: 75 - 70 and 78 - 71.
    assert found["psst"].pairs == 2
    assert found["psst"].difference == pytest.approx(mean_interval([5, 7]))
    assert found["st"].difference == (0.0, 0.0, 0.0)
    assert found["luo"].pairs == 0
    assert all(map(math.isnan, found["luo"].difference))


def test_naturalness_is_compared_at_a_recall():
    found = compare_curves(CURVES, at=70.0, of="naturalness", baseline="luo")
    # From 65 at 1.2 to 85 at 0.8, and from 51 at 0.9 to 71 at 0.8.
    assert found["psst"].values[0] == pytest.approx(1.1)
    assert found["luo"].values[0] == pytest.approx(0.805)
    assert found["psst"].difference.mean == pytest.approx(0.295)


def test_a_range_is_compared_by_its_mean_recall():
    found = compare_curves(CURVES, at=(0.8, 1.2))
    assert found["psst"].values == pytest.approx({0: 75.0, 1: 78.0, 2: 72.0})
    assert list(found["st"].values) == [0, 1]
    half = compare_curves(CURVES, at=(0.8, 0.9))
    assert half["luo"].values == pytest.approx({0: 61.0})


@pytest.mark.parametrize(
    "change, message",
    [
        ({"of": "cider"}, "`of` must be 'recall' or 'naturalness'"),
        ({"at": (0.8, 1.0), "of": "naturalness"}, "'recall' for a range"),
        ({"at": (1.0, 0.8)}, "a pair of low and high"),
        ({"at": (1.0,)}, "a pair of low and high"),
        ({"baseline": "gan"}, "must be one of psst, st, luo"),
    ],
)
def test_comparisons_that_mean_nothing_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        compare_curves(CURVES, **{"at": 1.0, **change})


def test_curves_overlap_where_all_of_them_go():
    assert curve_overlap(CURVES) is None
    both = {name: CURVES[name] for name in ("psst", "st")}
    assert curve_overlap(both) == (1.1, 1.2)
    assert curve_overlap(both, of="recall") == (68.0, 79.0)
    assert curve_overlap([line(), line(low=0.9)]) == (0.9, 1.2)
    with pytest.raises(ValueError, match="`curves` must hold a curve"):
        curve_overlap([])
    with pytest.raises(ValueError, match="`of` must be"):
        curve_overlap([line()], of="cider_d")


def records(method="psst", **settings):
    """Four points: two weights, two seeds."""
    return [
        {
            "method": method,
            "lambda": weight,
            "seed": seed,
            "cider_d": 1.2 - 100 * weight + seed,
            "bleu_4": 0.3 - weight,
            "r@10": 60.0 + 1000 * weight,
            **settings,
        }
        for seed in (0, 1)
        for weight in (5e-3, 1e-3)
    ]


def test_records_are_grouped_by_method_and_seed_and_ordered_by_weight():
    found = group_curves(records() + records("st"))
    assert list(found) == ["psst", "st"] and list(found["st"]) == [0, 1]
    curve = found["psst"][1]
    assert curve.parameter.tolist() == [1e-3, 5e-3]
    assert curve.naturalness == pytest.approx([2.1, 1.7])
    assert curve.recall == pytest.approx([61.0, 65.0])


def test_other_columns_make_other_curves():
    (curve, _) = group_curves(records(), naturalness="bleu_4")["psst"].values()
    assert curve.naturalness == pytest.approx([0.299, 0.295])
    found = group_curves(records(), parameter="seed", by="lambda")
    assert list(found) == [5e-3, 1e-3] and list(found[1e-3]) == [0, 1]


def test_several_settings_can_make_a_method():
    both = records(rho=0.25) + records(rho=0.75)
    found = group_curves(both, by=("method", "rho"))
    assert list(found) == [("psst", 0.25), ("psst", 0.75)]
    # Otherwise they would stand in one curve.
    with pytest.raises(ValueError, match="two for method='psst', .* Add the"):
        group_curves(both)
    with pytest.raises(ValueError, match="two for method='psst'"):
        group_curves(records() * 2)


@pytest.mark.parametrize("value", [None, float("nan")])
def test_a_point_without_a_value_is_not_left_out_silently(value):
    some = records()
    some[2]["cider_d"] = value
    with pytest.raises(ValueError, match="finite 'cider_d'. .*lambda=0.005"):
        group_curves(some)
    with pytest.raises(ValueError, match="finite 'meteor'"):
        group_curves(records(), naturalness="meteor")


def test_a_method_without_a_weight_is_a_point():
    point = {"method": "g_gan", "cider_d": 0.8, "r@10": 55.8}
    curve = group_curves([point])["g_gan"][None]
    assert len(curve) == 1 and curve.recall_at(0.8) == 55.8
    with pytest.raises(ValueError, match="must have a 'lambda'"):
        group_curves([point, {**point, "lambda": 1e-3}])


def falling(*naturalness):
    """A curve that falls from one naturalness to another."""
    return Curve(naturalness, [50.0, 70.0][: len(naturalness)])


def test_areas_are_over_what_all_curves_cover():
    curves = {"a": falling(3, 1), "b": falling(2, 0), "c": falling(2.2, 0.8)}
    curves = {name: {0: curve} for name, curve in curves.items()}
    (a, b, c), notices = curve_areas(curves)
    assert notices == [] and (a["low"], a["high"]) == (1.0, 2.0)
    assert (a["area"], b["area"]) == pytest.approx((65.0, 55.0))
    assert c["interval"] == [None, None]


@pytest.mark.parametrize(
    "curves, names, told",
    [
        (
            {"a": {0: (3, 2)}, "b": {0: (3.1, 1.9)}, "c": {0: (1, 0.9)}},
            ["a", "b"],
            "c does not go from 2 to 3, and has no area.",
        ),
        ({"a": {0: (3, 2), 1: (1, 0)}}, [], "no range"),
        (
            {"a": {0: (3, 2)}, "b": {0: (1,)}},
            ["a"],
            "b: no seed has two points, so it has no area.",
        ),
        ({"b": {0: (1,)}}, [], "no method has a curve"),
    ],
)
def test_what_has_no_area_is_named(curves, names, told):
    curves = {
        name: {seed: falling(*ends) for seed, ends in seeds.items()}
        for name, seeds in curves.items()
    }
    found, (notice,) = curve_areas(curves)
    assert [area["method"] for area in found] == names and told in notice


def test_a_seed_of_a_single_point_is_one_of_all_seeds():
    curves = {"a": {0: falling(3, 1), 1: falling(3, 1), 2: falling(1)}}
    curves["b"] = {0: falling(2)}
    (area,), _ = curve_areas(curves)
    assert (area["method"], area["seeds"], area["of"]) == ("a", 2, 3)
    assert (area["low"], area["high"]) == (1.0, 3.0)
    assert operating_point(curves, "naturalness") == 3.0
    assert operating_point({"b": curves["b"]}, "naturalness") is None


def test_the_crossing_may_be_chosen_and_is_counted():
    curve = Curve([0.8, 1.2, 0.8, 1.2], [40.0, 50.0, 60.0, 70.0])
    found = {
        crossing: compare_curves({"a": {0: curve}}, 1.0, crossing=crossing)["a"]
        for crossing in ("first", "last")
    }
    assert {c: p.values[0] for c, p in found.items()} == pytest.approx(
        {"first": 45.0, "last": 65.0}
    )
    assert found["last"].crossings == {0: 3}
    assert curve.area(0.9, 1.1, "first") == pytest.approx(0.2 * 45.0)


def test_seeds_without_a_curve_are_counted():
    found = compare_curves(CURVES, at=1.0, seeds={"psst": 5})
    assert [found[name].seeds for name in CURVES] == [5, 3, 1]
    (area, *_), _ = curve_areas(CURVES, seeds={"psst": 5})
    assert (area["seeds"], area["of"]) == (3, 5)


def test_areas_have_the_interval_that_is_asked_for():
    curves = {"psst": CURVES["psst"]}
    means = [75.0, 78.0, 72.0]  # halfway down each line
    for options, expected in (
        ({}, mean_interval(means)),
        ({"aggregate": Aggregate(level=0.5)}, Aggregate(level=0.5)(means)),
        ({"aggregate": Aggregate("median", "range")}, (75.0, 72.0, 78.0)),
    ):
        (found,), _ = curve_areas(curves, **options)
        assert [found["mean"], *found["interval"]] == pytest.approx(expected)
    bent = {"a": {0: Curve([0.8, 1.2, 0.8, 1.2], [40.0, 50.0, 60.0, 70.0])}}
    for crossing, mean in (("first", 45.0), ("last", 65.0)):
        (found,), _ = curve_areas(bent, crossing=crossing)
        assert found["mean"] == pytest.approx(mean)
