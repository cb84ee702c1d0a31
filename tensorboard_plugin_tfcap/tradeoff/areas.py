"""Methods compared over a whole range."""

import math

import numpy as np

from tensorboard_plugin_tfcap.tradeoff.curve_comparison import compare_curves
from tensorboard_plugin_tfcap.tradeoff.curve_comparison import curve_overlap


def curve_areas(curves, level=0.95):
    """The area under each method's curves, over one range.

    Args:
        curves: Dict of dicts of `Curve` by seed, by title.
        level: Float in `(0, 1)`, of intervals. Defaults to `0.95`.

    Returns:
        List of dicts, of `method`, `area`, its `mean` height, the `interval`
        of that, `seeds` and `of`, `low` and `high`; and a list of notices.
        The range is that of `common_range()`; a method that does not cover it
        has no area, nor has one of a single point.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff.areas import curve_areas
    >>> curves = {"mine": {0: tfcap.metrics.Curve([1.0, 2.0], [70.0, 50.0])}}
    >>> found, _ = curve_areas(curves)
    >>> found[0]["area"], found[0]["mean"]
    (60.0, 60.0)
    """
    long = {
        title: by_seed
        for title, by_seed in curves.items()
        if all(len(curve) > 1 for curve in by_seed.values())
    }
    if not long:
        return [], ["There is no area: no method has a curve of two points."]
    span = common_range(long)
    if span is None:
        text = "There is no range that all curves cover, so no area is given."
        return [], [text]
    low, high = span
    compared = compare_curves(long, span, level=level)
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
        f"{title} does not go from {low:.4g} to {high:.4g}, and has no area."
        for title in beyond
    ]
    return found, notices


def common_range(curves):
    """The range over which methods are compared.

    What all methods cover may be narrow, or nothing at all. So the range is
    that whose width, times the number of methods that cover it with all their
    seeds, is the greatest.

    Args:
        curves: Dict of dicts of `Curve` by seed, by title.

    Returns:
        Pair of floats, or `None`.
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
