import numpy as np

from tfcap.curves import Curve
from tfcap.curves import mean_line
from tfcap.curves.lines import line_band

PLACES = np.array([0.0, 1.0])


def test_the_band_of_a_level_line_is_its_interval():
    curves = {s: Curve([0.0, 1.0], [10.0 + s, 10.0 + s]) for s in (0, 1)}
    outline = line_band(curves, PLACES)
    np.testing.assert_allclose(outline[:, 1].max(), 10.5 + 6.353, atol=1e-3)
    np.testing.assert_allclose(outline[:, 1].min(), 10.5 - 6.353, atol=1e-3)
    assert outline[:, 0].min() == 0.0 and outline[:, 0].max() == 1.0


def test_a_falling_curve_has_a_band_to_both_sides():
    curves = {s: Curve([1.0, 0.0], [0.0 + s / 10, 1.0]) for s in (0, 1, 2)}
    outline = line_band(curves, PLACES)
    assert np.ptp(outline, axis=0).min() > 0
    # Where seeds agree, it is as narrow as the line.
    assert np.isclose(outline, [0.0, 1.0]).all(axis=1).sum() == 2


def test_seeds_that_share_no_curve_have_no_band():
    assert line_band({0: Curve([1.0, 0.0], [0.0, 1.0])}, PLACES) is None
    curves = {0: Curve([1.0], [0.0], [0.0]), 1: Curve([1.0], [0.0], [1.0])}
    assert line_band(curves, PLACES) is None


def test_a_mark_is_whole_where_all_seeds_are_in_it():
    curves = {s: Curve([1.0, 0.0], [0.0 + s, 1.0]) for s in (0, 1)}
    found = mean_line("mine", curves, "point {:g}".format, seeds=3)
    assert found.labels[0] == "point 0, 2 of 3 seeds"
    assert not found.whole.any()
    assert mean_line("mine", curves, "{:g}".format).whole.all()
