"""Panels of a figure: one metric against another, or against a parameter."""

import math
from dataclasses import dataclass
from dataclasses import replace

import numpy as np

from tensorboard_plugin_tfcap.tradeoff.curve_groups import is_categorical
from tensorboard_plugin_tfcap.tradeoff.curve_groups import measured_curves
from tensorboard_plugin_tfcap.tradeoff.curve_groups import order_places
from tensorboard_plugin_tfcap.tradeoff.curve_groups import seed_counts
from tensorboard_plugin_tfcap.tradeoff.point import parameter_text
from tensorboard_plugin_tfcap.tradeoff.point import parameter_texts
from tensorboard_plugin_tfcap.tradeoff.point import parameter_title
from tfcap.curves import compare_curves
from tfcap.curves import curve_overlap
from tfcap.curves import mean_line
from tfcap.curves.lines import Line

ARROWS = {"higher": " \u2191", "lower": " \u2193", "unknown": ""}


@dataclass(frozen=True)
class Panel:
    """One panel of a figure.

    Args:
        title: String, `"(b) CIDEr-D"`.
        x: String, the title of the horizontal axis.
        y: String.
        lines: List of `Line`; where it is empty, the note says why.
        note: String, what is absent and why; may be empty.
    """

    title: str
    x: str
    y: str
    lines: list
    note: str = ""


def axes_panel(
    groups,
    x,
    y,
    order,
    spread="interval",
    at="last",
    aggregate=None,
):
    """Makes a panel of any two metrics.

    Args:
        groups: Dict of lists of points by title, as of `group_points()`.
        x: `Metric`.
        y: `Metric`.
        order: String, the parameter along a curve, or `None`.
        spread: How seeds are shown, one of `tfcap.curves.lines.SPREADS`.
            Defaults to `"interval"`.
        at: String, the checkpoint of the points: where it is not `"best"`,
            marks of seeds at different steps are hollow. Defaults to
            `"last"`.
        aggregate: `Aggregate` of seeds. Defaults to `None`: their mean,
            and Student's interval.

    Returns:
        `Panel`, and a list of notices about what is left out.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff import TradeoffPoint
    >>> from tensorboard_plugin_tfcap.tradeoff import axes_panel
    >>> from tensorboard_plugin_tfcap.tradeoff import named_metric
    >>> metrics = {"cider_d": 1.2, "r@10": 60.0}
    >>> groups = {"mine": [TradeoffPoint("run", "mine", metrics=metrics)]}
    >>> panel, _ = axes_panel(groups, *map(named_metric, metrics), None)
    >>> panel.x, panel.lines[0].y
    ('CIDEr-D \u2191', array([60.]))
    """
    curves, notices = measured_curves(groups, x.name, y.name, order)
    points = [p for group in groups.values() for p in group]
    places, texts = order_places(points, order)
    lines, joined = [], not is_categorical(points, order)
    seeds = seed_counts(groups)
    for title, by_seed in curves.items():
        ordered = any(order in point.params for point in groups[title])
        named = _named(texts if ordered else {})
        line = mean_line(
            *(title, by_seed, named, spread, aggregate, seeds[title])
        )
        if not joined:
            line = replace(line, joined=False, seeds=[], band=None)
        steps = _steps(groups[title], places, order, (x.name, y.name))
        lines.append(line if at == "best" else _stepped(line, steps))
    note = "" if lines else f"No point has {x.title} and {y.title}."
    panel = Panel("", axis_title(x), axis_title(y), lines, note)
    return panel, notices


def parameter_panel(
    curves, parameter, x, y, at=None, title="", aggregate=None, seeds=None
):
    """Makes a panel of one metric, at a level of another, by a parameter.

    Each seed's curve is interpolated, never extrapolated.

    Args:
        curves: Dict of dicts of `Curve` by seed, by pairs of a method's title
            and the parameter's value, values ascending.
        parameter: String, such as `"rho"`.
        x: String, the title of the metric that is held.
        y: String, the title of the metric that is read off.
        at: Float, the level of `x`. Defaults to `None`: the greatest that all
            curves reach.
        title: String before the panel's own title. Defaults to `""`.
        aggregate: `Aggregate` of seeds. Defaults to `None`: their mean,
            and Student's 95 % interval.
        seeds: Dict of numbers of seeds by the same pairs, as of
            `compare_curves()`. Optional.

    Returns:
        `Panel`.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff import parameter_panel
    >>> curves = {
    ...     ("mine", rho): {0: tfcap.curves.Curve([2, 1], [50 + gain, 60])}
    ...     for rho, gain in ((0.25, 4.0), (0.5, 0.0))
    ... }
    >>> panel = parameter_panel(curves, "rho", "CIDEr-D", "recall@10")
    >>> panel.title, panel.lines[0].y
    ('\u03c1, at CIDEr-D = 2', array([54., 50.]))
    """
    symbol = parameter_title(parameter)
    empty = Panel(f"{title}{symbol}", symbol, y, [])
    if len({value for _, value in curves}) < 2:
        why = f"absent: no method was trained with several {symbol}"
        return Panel(empty.title, symbol, y, [], why)
    if at is None:
        overlap = curve_overlap(curves)
        if overlap is None:
            why = f"absent: the curves have no {x} in common"
            return Panel(empty.title, symbol, y, [], why)
        at = overlap[1]
    comparison = compare_curves(curves, at=at, aggregate=aggregate, seeds=seeds)
    lines = [
        line
        for name in dict.fromkeys(name for name, _ in curves)
        if (line := _parameter_line(name, parameter, comparison)) is not None
    ]
    beyond = [
        f"{name}, {parameter_text(parameter, value)}"
        for (name, value), point in comparison.items()
        if not point.values
    ]
    note = f"not reached by {'; '.join(beyond)}" if beyond else ""
    title = f"{title}{symbol}, at {x} = {at:.3g}"
    return Panel(title, symbol, y, lines, note)


def axis_title(metric):
    """A metric's title, with an arrow in its better direction."""
    return f"{metric.title}{ARROWS[metric.better]}"


def _steps(points, places, order, axes):
    """Sets of steps by place, of points with both metrics."""
    steps = {}
    for point in points:
        if all(name in point.metrics for name in axes):
            place = places.get(point.params.get(order), 0.0)
            steps.setdefault(place, set()).add(point.step)
    return steps


def _stepped(line, steps):
    """A line whose marks of seeds at different steps are hollow."""
    here = [steps.get(float(place), ()) for place in line.places]
    labels = [
        f"{label}, steps {min(s)} to {max(s)}" if len(s) > 1 else label
        for label, s in zip(line.labels, here)
    ]
    even = np.array([len(s) < 2 for s in here], bool)
    return replace(line, labels=labels, whole=line.whole & even)


def _named(texts):
    return lambda place: texts.get(float(place), "")


def _parameter_line(title, parameter, comparison):
    points = {
        value: point
        for (name, value), point in comparison.items()
        if name == title and point.values
    }
    if not points:
        return None
    bounds = [point.interval for point in points.values()]
    # One seed has no interval to draw.
    low, high = (
        np.array([b if math.isfinite(b) else math.nan for b in side])
        for side in zip(*((i.low, i.high) for i in bounds))
    )
    seeds = {seed for p in points.values() for seed in p.values}
    names = [*parameter_texts(parameter, points).values()]
    return Line(
        title,
        np.array(list(points)),
        np.array([b.mean for b in bounds]),
        [
            f"{name}, {len(p.values)} of {p.seeds} seeds"
            for name, p in zip(names, points.values())
        ],
        np.array([len(p.values) == p.seeds for p in points.values()]),
        [_seed_line(points, seed) for seed in sorted(seeds, key=str)],
        low,
        high,
        places=np.array(list(points)),
        names=names,
    )


def _seed_line(points, seed):
    """Values of the parameter, and of one seed there."""
    pairs = [(v, p.values[seed]) for v, p in points.items() if seed in p.values]
    return tuple(np.array(pairs).T)
