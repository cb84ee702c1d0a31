"""The sheet of a figure: panels in a grid, their axes and titles."""

import math
from dataclasses import dataclass

from tensorboard_plugin_tfcap.drawing.items import Layer
from tensorboard_plugin_tfcap.drawing.items import Path
from tensorboard_plugin_tfcap.drawing.items import Text
from tensorboard_plugin_tfcap.drawing.text_size import fit
from tensorboard_plugin_tfcap.drawing.text_size import shortened
from tensorboard_plugin_tfcap.drawing.text_size import text_width
from tensorboard_plugin_tfcap.drawing.ticks import Scale
from tensorboard_plugin_tfcap.tradeoff.plotly_text import unmarked


@dataclass(frozen=True)
class Look:
    """Sizes and colors of a drawing.

    Args:
        size: Float, the font's in points: everything goes with it.
        ratio: Float, a panel's height by its width.
        tallest: Float, the greatest height of a panel.
    """

    width: float
    size: float
    font: str
    ink: str
    quiet: str
    grid: str
    paper: str
    ratio: float = 0.62
    tallest: float = math.inf

    @property
    def unit(self):
        """Points that a pixel of the tab's figure has."""
        return self.size / 13


@dataclass
class PanelFrame:
    """One panel on the sheet.

    Args:
        names: Pair of the axes, as traces name them.
        box: Tuple of left, top, width and height.
    """

    names: tuple
    axes: tuple
    x: Scale
    y: Scale
    box: tuple
    title: str = ""
    note: str = ""

    @property
    def frame(self):
        """Its left, top, right and bottom."""
        left, top, width, height = self.box
        return left, top, left + width, top + height

    @property
    def is_empty(self):
        """Check whether there is but a note."""
        return self.axes[0].get("visible") is False


def panel_frames(figure, look: Look, ranges=None, top: float = 0.0):
    """Places panels.

    Args:
        ranges: Dict of pairs of floats by the layout's name of an axis, as
            the layout itself has them. Optional.
        top: Float, where they begin. Defaults to `0.0`.

    Returns:
        List of `PanelFrame`, and where they end.
    """
    layout = figure["layout"]
    pairs = _axes(layout)
    columns = min(len(pairs), 3, max(1, int(look.width // (17 * look.size))))
    gap = look.size
    cell = (look.width - gap * (columns - 1)) / columns
    frames = []
    for begin in range(0, len(pairs), columns):
        row = [
            _panel(figure, pair, look, ranges or {}, place * (cell + gap), cell)
            for place, pair in enumerate(pairs[begin : begin + columns])
        ]
        above = 1.9 if any(panel.title for panel in row) else 0.7
        tallest = max(panel.box[3] for panel in row)
        for panel in row:
            left, _, width, height = panel.box
            if panel.is_empty:
                height = tallest
            panel.box = (left, top + above * look.size, width, height)
            panel.y = Scale(
                *(panel.y.low, panel.y.high),
                *(panel.frame[3], panel.frame[1], panel.y.log),
            )
        frames += row
        below = max(_below(panel, look) for panel in row)
        top = max(panel.frame[3] for panel in row) + below
    return frames, top


def axis_layer(panel: PanelFrame, look: Look):
    """Grid, ticks, titles and note of a panel."""
    items = []
    left, top, right, bottom = panel.frame
    if not panel.is_empty:
        x_ticks, y_ticks = _ticks(panel, look)
        small, unit = 0.9 * look.size, look.unit
        line = {"color": look.grid, "width": unit}
        for value, text in x_ticks:
            x = panel.x(value)
            items.append(Path([(x, top), (x, bottom)], **line))
            at = bottom + 1.25 * look.size
            items.append(Text(x, at, text, small, look.ink, "middle"))
        for value, text in y_ticks:
            y = panel.y(value)
            items.append(Path([(left, y), (right, y)], **line))
            at = left - 0.45 * look.size
            baseline = y + 0.34 * small
            items.append(Text(at, baseline, text, small, look.ink, "end"))
        items.append(
            Path(
                [(left, top), (left, bottom), (right, bottom)],
                *(look.quiet, look.unit),
            )
        )
        items += _titles(panel, look, max(_wide(y_ticks, look), 0))
    if panel.title:
        at = top - 0.7 * look.size
        middle, large = (left + right) / 2, 1.05 * look.size
        text = shortened(panel.title, right - left, large, look.font)
        items.append(
            Text(*(middle, at, text, large, look.ink), "middle", bold=True)
        )
    items += _note(panel, look)
    return Layer("axis", items)


def _axes(layout):
    """Pairs of the axes of each panel: as traces name them, and as dicts."""
    pairs = []
    for name in layout:
        if name.startswith("xaxis"):
            axis, number = layout[name], name[5:]
            other = axis.get("anchor", f"y{number}")
            up = layout.get(f"yaxis{other[1:]}", {})
            pairs.append(((f"x{number}", other), (axis, up)))
    return pairs


def _panel(figure, pair, look, ranges, left, cell):
    names, axes = pair
    size = look.size
    scales = [
        _scale(figure, name, axis, ranges.get(_long(name)))
        for name, axis in zip(names, axes)
    ]
    height = min(look.ratio * 0.88 * cell, look.tallest)
    height = max(height, 8 * size)
    panel = PanelFrame(names, axes, *scales, (left, 0, cell, height))
    for note in figure["layout"].get("annotations", ()):
        if note.get("xref") == "paper" and _is_over(note, axes):
            text = unmarked(note["text"])
            if note.get("name") == "title":
                panel.title = text
            else:
                panel.note = text
    if panel.is_empty:
        panel.box = (left, 0, cell, 4 * size)
        return panel
    panel.y = Scale(scales[1].low, scales[1].high, height, 0, scales[1].log)
    _, y_ticks = _ticks(panel, look)
    lines = len(_title_lines(panel, 1, look))
    begin = _wide(y_ticks, look) + (1.0 + 1.25 * lines) * size
    width = cell - begin - 1.1 * size
    panel.box = (left + begin, 0, width, height)
    x = scales[0]
    panel.x = Scale(x.low, x.high, left + begin, left + begin + width, x.log)
    return panel


def _is_over(note, axes):
    spans = [axis.get("domain", (0, 1)) for axis in axes]
    return all(
        low - 1e-6 <= note[name] <= high + 1e-6
        for name, (low, high) in zip("xy", spans)
    )


def _scale(figure, name, axis, asked):
    log = axis.get("type") == "log"
    ends = asked or axis.get("range")
    if ends is None or None in ends:
        alike = _matched(figure["layout"], name)
        values = [
            math.log10(v) if log else v
            for trace in figure["data"]
            if trace.get(f"{name[0]}axis", name[0]) in alike
            for v in trace.get(name[0], ())
            if v is not None and (v > 0 or not log)
        ]
        low, high = min(values, default=0.0), max(values, default=1.0)
        gap = 0.06 * (high - low) or 0.05 * abs(high) or 1.0
        ranges = [figure["layout"][_long(n)].get("range") for n in alike]
        ends = next(filter(None, ranges), (low - gap, high + gap))
    low, high = map(float, ends)
    return Scale(low, high if high != low else low + 1.0, 0.0, 1.0, log)


def _matched(layout, name):
    """Names of the axes that are on one scale with an axis."""
    roots = {
        f"{long[0]}{long[5:]}": axis.get("matches") or f"{long[0]}{long[5:]}"
        for long, axis in layout.items()
        if long[1:5] == "axis"
    }
    return [other for other in roots if roots[other] == roots[name]]


def _long(name):
    """An axis as the layout names it, not as traces do."""
    return f"{name[0]}axis{name[1:]}"


def _ticks(panel, look):
    _, _, width, height = panel.box
    found = []
    rooms = (width / (4.6 * look.size), height / (2.2 * look.size))
    for scale, axis, most in zip((panel.x, panel.y), panel.axes, rooms):
        if "tickvals" in axis:
            texts = axis.get("ticktext") or map(str, axis["tickvals"])
            texts = (unmarked(str(text)) for text in texts)
            ticks = list(zip(axis["tickvals"], texts))
        else:
            ticks = scale.ticks(max(2, min(10, int(most))))
        found.append([tick for tick in ticks if scale.holds(tick[0])])
    return found


def _wide(ticks, look):
    texts = [text_width(t, 0.9 * look.size, look.font) for _, t in ticks]
    return max(texts, default=0.0)


def _title_lines(panel, place, look):
    text = _plain(panel.axes[place].get("title"))
    length = panel.box[2 + place]
    return fit(text, length, look.size, look.font)


def _titles(panel, look, wide):
    left, top, right, bottom = panel.frame
    step, texts = 1.25 * look.size, []
    for place, text in enumerate(_title_lines(panel, 0, look)):
        at = bottom + 2.7 * look.size + place * step
        middle = (left + right) / 2
        texts.append(Text(middle, at, text, look.size, look.ink, "middle"))
    lines = _title_lines(panel, 1, look)
    for place, text in enumerate(lines):
        at = left - wide - 1.0 * look.size - (len(lines) - 1 - place) * step
        middle = (top + bottom) / 2
        texts.append(
            Text(at, middle, text, look.size, look.ink, "middle", True)
        )
    return texts


def _note(panel, look):
    left, top, right, bottom = panel.frame
    small = 0.9 * look.size
    lines = fit(panel.note, 0.9 * (right - left), small, look.font)
    if panel.is_empty:
        middle = (left + right) / 2, (top + bottom) / 2
        first, anchor = middle[1] - 0.6 * small * (len(lines) - 1), "middle"
        x = middle[0]
    else:
        first = bottom - 0.5 * small - 1.2 * small * (len(lines) - 1)
        x, anchor = left + 0.5 * small, "start"
    return [
        Text(x, first + 1.2 * small * place, text, small, look.quiet, anchor)
        for place, text in enumerate(lines)
    ]


def _below(panel, look):
    """Room for the ticks and title of the horizontal axis."""
    if panel.is_empty:
        return look.size
    lines = len(_title_lines(panel, 0, look))
    return (2.1 + 1.25 * lines) * look.size


def _plain(title):
    text = title.get("text", "") if isinstance(title, dict) else title or ""
    return unmarked(text)
