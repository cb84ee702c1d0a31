"""Means over seeds, as lines to draw."""

import math
from dataclasses import dataclass
from dataclasses import field

import numpy as np

from tensorboard_plugin_tfcap.tradeoff.band import line_band
from tensorboard_plugin_tfcap.tradeoff.intervals import mean_interval

#: How seeds are shown beside their mean.
SPREADS = ("points", "interval", "band", "none")


@dataclass(frozen=True)
class Line:
    """One method in one panel.

    Args:
        title: String.
        x: Float array of shape `(n,)`, means over seeds.
        y: Float array of shape `(n,)`.
        labels: List of `n` strings, what each point is.
        whole: Boolean array of shape `(n,)`, whether all seeds are in it.
        seeds: List of pairs of arrays, the same of each seed by itself.
        low: Float array of shape `(n,)`, lower bounds of `y`, or `None`.
        high: Float array of shape `(n,)`, upper bounds.
        left: Float array of shape `(n,)`, lower bounds of `x`, or `None`.
        right: Float array of shape `(n,)`, upper bounds.
        band: Float array of shape `(m, 2)`, an outline, or `None`.
        places: Float array of shape `(n,)`, the parameter's values.
        names: List of `n` short strings to write beside the points.
    """

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


def mean_line(title, curves, named, spread="points", level=0.95):
    """A line through the means over seeds at each place.

    Args:
        title: String.
        curves: Dict of `Curve` by seed.
        named: Function from a place on the curve, a float, to its name, such
            as `"\u03bb = 0.001"`, or `""`.
        spread: One of `SPREADS`. Defaults to `"points"`, each seed by itself.
        level: Float in `(0, 1)`, of intervals. Defaults to `0.95`.

    Returns:
        `Line`.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff import lines
    >>> curves = {s: tfcap.metrics.Curve([2, 1], [s, 3]) for s in (0, 1)}
    >>> line = lines.mean_line("mine", curves, "point {:g}".format)
    >>> line.y, line.labels[0]
    (array([0.5, 3. ]), 'point 0, 2 of 2 seeds')
    """
    places = np.unique(np.concatenate([c.parameter for c in curves.values()]))
    x, y, labels, counts = [], [], [], []
    for place in places:
        at = [(c, c.parameter == place) for c in curves.values()]
        there = [(c, here) for c, here in at if here.any()]
        x.append(_interval([c.naturalness[here] for c, here in there], level))
        y.append(_interval([c.recall[here] for c, here in there], level))
        counts.append(len(there))
        name = named(place)
        seeds = f"{len(there)} of {len(curves)} seeds"
        labels.append(f"{name}, {seeds}" if name else seeds)
    x, y = np.array(x), np.array(y)
    shown = {}
    if spread == "interval":
        shown = dict(left=x[:, 1], right=x[:, 2], low=y[:, 1], high=y[:, 2])
    elif spread == "band":
        shown = {"band": line_band(curves, places, level)}
    elif spread == "points":
        pairs = [(c.naturalness, c.recall) for c in curves.values()]
        shown = {"seeds": pairs}
    return Line(
        title,
        x[:, 0],
        y[:, 0],
        labels,
        np.array(counts) == len(curves),
        places=places,
        names=[named(place) for place in places],
        **shown,
    )


def _interval(values, level):
    """Mean and bounds, NaN where one value has none."""
    found = mean_interval(np.concatenate(values), level)
    return [b if math.isfinite(b) else math.nan for b in found]
