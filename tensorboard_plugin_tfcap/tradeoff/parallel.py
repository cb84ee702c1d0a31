"""Parallel coordinates: an axis for each metric, better ends up."""

from dataclasses import dataclass

import numpy as np

from tensorboard_plugin_tfcap.tradeoff.panels import axis_title
from tensorboard_plugin_tfcap.tradeoff.plotly_figure import frame
from tensorboard_plugin_tfcap.tradeoff.plotly_text import marked
from tensorboard_plugin_tfcap.tradeoff.style import DARK
from tensorboard_plugin_tfcap.tradeoff.style import FAINT
from tensorboard_plugin_tfcap.tradeoff.style import LIGHT
from tensorboard_plugin_tfcap.tradeoff.style import on_paper
from tensorboard_plugin_tfcap.tradeoff.style import styles
from tensorboard_plugin_tfcap.tradeoff.table import number


@dataclass(frozen=True)
class Track:
    """One point of a method, across all axes.

    Args:
        title: String, the method's.
        name: String, the point's: `"\u03bb = 0.001"`; may be empty.
        values: Float array of shape `(m,)`, NaN where one is absent.
    """

    title: str
    name: str
    values: np.ndarray


def parallel_figure(tracks, metrics, known=(), dark=False) -> dict:
    """Draws tracks across an axis for each metric.

    Axes are turned so that better is up: their upper end is the best of all
    tracks, the lower one the worst; of a metric of which it is not known which
    way it is better, the greatest and the least.

    Args:
        tracks: List of `Track`.
        metrics: List of `Metric`.
        known: Titles of methods, whose places give their looks.

    Returns:
        Dict of `data` and `layout`, as Plotly takes it.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff.metric_names import named_metric
    >>> from tensorboard_plugin_tfcap.tradeoff.parallel import Track
    >>> from tensorboard_plugin_tfcap.tradeoff.parallel import parallel_figure
    >>> metrics = [named_metric(name) for name in ("cider_d", "mean_rank")]
    >>> tracks = [Track("a", "", [1.0, 5.0]), Track("b", "", [0.5, 9.0])]
    >>> [trace["y"][:2] for trace in parallel_figure(tracks, metrics)["data"]]
    [[1.0, 1.0], [0.0, 0.0]]
    """
    values = np.array([track.values for track in tracks], "float64")
    values = values.reshape(len(tracks), len(metrics))
    ends = [_ends(column, m) for column, m in zip(values.T, metrics)]
    low, high = np.array(ends).reshape(-1, 2).T
    with np.errstate(invalid="ignore", divide="ignore"):
        heights = (values - low) / (high - low)
    # All alike: in the middle.
    heights[:, low == high] = np.where(
        np.isfinite(values[:, low == high]), 0.5, np.nan
    )
    looks = styles([track.title for track in tracks], known)
    data = []
    for title, look in looks.items():
        mine = [i for i, track in enumerate(tracks) if track.title == title]
        data.append(_trace(title, look, mine, tracks, heights, metrics, dark))
    layout = frame("", "", dark)
    palette = DARK if dark else LIGHT
    layout["xaxis"] = {
        "range": [-0.35, len(metrics) - 0.65],
        "tickvals": list(range(len(metrics))),
        "ticktext": [marked(axis_title(m), 16) for m in metrics],
        **{"showgrid": False, "zeroline": False, "fixedrange": True},
        **{"side": "top", "automargin": True},
    }
    layout["yaxis"] = {
        **{"range": [-0.09, 1.09], "visible": False, "fixedrange": True},
    }
    layout["margin"] = {"t": 60, "r": 20, "l": 20, "b": 20}
    for place, pair in enumerate(ends):
        layout["shapes"].append(
            {
                **{"type": "line", "layer": "below", "y0": 0, "y1": 1},
                **{"x0": place, "x1": place},
                "line": {"color": palette.quiet, "width": 1},
            }
        )
        for y, value, side in zip((0, 1), pair, ("top", "bottom")):
            layout["annotations"].append(
                {
                    **{"x": place, "y": y, "showarrow": False},
                    "text": number(value) if np.isfinite(value) else "-",
                    "yanchor": side,
                }
            )
    return {"data": data, "layout": layout}


def _ends(column, metric):
    """The worst and the best of an axis."""
    column = column[np.isfinite(column)]
    if not column.size:
        return np.nan, np.nan
    ends = float(column.min()), float(column.max())
    return ends[::-1] if metric.sign < 0 else ends


def _trace(title, look, mine, tracks, heights, metrics, dark):
    """All points of a method, a gap after each."""
    color, (_, marker), (_, dash) = look
    x, y, texts = [], [], []
    for place in mine:
        track = tracks[place]
        for axis, metric in enumerate(metrics):
            height = heights[place, axis]
            x.append(axis)
            y.append(
                round(float(height), 5) + 0.0 if np.isfinite(height) else None
            )
            value = number(float(track.values[axis]))
            name = f"{marked(track.name)}<br>" if track.name else ""
            texts.append(f"{name}{marked(metric.title)} {value}")
        x.append(None)
        y.append(None)
        texts.append("")
    return {
        **{"type": "scatter", "mode": "lines+markers"},
        "name": marked(title),
        **{"legendgroup": title, "x": x, "y": y, "text": texts},
        "line": {"color": on_paper(color, dark), "width": 1.5, "dash": dash},
        "marker": {"symbol": marker, "size": 7, "color": on_paper(color, dark)},
        "hovertemplate": "%{text}<extra>%{fullData.name}</extra>",
        "zorder": int(color != FAINT),
        "meta": {"kind": "track"},
    }
