"""Lines of means over seeds, for figures."""

import math
from collections.abc import Callable
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from typing import Any

import numpy as np

from tfcap._printed import printed
from tfcap.curves.aggregate import Aggregate
from tfcap.curves.curve import Curve

#: How seeds are shown besides their mean.
SPREADS = ("points", "interval", "band", "none")


@dataclass(frozen=True)
class Line:
    """One method in one panel.

    Args:
        title: String.
        x: Float array of shape `(n,)`, centers of seeds, such as means.
        y: Float array of shape `(n,)`.
        labels: List of `n` strings that describe the points.
        whole: Boolean array of shape `(n,)`, whether all seeds are included.
        seeds: List of pairs of arrays, `x` and `y` of each seed.
        low: Float array of shape `(n,)`, lower bounds of `y`, or `None`.
        high: Float array of shape `(n,)`, upper bounds.
        left: Float array of shape `(n,)`, lower bounds of `x`, or `None`.
        right: Float array of shape `(n,)`, upper bounds.
        band: Float array of shape `(m, 2)`, an outline, or `None`.
        places: Float array of shape `(n,)`, values of the parameter.
        names: List of `n` short strings to write beside the points.
        joined: Boolean, whether the points are joined, unlike for a parameter
            that is a word. Defaults to `True`.
    """

    __repr__ = printed

    title: str
    x: np.ndarray
    y: np.ndarray
    labels: list
    whole: np.ndarray
    seeds: list = field(default_factory=list)
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    left: np.ndarray | None = None
    right: np.ndarray | None = None
    band: np.ndarray | None = None
    places: np.ndarray | None = None
    names: list = field(default_factory=list)
    joined: bool = True


def mean_line(
    title: str,
    curves: Mapping[Any, Curve],
    named: Callable[[float], str],
    spread: str = "points",
    aggregate: Aggregate | None = None,
    seeds: int | None = None,
) -> Line:
    """Draws a line through the centers of seeds at each place.

    Args:
        title: String.
        curves: Dict of `Curve` by seed.
        named: Function from a place on the curve, a float, to its name, such
            as `"\u03bb = 0.001"`, or `""`.
        spread: One of `SPREADS`. Defaults to `"points"`, each seed by itself.
        aggregate: `Aggregate` of seeds. Defaults to `None`: their mean, and
            Student's interval.
        seeds: Integer, total number of seeds of the method, including those
            without a curve. Defaults to `None`, the number of curves.

    Returns:
        `Line`.

    Example:

    >>> curves = {s: tfcap.curves.Curve([2, 1], [s, 3]) for s in (0, 1)}
    >>> line = tfcap.curves.mean_line("mine", curves, "point {:g}".format)
    >>> line.y, line.labels[0]
    (array([0.5, 3. ]), 'point 0, 2 of 2 seeds')
    """
    aggregate = aggregate or Aggregate()
    count = len(curves) if seeds is None else seeds
    places = np.unique(np.concatenate([c.parameter for c in curves.values()]))
    x, y, labels, counts = [], [], [], []
    for place in places:
        at = [(c, c.parameter == place) for c in curves.values()]
        there = [(c, here) for c, here in at if here.any()]
        x.append(_interval([c.naturalness[h] for c, h in there], aggregate))
        y.append(_interval([c.recall[h] for c, h in there], aggregate))
        counts.append(len(there))
        name = named(place)
        text = f"{len(there)} of {count} seeds"
        labels.append(f"{name}, {text}" if name else text)
    x, y = np.array(x), np.array(y)
    shown = {}
    if spread == "interval":
        shown = dict(left=x[:, 1], right=x[:, 2], low=y[:, 1], high=y[:, 2])
    elif spread == "band":
        shown = {"band": line_band(curves, places, aggregate)}
    elif spread == "points":
        pairs = [(c.naturalness, c.recall) for c in curves.values()]
        shown = {"seeds": pairs}
    return Line(
        title,
        x[:, 0],
        y[:, 0],
        labels,
        np.array(counts) == count,
        places=places,
        names=[named(place) for place in places],
        **shown,
    )


def _interval(values, aggregate):
    """Returns center and bounds, NaN for those of a single value."""
    found = aggregate(np.concatenate(values))
    return [b if math.isfinite(b) else math.nan for b in found]


#: Steps between two neighbors on a curve.
_STEPS = 6


def line_band(
    curves: Mapping[Any, Curve],
    places: np.ndarray,
    aggregate: Aggregate | None = None,
) -> np.ndarray | None:
    """Outlines the band of the mean curve.

    Seeds are interpolated between neighbors in the parameter, and their center
    there has an interval in both directions, an ellipse. The band is the area
    of these ellipses on both sides of the central curve, so that it is valid
    for curves of any direction.

    Args:
        curves: Dict of `Curve` by seed.
        places: Float array of shape `(n,)`, the parameter's values, ascending.
        aggregate: `Aggregate` of seeds, as in `mean_line()`.

    Returns:
        Float array of shape `(m, 2)`, a closed outline, or `None` for fewer
        than two seeds or shared places.

    Example:

    >>> curves = {s: tfcap.curves.Curve([2, 1], [s, 3 + s]) for s in (0, 1)}
    >>> from tfcap.curves.lines import line_band
    >>> outline = line_band(curves, np.array([0.0, 1.0]))
    >>> outline.shape, np.allclose(outline[0], outline[-1])
    ((15, 2), True)
    """
    shared = [
        place
        for place in places
        if all((c.parameter == place).any() for c in curves.values())
    ]
    if len(curves) < 2 or len(shared) < 2:
        return None
    fine = np.interp(
        np.linspace(0, len(shared) - 1, _STEPS * (len(shared) - 1) + 1),
        np.arange(len(shared)),
        shared,
    )
    # (seeds, m, 2)
    seeds = np.array(
        [
            [np.interp(fine, c.parameter, y) for y in (c.naturalness, c.recall)]
            for c in curves.values()
        ]
    ).swapaxes(1, 2)
    aggregate = aggregate or Aggregate()
    # (3, m, 2), from (seeds, m, 2)
    middle, low, high = aggregate.columns(
        seeds.reshape(len(seeds), -1)
    ).reshape(3, *seeds.shape[1:])
    # In units in which both directions are as long as each other.
    scale = np.maximum(np.ptp(seeds, axis=(0, 1)), 1e-12)
    along = np.gradient(middle / scale, axis=0)
    length = np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-12)
    normal = np.stack([-along[:, 1], along[:, 0]], axis=-1) / length
    sides = []
    for way in (normal, -normal):
        half = np.where(way > 0, high - middle, middle - low)
        reach = np.linalg.norm(way * half / scale, axis=1, keepdims=True)
        sides.append(middle + way * reach * scale)
    outline = np.concatenate([sides[0], sides[1][::-1]])
    return np.concatenate([outline, outline[:1]])
