"""A drawing as SVG."""

import re
from html import escape

from tensorboard_plugin_tfcap.drawing.items import Drawing
from tensorboard_plugin_tfcap.drawing.items import Mark
from tensorboard_plugin_tfcap.drawing.items import Path
from tensorboard_plugin_tfcap.drawing.symbols import outline


def svg_text(drawing: Drawing, colors=None) -> str:
    """Writes a drawing as SVG.

    Args:
        colors: Collection of strings, for a part of a page: colors that are
            variables of CSS, see `variable()`; groups name their method, as
            `data-m`. Defaults to `None`: a file of the drawing's own size.

    Example:

    >>> from tensorboard_plugin_tfcap.drawing.items import Drawing
    >>> from tensorboard_plugin_tfcap.drawing.svg import svg_text
    >>> text = svg_text(Drawing(72.0, 36.0, "#fff", "serif", label="a < b"))
    >>> 'width="1in"' in text, "<title>a &lt; b</title>" in text
    (True, True)
    """
    inline = colors is not None

    def paint(color):
        known = inline and color in colors
        return f"var({variable(color)})" if known else escape(color, True)

    width, height = drawing.width, drawing.height
    head = f'viewBox="0 0 {_n(width)} {_n(height)}"'
    label, about = escape(drawing.label, True), ""
    if inline:
        # A title of the whole would be a card over it.
        head += f' role="group" aria-label="{label}"'
    else:
        head = (
            f'xmlns="http://www.w3.org/2000/svg" width="{width / 72:.4g}in" '
            f'height="{height / 72:.4g}in" {head} '
            f'font-family="{_font(drawing)}"'
        )
        note = escape(drawing.note)
        about = f"<title>{label}</title><desc>{note}</desc>"
    parts = [f"<svg {head}>{about}"]
    paper = paint(drawing.paper)
    parts.append(f'<rect width="100%" height="100%" fill="{paper}"/>')
    for layer in drawing.layers:
        parts.append(_layer(layer, paint, drawing.paper, inline))
    return "\n".join([*parts, "</svg>"]) + "\n"


def variable(color: str) -> str:
    """Name of the CSS variable that holds a color of an inline drawing."""
    return "--tf" + re.sub(r"\W", "", color)


def _font(drawing):
    generic = ("serif", "sans-serif", "monospace")
    if drawing.font in generic:
        return drawing.font
    return f"'{escape(drawing.font, True)}', sans-serif"


def _layer(layer, paint, paper, inline):
    body = "".join(_item(item, paint, paper) for item in layer.items)
    if layer.clip is not None:
        # A picture within the picture: what leaves it is not seen.
        left, top, width, height = map(_n, layer.clip)
        body = (
            f'<svg x="{left}" y="{top}" width="{width}" height="{height}" '
            f'viewBox="{left} {top} {width} {height}">{body}</svg>'
        )
    about = f' class="{layer.kind}"'
    if inline and layer.group:
        about += f' data-m="{escape(layer.group, True)}"'
        if layer.kind == "legend":
            about += ' tabindex="0" role="button" aria-pressed="true"'
    return f"<g{about}>{body}</g>"


def _item(item, paint, paper):
    if isinstance(item, Path):
        return _path(item, paint)
    if isinstance(item, Mark):
        return _mark(item, paint, paper)
    return _text(item, paint, paper)


def _path(path, paint):
    points = " ".join(f"{_n(x)} {_n(y)}" for x, y in path.points)
    look = f'fill="{paint(path.fill) if path.fill else "none"}"'
    if path.color:
        look += f' stroke="{paint(path.color)}" stroke-width="{_n(path.width)}"'
        look += ' stroke-linejoin="round"'
    if path.dash:
        look += f' stroke-dasharray="{" ".join(map(_n, path.dash))}"'
    close = "Z" if path.fill else ""
    return f'<path d="M{points}{close}" {look}{_opacity(path)}/>'


def _mark(mark, paint, paper):
    color = paint(mark.color)
    look = f'fill="{paint(paper) if mark.hollow else color}" stroke="{color}"'
    look += f' stroke-width="{_n(mark.width if mark.hollow else 0)}"'
    look += _opacity(mark)
    corners = outline(mark.symbol)
    if corners is None:
        place = f'cx="{_n(mark.x)}" cy="{_n(mark.y)}" r="{_n(mark.size / 2)}"'
        shape, end = f"<circle {place} {look}", "circle"
    else:
        points = " ".join(
            f"{_n(mark.x + x * mark.size)} {_n(mark.y + y * mark.size)}"
            for x, y in corners
        )
        shape, end = f'<path d="M{points}Z" {look}', "path"
    if not mark.title:
        return f"{shape}/>"
    return f"{shape}><title>{escape(mark.title)}</title></{end}>"


def _text(text, paint, paper):
    x, y = _n(text.x), _n(text.y)
    look = f'x="{x}" y="{y}" font-size="{_n(text.size)}"'
    if text.anchor != "start":
        look += f' text-anchor="{text.anchor}"'
    if text.bold:
        look += ' font-weight="600"'
    if text.turned:
        look += f' transform="rotate(-90 {x} {y})"'
    words = escape(text.text, False)
    color = paint(text.color)
    halo = ""
    if text.halo:
        # Twice, since not all programs paint a stroke behind its letters.
        width = f'stroke-width="{_n(0.25 * text.size)}"'
        halo = (
            f'<text {look} fill="none" stroke="{paint(paper)}" {width} '
            f'stroke-linejoin="round" aria-hidden="true">{words}</text>'
        )
    return f'{halo}<text {look} fill="{color}">{words}</text>'


def _opacity(item):
    return f' opacity="{_n(item.opacity)}"' if item.opacity != 1 else ""


def _n(value):
    """A number as fine as a printer is, without noughts."""
    digits = 1 if abs(value) >= 100 else 2
    return f"{value:.{digits}f}".rstrip("0").rstrip(".")
