"""Panels as a figure of Plotly: a plain dict, made without Plotly.

It is the same in TensorBoard, in a notebook and in a file.
"""

from dataclasses import dataclass

import numpy as np

from tensorboard_plugin_tfcap.tradeoff.plotly_text import marked
from tensorboard_plugin_tfcap.tradeoff.style import DARK
from tensorboard_plugin_tfcap.tradeoff.style import FAINT
from tensorboard_plugin_tfcap.tradeoff.style import LIGHT
from tensorboard_plugin_tfcap.tradeoff.style import styles
from tensorboard_plugin_tfcap.tradeoff.style import text_color
from tensorboard_plugin_tfcap.tradeoff.traces import PLOT
from tensorboard_plugin_tfcap.tradeoff.traces import label_places
from tensorboard_plugin_tfcap.tradeoff.traces import label_trace
from tensorboard_plugin_tfcap.tradeoff.traces import line_traces

#: Gaps between panels, as shares of the figure's width and height.
_GAPS = (0.07, 0.16)


@dataclass(frozen=True)
class Cell:
    """Place of one panel.

    Args:
        axes: Dict of `xaxis` and `yaxis`, as traces name them.
        x: Pair of floats, left and right in the figure.
        y: Pair of floats, bottom and top.
    """

    axes: dict
    x: tuple
    y: tuple

    @property
    def names(self):
        """Names of the two axes in the layout."""
        return [f"{k}{v[1:]}" for k, v in self.axes.items()]


def panel_cells(count):
    """Places of `count` panels: three in a row."""
    columns, rows = min(count, 3), -(-count // 3)
    across, up = (_GAPS[0], _GAPS[1])
    width = (1 - across * (columns - 1)) / columns
    height = (1 - up * (rows - 1)) / rows
    cells = []
    for place in range(count):
        left = place % 3 * (width + across)
        top = 1 - place // 3 * (height + up)
        number = "" if place == 0 else place + 1
        axes = {"xaxis": f"x{number}", "yaxis": f"y{number}"}
        # Rounding must not leave the figure.
        right, bottom = min(left + width, 1.0), max(top - height, 0.0)
        cells.append(Cell(axes, (left, right), (bottom, top)))
    return cells


def panels_figure(
    panels, title="", legend="", dark=False, labels=False, known=()
):
    """Draws panels.

    Args:
        panels: List of `Panel`.
        title: String. Defaults to `""`.
        legend: String, how to read the figure. Defaults to `""`.
        dark: Boolean. Defaults to `False`.
        labels: Boolean, whether the points of a single panel are labeled.
            Defaults to `False`.
        known: Titles of methods, whose places determine their styles. Defaults
            to none.

    Returns:
        Dict of `data` and `layout`, as `plotly.graph_objects.Figure` takes.
        The points of curves have numbers as their `customdata`: panel by
        panel, line by line.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff import Panel, panels_figure
    >>> figure = panels_figure([Panel("", "CIDEr-D", "recall@10", [])])
    >>> figure["layout"]["xaxis"]["title"]["text"]
    'CIDEr-D'
    """
    cells = panel_cells(len(panels))
    data, shown, row = [], set(), 0
    titles = [line.title for panel in panels for line in panel.lines]
    looks = styles(titles, known)
    layout = frame(title, legend, dark)
    for panel, cell in zip(panels, cells):
        for line in panel.lines:
            first = line.title not in shown
            look = looks[line.title]
            data += line_traces(line, look, cell.axes, dark, first, row)
            shown.add(line.title)
            row += len(line.x)
        if labels and len(panels) == 1:
            data += _labels(panel, cell, dark, looks)
        for name, span, text in zip(
            cell.names, (cell.x, cell.y), (panel.x, panel.y)
        ):
            text = marked(text, 34 if panels[1:] else 52)
            layout[name] = axis(span, text, dark, cell.axes, name)
        _annotate(layout, panel, cell)
    if len({(panel.x, panel.y) for panel in panels}) == 1:
        _match(layout, cells)
    if len(panels) > 1:
        layout["height"] = 470 * -(-len(panels) // 3) - 120
    return {"data": data, "layout": layout}


def _match(layout, cells):
    """Gives panels of the same measures one scale."""
    for cell in cells[1:]:
        for name, first in zip(cell.names, "xy"):
            layout[name]["matches"] = first


def frame(title, legend, dark):
    """The layout, without its panels."""
    palette = DARK if dark else LIGHT
    layout = {
        "paper_bgcolor": palette.paper,
        "plot_bgcolor": palette.paper,
        "font": {"color": palette.ink, "size": 13},
        "hoverlabel": {"align": "left"},
        "hovermode": "closest",
        "legend": {
            "orientation": "h",
            # Below the axis' title at any height of the figure.
            "yref": "container",
            "y": 0,
            "yanchor": "bottom",
            "title": {
                "text": marked(legend),
                "side": "top",
                "font": {"size": 12},
            },
        },
        "margin": {"t": 90 if title else 50, "r": 30, "l": 70, "b": 60},
        "annotations": [],
        "shapes": [],
    }
    if title:
        layout["title"] = {"text": marked(title)}
    return layout


def axis(span, text, dark, axes, name):
    """One axis of the layout."""
    palette = DARK if dark else LIGHT
    other = axes["yaxis" if name[0] == "x" else "xaxis"]
    return {
        "domain": list(span),
        "anchor": other,
        "title": {"text": text},
        "gridcolor": palette.grid,
        "linecolor": palette.quiet,
        "zeroline": False,
        "ticks": "outside",
        "automargin": True,
    }


def _labels(panel, cell, dark, looks):
    """Labels of points without overlaps, one trace for each line."""
    if not panel.lines:
        return []
    x = np.concatenate([line.x for line in panel.lines])
    y = np.concatenate([line.y for line in panel.lines])
    # The legend names the parameter once.
    texts = [
        "" if looks[line.title][0] == FAINT else name.rpartition(" = ")[2]
        for line in panel.lines
        for name in line.names
    ]
    places = [_spread(v, long) for v, long in zip((x, y), PLOT)]
    sides = label_places(*places, texts)
    traces, begin = [], 0
    for line in panel.lines:
        here = slice(begin, begin + len(line.x))
        begin = here.stop
        if any(sides[here]):
            color = text_color(looks[line.title][0], dark)
            traces.append(
                label_trace(
                    *(x[here], y[here], texts[here], sides[here]),
                    *(cell.axes, color, line.title),
                )
            )
    return traces


def _spread(values, length):
    """Values as pixels of a plot that they span."""
    wide = np.ptp(values)
    return (values - values.min()) / wide * length if wide else values * 0


def _annotate(layout, panel, cell):
    """Writes a panel's title above it, and its note into it."""
    (left, right), (bottom, top) = cell.x, cell.y
    usual = {"xref": "paper", "yref": "paper", "showarrow": False}
    if panel.title:
        layout["annotations"].append(
            {
                **usual,
                "name": "title",
                "text": marked(panel.title),
                "x": (left + right) / 2,
                "y": top,
                "xanchor": "center",
                "yanchor": "bottom",
                "font": {"size": 15},
            }
        )
    if not panel.note:
        return
    empty = not panel.lines
    layout["annotations"].append(
        {
            **usual,
            "name": "note",
            "text": marked(panel.note, 44),
            "x": (left + right) / 2 if empty else left,
            "y": (bottom + top) / 2 if empty else bottom,
            "align": "center" if empty else "left",
            "xanchor": "center" if empty else "left",
            "yanchor": "middle" if empty else "bottom",
        }
    )
    if empty:
        # An empty frame would look like a measurement.
        for name in cell.names:
            layout[name]["visible"] = False
