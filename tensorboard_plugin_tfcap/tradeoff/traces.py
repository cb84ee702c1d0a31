"""Lines as traces of Plotly: plain dicts, made without Plotly."""

import math

import numpy as np

from tensorboard_plugin_tfcap.tradeoff.plotly_text import marked
from tensorboard_plugin_tfcap.tradeoff.plotly_text import unmarked
from tensorboard_plugin_tfcap.tradeoff.style import FAINT
from tensorboard_plugin_tfcap.tradeoff.style import on_paper

#: Pixels: least size of a plot, size of a letter, and gap of a label.
PLOT, _LETTER, HEIGHT, GAP = (760.0, 420.0), 6.6, 13.0, 8.0
#: Sides of a mark in the order of preference: name, and offset of the middle
#: in halves of the label's size.
SIDES = {
    "top right": (1, 1),
    "bottom left": (-1, -1),
    "top left": (-1, 1),
    "bottom right": (1, -1),
    "middle right": (1, 0),
    "middle left": (-1, 0),
    "top center": (0, 1),
    "bottom center": (0, -1),
}
#: Text that appears when the mouse is over a mark.
HOVER = (
    "%{text}<br>%{xaxis.title.text}: %{x:.4g}<br>%{yaxis.title.text}: "
    "%{y:.4g}<extra>%{fullData.name}</extra>"
)
#: Most labels.
_MOST = 250


def label_places(x, y, texts, room=np.inf):
    """Chooses a side of its mark for each label.

    Args:
        x: Float array of shape `(n,)`, pixels; so is `y`, which goes up.
        room: Float, right limit of labels. Defaults to none.

    Returns:
        List of `n` names of sides, as in Plotly; `None` where no side is free
        and the label is left out.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff.traces import label_places
    >>> label_places(np.array([0, 0, 90]), np.array([0, 0, 90]), ["a"] * 3)
    ['top right', 'bottom left', 'top right']
    """
    marks = np.stack([x - 3, y - 3, x + 3, y + 3], axis=-1)
    taken = np.empty((0, 4))
    positions = []
    for place, text in enumerate(texts):
        side, box = None, None
        if text and len(taken) < _MOST:
            others = np.delete(marks, place, axis=0)
            side, box = _free(
                *(x[place], y[place], text),
                np.concatenate([others, taken]),
                room,
            )
        if side is not None:
            taken = np.concatenate([taken, [box]])
        positions.append(side)
    return positions


def _free(x, y, text, boxes, room):
    for name, (right, up) in SIDES.items():
        low, high = label_box(x, y, text, right, up)
        apart = (
            (boxes[:, 0] > high[0])
            | (boxes[:, 2] < low[0])
            | (boxes[:, 1] > high[1])
            | (boxes[:, 3] < low[1])
        )
        if apart.all() and high[0] <= room:
            return name, [*low, *high]
    return None, None


def label_box(x, y, text, right, up):
    """Lower left and upper right of a label at a side of its mark."""
    half = np.array([len(text) * _LETTER, HEIGHT]) / 2
    # A label in a corner begins beside the mark; one above is centered.
    middle = x + right * (half[0] + GAP / 2), y + up * (half[1] + GAP / 2)
    return np.subtract(middle, half), np.add(middle, half)


def label_boxes(traces, spans, log=(False, False)) -> list:
    """Boxes of the labels of traces, in pixels of the plot.

    Args:
        spans: Pair of the ranges of both axes, as the layout has them.
        log: Pair of booleans, whether axes are logarithmic.
    """
    boxes = []
    for trace in traces:
        if trace["meta"]["kind"] != "label":
            continue
        keys = "x", "y", "text", "textposition"
        for x, y, text, side in zip(*(trace[key] for key in keys)):
            if any(is_log and v <= 0 for v, is_log in zip((x, y), log)):
                continue
            middle = [
                ((math.log10(v) if is_log else v) - low)
                / ((high - low) or 1.0)
                * long
                for v, is_log, (low, high), long in zip(
                    (x, y), log, spans, PLOT
                )
            ]
            boxes.append(
                np.concatenate(label_box(*middle, unmarked(text), *SIDES[side]))
            )
    return boxes


def line_traces(
    line,
    look,
    axes,
    dark: bool = False,
    legend: bool = True,
    first_row: int | None = None,
) -> list[dict]:
    """All traces of one method in one panel."""
    color, (_, marker), (_, dash) = look
    faint = color == FAINT
    color = on_paper(color, dark)
    usual = {"type": "scatter", "legendgroup": line.title, **axes}
    if not faint:
        # Above gray curves.
        usual["zorder"] = 1
    quiet = {**usual, "showlegend": False, "hoverinfo": "skip"}
    traces = []
    if line.band is not None and not faint:
        x, y = line.band.T
        traces.append(
            {
                **quiet,
                "x": plain(x),
                "y": plain(y),
                "mode": "lines",
                "fill": "toself",
                "opacity": 0.18,
                "fillcolor": color,
                "line": {"color": color, "width": 0},
                "meta": {"kind": "band"},
            }
        )
    for x, y in line.seeds if len(line.seeds) > 1 and not faint else ():
        traces.append(
            {
                **quiet,
                "x": plain(x),
                "y": plain(y),
                "mode": "lines",
                "line": {"color": color, "width": 1, "dash": dash},
                "opacity": 0.3,
                "meta": {"kind": "seed"},
            }
        )
    symbols = [marker if whole else f"{marker}-open" for whole in line.whole]
    curve = {
        **usual,
        "x": plain(line.x),
        "y": plain(line.y),
        "mode": "lines+markers" if line.joined else "markers",
        "name": marked(line.title),
        "showlegend": legend,
        "line": {"color": color, "width": 2, "dash": dash},
        "marker": {"symbol": symbols, "size": 8, "color": color},
        "text": [marked(label) for label in line.labels],
        "hovertemplate": HOVER,
        "meta": {"kind": "curve"},
    }
    if not faint:
        curve |= _bars("error_x", line.x, line.left, line.right, color)
        curve |= _bars("error_y", line.y, line.low, line.high, color)
    if first_row is not None:
        curve["customdata"] = list(range(first_row, first_row + len(line.x)))
    return [*traces, curve]


def label_trace(x, y, texts, sides, axes, color, group):
    """Labels beside marks, where there is room."""
    kept = [place for place, side in enumerate(sides) if side]
    return {
        "type": "scatter",
        # Invisible marks keep texts off the visible ones.
        "mode": "markers+text",
        "marker": {"size": 9, "opacity": 0},
        "x": plain(np.asarray(x)[kept]),
        "y": plain(np.asarray(y)[kept]),
        "text": [marked(texts[place]) for place in kept],
        "textposition": [sides[place] for place in kept],
        "textfont": {"size": 11, "color": color},
        "legendgroup": group,
        "showlegend": False,
        "hoverinfo": "skip",
        "cliponaxis": False,
        "meta": {"kind": "label"},
        **axes,
    }


def plain(values):
    """Numbers for JSON, with six digits; `None` for NaN."""
    return [
        float(f"{value:.6g}") if np.isfinite(value) else None
        for value in np.asarray(values, "float64").ravel().tolist()
    ]


def _bars(name, middle, low, high, color):
    if low is None or np.isnan(low).all():
        return {}
    return {
        name: {
            "type": "data",
            "symmetric": False,
            "array": plain(high - middle),
            "arrayminus": plain(middle - low),
            "color": color,
            "thickness": 1,
            "width": 3,
        }
    }
