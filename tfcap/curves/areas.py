"""Ranges over which methods are compared, and areas under curves."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from tfcap.curves.aggregate import Aggregate
from tfcap.curves.comparison import compare_curves
from tfcap.curves.comparison import curve_overlap
from tfcap.curves.curve import Curve


def curve_areas(
    curves: Mapping[str, Mapping[Any, Curve]],
    crossing: str = "last",
    aggregate: Aggregate | None = None,
    seeds: Mapping[str, int] | None = None,
) -> tuple[list[dict[str, Any]], list[str]]:
    """Computes the area under each method's curves, over one range.

    Args:
        curves: Dict of dicts of `Curve` by seed, by title.
        crossing: String, which of several crossings counts. Defaults to
            `"last"`.
        aggregate: `Aggregate` of seeds. Defaults to `None`: their mean, and
            Student's interval.
        seeds: Dict of integers by title, total number of seeds. Defaults to
            `None`, the number of curves.

    Returns:
        List of dicts with `method`, `area`, its `mean` height, the `interval`
        of that, `seeds` and `of`, `low` and `high`; and a list of notices.
        The range is that of `common_range()`; a seed that does not cover it,
        or has a single point, has no area.

    Example:

    >>> curves = {"mine": {0: tfcap.curves.Curve([1.0, 2.0], [70.0, 50.0])}}
    >>> from tfcap.curves.areas import curve_areas
    >>> found, _ = curve_areas(curves)
    >>> found[0]["area"], found[0]["mean"]
    (60.0, 60.0)
    """
    if seeds is None:
        seeds = {title: len(by_seed) for title, by_seed in curves.items()}
    long = _lines(curves)
    if not long:
        return [], ["There is no area: no method has a curve of two points."]
    span = common_range(long)
    if span is None:
        text = "There is no range that all curves cover, so no area is given."
        return [], [text]
    low, high = span
    compared = compare_curves(
        *(long, span),
        crossing=crossing,
        aggregate=aggregate,
        seeds=seeds,
    )
    found = [
        {
            "method": title,
            "area": point.interval.mean * (high - low),
            "mean": point.interval.mean,
            "interval": [
                bound if math.isfinite(bound) else None
                for bound in point.interval[1:]
            ],
            "seeds": len(point.values),
            "of": point.seeds,
            "low": low,
            "high": high,
        }
        for title, point in compared.items()
        if point.values
    ]
    beyond = [title for title, point in compared.items() if not point.values]
    notices = [
        f"{title}: no seed has two points, so it has no area."
        for title in curves
        if title not in long
    ]
    notices += [
        f"{title} does not go from {low:.4g} to {high:.4g}, and has no area."
        for title in beyond
    ]
    return found, notices


def common_range(
    curves: Mapping[str, Mapping[Any, Curve]],
) -> tuple[float, float] | None:
    """Finds the range over which methods are compared.

    The range that all methods cover may be narrow or empty. So this range has
    the largest product of its width and the number of methods that cover it
    with all seeds.

    Args:
        curves: Dict of dicts of `Curve` by seed, by title.

    Returns:
        Pair of floats, or `None`.

    Example:

    >>> from tfcap.curves import Curve
    >>> from tfcap.curves.areas import common_range
    >>> curves = {
    ...     "a": {0: Curve([3.0, 1.0], [50.0, 70.0])},
    ...     "b": {0: Curve([2.2, 0.8], [50.0, 70.0])},
    ... }
    >>> common_range(curves)
    (1.0, 2.2)
    """
    spans = [curve_overlap(by_seed.values()) for by_seed in curves.values()]
    spans = [span for span in spans if span is not None and span[0] < span[1]]
    if not spans:
        return None
    low, high = np.array(spans).T
    lows, highs = np.unique(low), np.unique(high)
    begun = (low <= lows[:, None]).astype("float64")
    going = (high >= highs[:, None]).astype("float64")
    covered = (begun @ going.T) * (highs - lows[:, None])
    row, column = np.unravel_index(np.argmax(covered), covered.shape)
    return float(lows[row]), float(highs[column])


def operating_point(
    curves: Mapping[str, Mapping[Any, Curve]], of: str, less: bool = False
) -> float | None:
    """Finds the best level that most methods reach with all seeds.

    If all methods reach some levels, it is the best of these, as in the paper.
    Seeds with a single point do not count.

    Args:
        curves: Dict of dicts of `Curve` by seed, by method.
        of: `"naturalness"` or `"recall"`, the axis of the level.
        less: Boolean, whether lower is better there. Defaults to `False`.

    Returns:
        Float, or `None` without curves.

    Example:

    >>> from tfcap.curves import Curve
    >>> curves = {
    ...     "a": {0: Curve([3.0, 1.0], [50.0, 70.0])},
    ...     "b": {0: Curve([2.0, 0.0], [50.0, 70.0])},
    ... }
    >>> tfcap.curves.operating_point(curves, "naturalness")
    2.0
    """
    ranges = [
        curve_overlap(by_seed.values(), of)
        for by_seed in _lines(curves).values()
    ]
    ranges = [both for both in ranges if both is not None]
    if not ranges:
        return None

    def reached(level):
        count = sum(low <= level <= high for low, high in ranges)
        return count, -level if less else level

    return max((both[not less] for both in ranges), key=reached)


def _lines(curves):
    """Returns the curves with at least two points, by method."""
    lines = {
        method: {seed: c for seed, c in by_seed.items() if len(c) > 1}
        for method, by_seed in curves.items()
    }
    return {method: by_seed for method, by_seed in lines.items() if by_seed}
