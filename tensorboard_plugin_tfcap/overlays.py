"""Marks and lines over a panel: published points, the front, the line."""

import numpy as np

from tensorboard_plugin_tfcap.tradeoff.metric_names import bare_name
from tensorboard_plugin_tfcap.tradeoff.metric_names import listener_title
from tensorboard_plugin_tfcap.tradeoff.plotly_text import marked
from tensorboard_plugin_tfcap.tradeoff.style import DARK
from tensorboard_plugin_tfcap.tradeoff.style import LIGHT
from tensorboard_plugin_tfcap.tradeoff.style import on_paper
from tensorboard_plugin_tfcap.tradeoff.style import style
from tensorboard_plugin_tfcap.tradeoff.traces import HOVER
from tensorboard_plugin_tfcap.tradeoff.traces import plain
from tfcap.curves.curve import pareto_front

_AXES = {"xaxis": "x", "yaxis": "y"}


def reference_trace(
    references, x, y, dark: bool, first_row: int, known=()
) -> dict:
    """Published points, as hollow marks."""
    titles = [reference.title for reference in references]
    styles = [style(title, known) for title in titles]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "published",
        "x": plain([reference.metrics[x.name] for reference in references]),
        "y": plain([reference.metrics[y.name] for reference in references]),
        "marker": {
            "symbol": [f"{marker}-open" for _, (_, marker), _ in styles],
            "color": [on_paper(color, dark) for color, _, _ in styles],
            "size": 10,
            "line": {"width": 2},
        },
        "text": [
            f"{marked(title)}<br>{marked(reference.source)}"
            for title, reference in zip(titles, references)
        ],
        "customdata": list(range(first_row, first_row + len(references))),
        "hovertemplate": HOVER,
        "legendgroup": "published",
        "meta": {"kind": "reference"},
        **_AXES,
    }


def front_trace(rows: list[dict], x, y, dark: bool) -> dict:
    """The Pareto front; notes in its rows that they are on it."""
    rows = [row for row in rows if not row["hidden"]]
    values = np.array([[row["x"], row["y"]] for row in rows]).reshape(-1, 2)
    front = pareto_front(values[:, 0] * x.sign, values[:, 1] * y.sign)
    for place in front:
        rows[place]["pareto"] = True
    across = values[front][np.argsort(values[front][:, 0], kind="stable")]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "Pareto front",
        "x": plain(across[:, 0]),
        "y": plain(across[:, 1]),
        # Steps: a point dominates all that is worse in both.
        "line": {
            "shape": "vh" if x.sign > 0 else "hv",
            "dash": "dot",
            "width": 1.5,
            "color": (DARK if dark else LIGHT).quiet,
        },
        "hoverinfo": "skip",
        "meta": {"kind": "pareto"},
        **_AXES,
    }


def equality(rows, x, y) -> str:
    """The line on which both axes are equal, in words.

    Returns:
        `"own listener = held-out listeners"`, or `""` where the axes are of
        two measures, or one has percent and the other shares.
    """
    if not rows or x is y or bare_name(x.name) != bare_name(y.name):
        return ""
    above = {max(row[name] for row in rows) > 1 for name in "xy"}
    if len(above) > 1:
        return ""
    listeners = [listener_title(metric.name) for metric in (y, x)]
    return " = ".join(listeners) if len({*listeners}) > 1 else "both equal"


def add_diagonal(figure, name: str, dark: bool):
    """Draws the line on which both axes are equal; both get one range."""
    axes = [figure["layout"][axis] for axis in ("xaxis", "yaxis")]
    log = [axis.get("type") == "log" for axis in axes]
    if log[0] != log[1]:
        return
    lows, highs = zip(*(axis["range"] for axis in axes))
    low, high = min(lows), max(highs)
    for axis in axes:
        axis["range"] = [low, high]
    # Beyond the axes, to be seen when zoomed out.
    ends = [2 * low - high, 2 * high - low]
    ends = plain([10.0**end for end in ends] if log[0] else ends)
    figure["data"].append(
        {
            "type": "scatter",
            "mode": "lines",
            "name": marked(name),
            **{"x": ends, "y": ends},
            "line": {
                "dash": "dash",
                "width": 1,
                "color": (DARK if dark else LIGHT).quiet,
            },
            "hoverinfo": "skip",
            "meta": {"kind": "diagonal"},
            **_AXES,
        }
    )


def line_shape(along, value, dark):
    """The line across the figure, which can be dragged."""
    held, free = along, "y" if along == "x" else "x"
    return {
        "type": "line",
        "name": "line",
        f"{held}ref": held,
        f"{held}0": value,
        f"{held}1": value,
        f"{free}ref": f"{free} domain",
        f"{free}0": 0,
        f"{free}1": 1,
        "layer": "above",
        "line": {
            "color": (DARK if dark else LIGHT).ink,
            "width": 2,
            "dash": "dash",
        },
    }


def set_scales(layout, rows, axes, query) -> list[str]:
    """Makes axes logarithmic where the query asks for it.

    Returns:
        List of notices.
    """
    notices = []
    for name, metric in zip("xy", axes):
        if getattr(query, f"{name}scale") != "log" or metric is None:
            continue
        shown = [row for row in rows if not row["hidden"]]
        if any(one[name] <= 0 for row in shown for one in (row, *row["runs"])):
            notices.append(
                f"{metric.title} has values of 0 or less: its axis stays "
                "linear."
            )
            continue
        layout[f"{name}axis"]["type"] = "log"
        notices.append(
            f"The axis of {metric.title} is logarithmic; between points, "
            "tables still interpolate linearly."
        )
    return notices


def padded_range(values, log=False):
    """The range of an axis: all values with a margin.

    On a logarithmic axis, that of the logarithms of positive values.
    """
    values = np.asarray(values, "float64")
    if log:
        values = np.log10(values[values > 0])
    low, high = values.min(), values.max()
    gap = 0.08 * (high - low) or 0.05 * abs(high) or 1.0
    return [float(low - gap), float(high + gap)]
