"""One metric against another: a panel of any two axes."""

from tensorboard_plugin_tfcap.tradeoff.curve_groups import measured_curves
from tensorboard_plugin_tfcap.tradeoff.curve_groups import order_places
from tensorboard_plugin_tfcap.tradeoff.panels import Panel
from tfcap.curves import mean_line

ARROWS = {"higher": "\u2191", "lower": "\u2193"}


def axes_panel(groups, x, y, order, spread="interval", level=0.95):
    """A panel of any two metrics.

    Args:
        groups: Dict of lists of points by title, as of `group_points()`.
        x: `Metric`.
        y: `Metric`.
        order: String, the parameter along a curve, or `None`.
        spread: How seeds are shown, one of `lines.SPREADS`. Defaults to
            `"interval"`.
        level: Float in `(0, 1)`, of intervals. Defaults to `0.95`.

    Returns:
        `Panel`, and a list of notices of what is left out.
    """
    curves, notices = measured_curves(groups, x.name, y.name, order)
    _, texts = order_places([p for g in groups.values() for p in g], order)
    lines = []
    for title, by_seed in curves.items():
        ordered = any(order in point.params for point in groups[title])
        named = _named(texts if ordered else {})
        lines.append(mean_line(title, by_seed, named, spread, level))
    note = "" if lines else f"No point has {x.title} and {y.title}."
    panel = Panel("", axis_title(x), axis_title(y), lines, note)
    return panel, notices


def axis_title(metric):
    """A metric's title, with an arrow to where it is better."""
    return f"{metric.title} {ARROWS[metric.better]}"


def _named(texts):
    return lambda place: texts.get(float(place), "")
