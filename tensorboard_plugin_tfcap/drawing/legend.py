"""The title of a figure, its legend, and the note how to read it."""

from tensorboard_plugin_tfcap.drawing.items import Layer
from tensorboard_plugin_tfcap.drawing.items import Mark
from tensorboard_plugin_tfcap.drawing.items import Path
from tensorboard_plugin_tfcap.drawing.items import Text
from tensorboard_plugin_tfcap.drawing.text_size import fit
from tensorboard_plugin_tfcap.drawing.text_size import shortened
from tensorboard_plugin_tfcap.drawing.text_size import text_width
from tensorboard_plugin_tfcap.drawing.traces import dashes
from tensorboard_plugin_tfcap.drawing.traces import group_of
from tensorboard_plugin_tfcap.drawing.traces import is_shown
from tensorboard_plugin_tfcap.tradeoff.plotly_text import unmarked


def legend_layers(data, look, top):
    """Draws the legend, row by row.

    Returns:
        List of layers, one an entry, and the height that they take.
    """
    traces = {}
    for trace in data:
        named = trace.get("name") and trace.get("showlegend", True)
        if named and is_shown(trace):
            traces.setdefault(group_of(trace), trace)
    if not traces:
        return [], 0.0
    size, unit = 0.92 * look.size, look.unit
    sample = 30 * unit
    widest = look.width - sample - 2 * size
    names = {
        group: shortened(unmarked(trace["name"]), widest, size, look.font)
        for group, trace in traces.items()
    }
    columns, cells = _columns(list(names.values()), size, sample, look)
    step, layers = 1.5 * size, []
    left = max(0.0, (look.width - sum(cells)) / 2) if columns > 1 else 0.0
    for place, (group, trace) in enumerate(traces.items()):
        x = left + sum(cells[: place % columns])
        y = top + (place // columns + 0.6) * step
        items = [*_sample(trace, x, y, sample, look)]
        at = x + sample + 0.5 * size, y + 0.34 * size
        items.append(Text(*at, names[group], size, look.ink))
        layers.append(Layer("legend", items, group))
    return layers, step * -(-len(names) // columns) + 0.4 * size


def title_layer(layout, look):
    """The title of the whole.

    Returns:
        Layer, and the height that it takes.
    """
    text = unmarked((layout.get("title") or {}).get("text", ""))
    size = 1.2 * look.size
    lines = fit(text, 0.96 * look.width, size, look.font)
    items = [
        Text(
            *(look.width / 2, (1 + 1.3 * place) * size, line, size, look.ink),
            anchor="middle",
        )
        for place, line in enumerate(lines)
    ]
    return Layer("title", items), 1.3 * size * len(lines)


def note_layer(note, look, top):
    """The note in lines as wide as the sheet.

    Returns:
        Layer, and the height that it takes.
    """
    size = 0.85 * look.size
    lines = fit(note, look.width, size, look.font)
    items = [
        Text(0.0, top + (1 + 1.3 * place) * size, text, size, look.quiet)
        for place, text in enumerate(lines)
    ]
    height = (1.3 * len(lines) + 0.4) * size if lines else 0.0
    return Layer("note", items), height


def _columns(names, size, sample, look):
    """Number of columns, and how wide each is."""
    wide = [
        sample + 1.8 * size + text_width(name, size, look.font)
        for name in names
    ]
    for columns in range(min(len(names), 6), 0, -1):
        cells = [max(wide[place::columns]) for place in range(columns)]
        if sum(cells) <= look.width:
            break
    return columns, cells


def _sample(trace, x, y, length, look):
    mode, line = trace.get("mode", "lines"), trace.get("line", {})
    marker = trace.get("marker", {})
    color = line.get("color") or marker.get("color")
    if "lines" in mode:
        width = line.get("width", 2) * look.unit
        dash = dashes(line.get("dash"), width, look.unit)
        yield Path([(x, y), (x + length, y)], color, width, dash)
    if "markers" in mode:
        symbol, size = marker.get("symbol", "circle"), marker.get("size", 8)
        symbols = [symbol] if isinstance(symbol, str) else symbol
        # A hollow mark says something of its point, not of its method.
        hollow = all(name.endswith("-open") for name in symbols)
        plain = isinstance(color, str)
        yield Mark(
            *(x + length / 2, y, symbols[0].removesuffix("-open")),
            (size if isinstance(size, int | float) else 8) * look.unit,
            color if plain else look.quiet,
            hollow,
            1.4 * look.unit,
        )
