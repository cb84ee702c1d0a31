import itertools

import numpy as np
import pytest

from tfcap.curves.areas import hypervolume


def by_inclusion_and_exclusion(points, reference):
    edges = np.maximum(np.asarray(points) - reference, 0.0)
    total = 0.0
    for count in range(1, len(edges) + 1):
        for some in itertools.combinations(edges, count):
            total -= (-1) ** count * np.min(some, axis=0).prod()
    return total


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5])
def test_volumes_are_those_of_inclusion_and_exclusion(d):
    rng = np.random.default_rng(d)
    # Few values: many ties, and points that add nothing.
    for points in (rng.normal(size=(7, d)), rng.integers(-1, 3, (7, d))):
        reference = np.full(d, -0.3)
        wanted = by_inclusion_and_exclusion(points, reference)
        assert hypervolume(points, reference) == pytest.approx(wanted)


def test_what_is_beaten_adds_nothing():
    points = [[2.0, 1.0, 1.0], [1.0, 1.0, 1.0], [2.0, 1.0, 1.0], [-1.0, 9, 9]]
    assert hypervolume(points, [0, 0, 0]) == 2.0
    assert hypervolume(np.zeros((0, 2)), [0, 0]) == 0.0


@pytest.mark.parametrize(
    "points, reference, match",
    [
        ([[1.0, 2.0]], [0.0], "must have a shape"),
        ([1.0, 2.0], [0.0, 0.0], "must have a shape"),
        ([[np.nan, 2.0]], [0.0, 0.0], "must be finite"),
    ],
)
def test_what_is_no_set_of_points_is_refused(points, reference, match):
    with pytest.raises(ValueError, match=match):
        hypervolume(points, reference)
