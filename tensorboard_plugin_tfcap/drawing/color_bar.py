"""The bar that tells which number a color is."""

from tensorboard_plugin_tfcap.drawing.items import Layer
from tensorboard_plugin_tfcap.drawing.items import Path
from tensorboard_plugin_tfcap.drawing.items import Text
from tensorboard_plugin_tfcap.drawing.text_size import text_width
from tensorboard_plugin_tfcap.tradeoff.colors import between
from tensorboard_plugin_tfcap.tradeoff.plotly_text import unmarked

#: Pieces of the bar, each of one color.
_PIECES = 48


def color_bar(data, look, top):
    """Draws the color bar of a figure, if it has one.

    Args:
        data: List of traces, of which one may have a `colorbar`.
        look: `Look`.
        top: Float, where there is room for it.

    Returns:
        `Layer`, and the height that it takes.
    """
    markers = [trace.get("marker", {}) for trace in data]
    marker = next((m for m in markers if m.get("showscale")), None)
    if marker is None:
        return Layer("bar", []), 0.0
    bar, size = marker["colorbar"], 0.85 * look.size
    title = unmarked(bar["title"]["text"])
    left = text_width(title, size, look.font) + size
    width = min(0.6 * look.width, look.width - left - 3 * size)
    upper, lower = top + 0.5 * size, top + 1.3 * size
    items = [Text(0.0, lower, title, size, look.ink)]
    stops = [color for _, color in marker["colorscale"]]
    step = width / _PIECES
    for piece in range(_PIECES):
        begin = left + piece * step
        # A little over the next one: no seam is seen.
        end = min(begin + 1.5 * step, left + width)
        box = [(begin, upper), (end, upper), (end, lower), (begin, lower)]
        color = between(stops, (piece + 0.5) / _PIECES)
        items.append(Path(box, None, 0, fill=color))
    span, free = (marker["cmax"] - marker["cmin"]) or 1.0, -1.0
    for value, text in zip(bar["tickvals"], bar["ticktext"]):
        middle = left + (value - marker["cmin"]) / span * width
        half = text_width(text, size, look.font) / 2
        if middle - half > free:
            at = lower + 1.1 * size
            items.append(Text(middle, at, text, size, look.ink, "middle"))
            free = middle + half + 0.4 * size
    return Layer("bar", items), 2.9 * size
