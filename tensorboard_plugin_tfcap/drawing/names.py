"""Names of methods at their curves, placed anew for the sheet's size."""

import numpy as np

from tensorboard_plugin_tfcap.drawing.items import Layer
from tensorboard_plugin_tfcap.drawing.items import Path
from tensorboard_plugin_tfcap.drawing.items import Text
from tensorboard_plugin_tfcap.tradeoff.name_labels import NAMED
from tensorboard_plugin_tfcap.tradeoff.name_labels import name_places
from tensorboard_plugin_tfcap.tradeoff.plotly_text import unmarked

#: Pixels of the tab between a mark and a name that needs a line to it.
_FAR = 15.0


def name_layers(notes, traces, panel, look) -> list[Layer]:
    """The names that a figure's layout asks for, none on another or a mark.

    Args:
        notes: List of Plotly's annotations.
        traces: List of traces of the panel, whose curves they are beside.

    Returns:
        List of `Layer`, one a name that has room.
    """
    wanted = {
        note["name"].removeprefix(NAMED): note
        for note in notes
        if note.get("name", "").startswith(NAMED)
    }
    curves = [t for t in traces if t.get("meta", {}).get("kind") == "curve"]
    left, _, right, bottom = panel.frame
    # In pixels of the tab, from the lower left.
    places = [
        np.array(
            [
                _pixels(panel, x, y, left, bottom, look.unit)
                for x, y in zip(trace["x"], trace["y"])
            ]
        ).reshape(-1, 2)
        for trace in curves
    ]
    size = (right - left) / look.unit, panel.box[3] / look.unit
    titles = [
        trace["legendgroup"] if trace["legendgroup"] in wanted else ""
        for trace in curves
    ]
    layers = []
    for curve, title, found in zip(
        places, titles, name_places(places, titles, size)
    ):
        if found is None:
            continue
        mark, (low_x, low_y, high_x, high_y) = found
        note = wanted[title]
        color, x, y = note["font"]["color"], *curve[mark]
        ends = np.clip(x, low_x, high_x), np.clip(y, low_y, high_y)
        items = []
        if np.hypot(ends[0] - x, ends[1] - y) > _FAR:
            pairs = ((x, y), ends)
            points = [
                (left + px * look.unit, bottom - py * look.unit)
                for px, py in pairs
            ]
            items.append(Path(points, color, 0.8 * look.unit))
        middle = left + (low_x + high_x) / 2 * look.unit
        at = bottom - (low_y + 4.0) * look.unit
        text = unmarked(note["text"])
        small = 12 * look.unit
        items.append(Text(middle, at, text, small, color, "middle", halo=True))
        layers.append(Layer("label", items, title))
    return layers


def _pixels(panel, x, y, left, bottom, unit):
    place = panel.x(x), panel.y(y)
    if None in place:
        return np.nan, np.nan
    return (place[0] - left) / unit, (bottom - place[1]) / unit
