"""Plotly's figure as a `Drawing`, for any width and font."""

from tensorboard_plugin_tfcap.drawing.color_bar import color_bar
from tensorboard_plugin_tfcap.drawing.items import Drawing
from tensorboard_plugin_tfcap.drawing.items import Layer
from tensorboard_plugin_tfcap.drawing.items import Text
from tensorboard_plugin_tfcap.drawing.legend import legend_layers
from tensorboard_plugin_tfcap.drawing.legend import note_layer
from tensorboard_plugin_tfcap.drawing.legend import title_layer
from tensorboard_plugin_tfcap.drawing.names import name_layers
from tensorboard_plugin_tfcap.drawing.sheet import Look
from tensorboard_plugin_tfcap.drawing.sheet import axis_layer
from tensorboard_plugin_tfcap.drawing.sheet import panel_frames
from tensorboard_plugin_tfcap.drawing.traces import is_shown
from tensorboard_plugin_tfcap.drawing.traces import label_layers
from tensorboard_plugin_tfcap.drawing.traces import shape_layer
from tensorboard_plugin_tfcap.drawing.traces import trace_layers
from tensorboard_plugin_tfcap.tradeoff.name_labels import NAMED
from tensorboard_plugin_tfcap.tradeoff.plotly_text import unmarked
from tensorboard_plugin_tfcap.tradeoff.style import DARK
from tensorboard_plugin_tfcap.tradeoff.style import LIGHT


def draw(figure, width, size=9.0, font="sans-serif", **options) -> Drawing:
    """Places all that a figure shows on a sheet.

    Lines and marks keep their sizes beside the font's, and labels are placed
    anew: what has no room is left out.

    Args:
        figure: Dict of `data` and `layout`, as of `panels_figure()`. Traces
            of type `"scatter"` are drawn.
        width: Float, points of print.
        size: Float, the font's, in points. Defaults to `9.0`.
        font: String, a family. Defaults to `"sans-serif"`.
        **options: `note`, a string below the legend; `titles`, of cards by
            number of a row; `ranges`, pairs by name of an axis, as the layout
            has them; `ratio`, a panel's height by its width; `tallest`, its
            greatest height; `dark`.

    Example:

    >>> from tensorboard_plugin_tfcap.drawing.drawing import draw
    >>> from tensorboard_plugin_tfcap.tradeoff import Panel, panels_figure
    >>> figure = panels_figure([Panel("", "x", "y", [], "There is nothing.")])
    >>> drawing = draw(figure, 237.6)
    >>> [item.text for layer in drawing.layers for item in layer.items]
    ['There is nothing.']
    """
    palette = DARK if options.get("dark") else LIGHT
    shape = {k: options[k] for k in ("ratio", "tallest") if k in options}
    look = Look(
        *(width, size, font, palette.ink, palette.quiet),
        *(palette.grid, palette.paper),
        **shape,
    )
    layout = figure["layout"]
    title, top = title_layer(layout, look)
    panels, height = panel_frames(figure, look, options.get("ranges"), top)
    layers = [title, *(axis_layer(panel, look) for panel in panels)]
    for panel in panels:
        layers += _panel_layers(figure["data"], layout, panel, look, options)
    legend, more = legend_layers(figure["data"], look, height)
    bar, wide = color_bar(figure["data"], look, height + more)
    more += wide
    note, last = note_layer(options.get("note", ""), look, height + more)
    return Drawing(
        *(width, height + more + last + 0.3 * size, look.paper, font),
        [layer for layer in (*layers, *legend, bar, note) if layer.items],
        (layout.get("meta") or {}).get("label", ""),
        options.get("note", ""),
    )


def _panel_layers(data, layout, panel, look, options):
    traces = [
        trace
        for trace in data
        if trace.get("type", "scatter") == "scatter"
        and is_shown(trace)
        and (trace.get("xaxis", "x"), trace.get("yaxis", "y")) == panel.names
    ]
    # What is gray lies under the rest.
    traces.sort(key=lambda trace: trace.get("zorder", 0))
    layers = [
        layer
        for trace in traces
        for layer in trace_layers(
            trace, panel, look, options.get("titles") or ()
        )
    ]
    # Marks lie over the lines of all.
    layers.sort(key=lambda layer: layer.kind == "marks")
    for shape in layout.get("shapes", ()):
        refs = [shape.get(f"{n}ref", n).removesuffix(" domain") for n in "xy"]
        if tuple(refs) == panel.names:
            layer = shape_layer(shape, panel, look)
            layers += [layer] if layer is not None else []
    notes = layout.get("annotations", ())
    layers += name_layers(notes, traces, panel, look)
    drawn = [item for layer in layers for item in layer.items]
    layers += label_layers(traces, panel, look, drawn)
    for note in notes:
        refs = note.get("xref", "paper"), note.get("yref", "paper")
        named = note.get("name", "").startswith(NAMED)
        if refs == panel.names and not named:
            layers.append(_data_note(note, panel, look))
    return layers


def _data_note(note, panel, look):
    """A text at a point of a panel."""
    x, y = panel.x(note["x"]), panel.y(note["y"])
    if x is None or y is None:
        return Layer("label", [])
    x += note.get("xshift", 0) * look.unit
    y -= note.get("yshift", 0) * look.unit
    down = {"top": 0.9, "bottom": -0.2}.get(note.get("yanchor"), 0.34)
    anchor = {"left": "start", "right": "end"}.get(note.get("xanchor"))
    font = note.get("font", {})
    size = 0.85 * look.size
    text = Text(
        *(x, y + down * size, unmarked(note["text"]), size),
        *(font.get("color", look.ink), anchor or "middle"),
        halo=True,
    )
    return Layer("label", [text], note.get("name", ""))
