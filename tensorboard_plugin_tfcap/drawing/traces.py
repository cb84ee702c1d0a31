"""Traces of Plotly's figure, placed: lines, bands, bars, marks, labels."""

import math

from tensorboard_plugin_tfcap.drawing.items import Layer
from tensorboard_plugin_tfcap.drawing.items import Mark
from tensorboard_plugin_tfcap.drawing.items import Path
from tensorboard_plugin_tfcap.drawing.items import Text
from tensorboard_plugin_tfcap.drawing.labels import mark_box
from tensorboard_plugin_tfcap.drawing.labels import place_labels
from tensorboard_plugin_tfcap.drawing.labels import text_box
from tensorboard_plugin_tfcap.tradeoff.plotly_text import unmarked

#: Colors of a number from its least to its greatest (Viridis).
_SCALE = ("#440154", "#3b528b", "#21918c", "#5ec962", "#fde725")
#: Strokes and gaps, in widths of three pixels.
_DASHES = {
    "solid": (),
    "dot": (1, 1),
    "dash": (3, 3),
    "longdash": (5, 5),
    "dashdot": (3, 1, 1, 1),
    "longdashdot": (5, 2, 1, 2),
}


def is_shown(trace) -> bool:
    """Check whether a trace is drawn, and not only in the legend."""
    return trace.get("visible", True) is True


def group_of(trace) -> str:
    """The name by which a trace is shown and hidden."""
    return trace.get("legendgroup") or trace.get("name") or ""


def dashes(name: str, width: float, unit: float) -> tuple:
    """Strokes and gaps of a line, by Plotly's name."""
    length = max(width, 3 * unit)
    return tuple(length * part for part in _DASHES[name or "solid"])


def trace_layers(trace, panel, look, titles=()):
    """Layers of one trace, but for its texts."""
    mode, group = trace.get("mode", "lines"), group_of(trace)
    kind = trace.get("meta", {}).get("kind", "trace")
    lines = [*_fill(trace, panel), *_bars(trace, panel, look)]
    if "lines" in mode:
        lines = [*_lines(trace, panel, look), *lines]
    if lines:
        yield Layer(kind, lines, group, panel.box)
    marks = _marks(trace, panel, look, titles) if "markers" in mode else []
    if marks:
        yield Layer("marks", marks, group)


def label_layers(traces, panel, look, drawn):
    """The texts of all traces of a panel, none on another or on a mark.

    Args:
        drawn: List of items whose marks and texts stay free.
    """
    labels, about = [], []
    for trace in traces:
        if "text" not in trace.get("mode", ""):
            continue
        font, points = trace.get("textfont", {}), _points(trace, panel)
        for place, point in enumerate(points):
            text = _each(trace.get("text"), place)
            if point is None or not text:
                continue
            side = _each(trace.get("textposition", "top center"), place)
            labels.append((*point, unmarked(text), side))
            about.append((group_of(trace), _each(font.get("color"), place)))
    size = 0.85 * look.size
    taken = [text_box(i, look.font) for i in drawn if isinstance(i, Text)]
    taken += [mark_box(m) for m in drawn if isinstance(m, Mark)]
    places = place_labels(labels, taken, panel.frame, size, look.font)
    layers = {}
    for (_, _, text, _), (group, color), at in zip(labels, about, places):
        if at is not None:
            item = Text(*at, text, size, color or look.ink, halo=True)
            layers.setdefault(group, []).append(item)
    return [Layer("label", items, group) for group, items in layers.items()]


def shape_layer(shape, panel, look):
    """A straight line over a panel, and its value where it is the level."""
    ends = []
    for end in "01":
        point = [
            _coordinate(shape, name, end, scale)
            for name, scale in zip("xy", (panel.x, panel.y))
        ]
        ends.append(tuple(point))
    if None in (*ends[0], *ends[1]):
        return None
    line = shape.get("line", {})
    width = line.get("width", 2) * look.unit
    color = line.get("color", look.ink)
    dash = dashes(line.get("dash"), width, look.unit)
    items = [Path(ends, color, width, dash)]
    inside = panel.x.holds(shape["x0"]) or "domain" in shape.get("xref", "")
    inside &= panel.y.holds(shape["y0"]) or "domain" in shape.get("yref", "")
    if shape.get("name") == "line" and inside:
        items.append(_level_text(shape, panel, look))
    return Layer("line", items, "", panel.box)


def _level_text(shape, panel, look):
    left, top, right, _ = panel.frame
    size, gap = 0.85 * look.size, 0.4 * look.size
    if "domain" in shape["yref"]:
        x, text = panel.x(shape["x0"]), f"{shape['x0']:.4g}"
        is_right = x > (left + right) / 2
        x, anchor = (x - gap, "end") if is_right else (x + gap, "start")
        return Text(x, top + size, text, size, look.ink, anchor, halo=True)
    y, text = panel.y(shape["y0"]), f"{shape['y0']:.4g}"
    y = y - gap if y - gap - size > top else y + gap + 0.7 * size
    return Text(right - gap, y, text, size, look.ink, "end", halo=True)


def _coordinate(shape, name, end, scale):
    value = shape[f"{name}{end}"]
    if "domain" in shape.get(f"{name}ref", name):
        return scale.start + value * (scale.end - scale.start)
    return scale(value)


def _points(trace, panel):
    """Places of the points of a trace, `None` where one has none."""
    places = []
    for x, y in zip(trace.get("x", ()), trace.get("y", ())):
        place = panel.x(x), panel.y(y)
        places.append(None if None in place else place)
    return places


def _pieces(points):
    piece = []
    for point in (*points, None):
        if point is None:
            if len(piece) > 1:
                yield piece
            piece = []
        else:
            piece.append(point)


def _lines(trace, panel, look):
    line = trace.get("line", {})
    width = line.get("width", 2) * look.unit
    if not width:
        return
    dash = dashes(line.get("dash"), width, look.unit)
    opacity = trace.get("opacity", 1.0)
    color = line.get("color", look.ink)
    for piece in _pieces(_points(trace, panel)):
        stepped = _stepped(piece, line.get("shape", "linear"))
        yield Path(stepped, color, width, dash, opacity=opacity)


def _stepped(points, shape):
    if shape not in ("hv", "vh"):
        return points
    whole = points[:1]
    for (x0, y0), (x1, y1) in zip(points, points[1:]):
        whole += [(x1, y0) if shape == "hv" else (x0, y1), (x1, y1)]
    return whole


def _fill(trace, panel):
    if trace.get("fill") == "toself":
        color, opacity = trace.get("fillcolor"), trace.get("opacity", 1.0)
        for piece in _pieces(_points(trace, panel)):
            yield Path(piece, None, 0, fill=color, opacity=opacity)


def _bars(trace, panel, look):
    for name, place in (("error_x", 0), ("error_y", 1)):
        bars = trace.get(name)
        if not bars or bars.get("visible") is False:
            continue
        width = bars.get("thickness", 1) * look.unit
        cap = bars.get("width", 3) * look.unit
        above = bars["array"]
        below = bars.get("arrayminus", above)
        for x, y, low, high in zip(trace["x"], trace["y"], below, above):
            if None in (x, y, low, high):
                continue
            ends = _bar(panel, (x, y), place, low, high)
            if ends is not None:
                for line in _capped(*ends, place, cap):
                    opacity = trace.get("opacity", 1.0)
                    yield Path(line, bars["color"], width, opacity=opacity)


def _bar(panel, middle, place, low, high):
    scale = (panel.x, panel.y)[place]
    other = (panel.y, panel.x)[place](middle[1 - place])
    first = scale(middle[place] - low)
    # Below zero, a logarithmic axis ends before the bar does.
    first = scale.start if first is None else first
    last = scale(middle[place] + high)
    if other is None or last is None:
        return None
    ends = [(first, other), (last, other)]
    return ends if place == 0 else [(other, first), (other, last)]


def _capped(first, last, place, cap):
    yield [first, last]
    across = (0, cap) if place == 0 else (cap, 0)
    for x, y in (first, last):
        yield [(x - across[0], y - across[1]), (x + across[0], y + across[1])]


def _marks(trace, panel, look, titles):
    marker, rows = trace.get("marker", {}), trace.get("customdata") or ()
    opacity = marker.get("opacity", trace.get("opacity", 1.0))
    if not opacity:
        return []
    colors = _colors(marker, trace, look)
    marks = []
    for place, point in enumerate(_points(trace, panel)):
        inside = panel.x.holds(trace["x"][place])
        if point is None or not inside or not panel.y.holds(trace["y"][place]):
            continue
        symbol = _each(marker.get("symbol", "circle"), place)
        row = rows[place] if place < len(rows) else None
        known = isinstance(row, int) and row < len(titles)
        size = _each(marker.get("size", 6), place) * look.unit
        marks.append(
            Mark(
                *(*point, symbol.removesuffix("-open"), size),
                _each(colors, place),
                symbol.endswith("-open"),
                1.4 * look.unit,
                opacity,
                titles[row] if known else "",
            )
        )
    return marks


def _colors(marker, trace, look):
    colors = marker.get("color") or trace.get("line", {}).get("color")
    if not isinstance(colors, list | tuple):
        return colors or look.ink
    values = [c for c in colors if isinstance(c, int | float)]
    if not values:
        return colors
    low, span = min(values), max(values) - min(values)
    return [_scaled((c - low) / span if span else 0.0) for c in colors]


def _scaled(share):
    """A color between those of the scale."""
    place = share * (len(_SCALE) - 1)
    begin = min(math.floor(place), len(_SCALE) - 2)
    pair = [
        [int(color[i : i + 2], 16) for i in (1, 3, 5)]
        for color in _SCALE[begin : begin + 2]
    ]
    mixed = [round(a + (place - begin) * (b - a)) for a, b in zip(*pair)]
    return "#" + "".join(f"{part:02x}" for part in mixed)


def _each(value, place):
    """The value of one point, where there is one for each."""
    return value[place] if isinstance(value, list | tuple) else value
