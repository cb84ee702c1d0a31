"""Methods compared over the whole range that they have in common."""

from tensorboard_plugin_tfcap.tradeoff.curve_comparison import compare_curves
from tensorboard_plugin_tfcap.tradeoff.curve_comparison import curve_overlap


def curve_areas(curves, level=0.95):
    """The area under each method's curves, over what all of them cover.

    Args:
        curves: Dict of dicts of `Curve` by seed, by title.
        level: Float in `(0, 1)`, of intervals. Defaults to `0.95`.

    Returns:
        List of dicts, of `method`, `area`, its `mean` height, the `interval`
        of that, `seeds` and `of`, `low` and `high`; and a list of notices.
        Curves of a single point have no area and do not count.

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
    overlap = curve_overlap(long)
    if overlap is None or overlap[0] == overlap[1]:
        text = "There is no range that all curves cover, so no area is given."
        return [], [text]
    low, high = overlap
    found = [
        {
            "method": title,
            "area": point.interval.mean * (high - low),
            "mean": point.interval.mean,
            "interval": [point.interval.low, point.interval.high],
            "seeds": len(point.values),
            "of": point.seeds,
            "low": low,
            "high": high,
        }
        for title, point in compare_curves(long, overlap, level=level).items()
    ]
    return found, []
