"""A drawing as PDF or PNG, written by Matplotlib, which embeds its fonts."""

import importlib.util
import io
import threading

from tensorboard_plugin_tfcap.drawing.items import Drawing
from tensorboard_plugin_tfcap.drawing.items import Mark
from tensorboard_plugin_tfcap.drawing.items import Path
from tensorboard_plugin_tfcap.drawing.symbols import outline
from tensorboard_plugin_tfcap.query_error import QueryError

#: How to get what writes them.
LACKING = (
    "PDF and PNG need Matplotlib beside TensorBoard, which is not installed: "
    "pip install 'tfcap[figures]'."
)
#: Matplotlib's settings are those of the whole process.
_LOCK = threading.Lock()
_GENERIC = ("sans-serif", "serif", "monospace")


def can_print() -> bool:
    """Check whether Matplotlib is there, without loading it."""
    return importlib.util.find_spec("matplotlib") is not None


def printed(drawing: Drawing, form: str, dpi: int = 300) -> bytes:
    """Writes a drawing as a file.

    Args:
        form: `"pdf"`, `"png"`, or what else Matplotlib writes.

    Raises:
        ImportError: If Matplotlib is not installed.
        QueryError: If a font is not installed.
    """
    if not can_print():
        raise ImportError(LACKING)
    # Imported here: who looks at a tab need not print. Not its `pyplot`,
    # which holds on to figures and opens windows.
    import matplotlib
    from matplotlib.figure import Figure

    family = _family(drawing.font)
    figure = Figure(figsize=(drawing.width / 72, drawing.height / 72))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, drawing.width)
    axes.set_ylim(drawing.height, 0)
    order = 1
    for layer in drawing.layers:
        for item in layer.items:
            for artist in _artists(item, drawing.paper, family):
                order += 1
                artist.set_zorder(order)
                axes.add_artist(artist)
                _clip(artist, layer.clip, axes)
    about = {"Title": drawing.label}
    # The same records make the same file.
    if form == "pdf":
        about |= {"Subject": drawing.note, "CreationDate": None}
    elif form == "png":
        about |= {"Description": drawing.note}
    file = io.BytesIO()
    # As outlines that journals take, which can be searched, too.
    with _LOCK, matplotlib.rc_context({"pdf.fonttype": 42}):
        figure.savefig(
            file,
            format=form,
            dpi=dpi,
            facecolor=drawing.paper,
            metadata=about if form in ("pdf", "png") else None,
        )
    return file.getvalue()


def _family(font):
    """Families in the order in which letters are looked for."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.font_manager import findfont

    # As a list: a single string would be a pattern.
    wanted = FontProperties(family=[font])
    try:
        findfont(wanted, fallback_to_default=False)
    except ValueError:
        raise QueryError(
            "`font` must be installed where the file is written. Received: "
            f"font={font!r:.60}. Choose sans-serif, serif or monospace, or "
            "save as SVG, whose reader finds the font."
        ) from None
    # Greek and arrows, which not all fonts have.
    return [font, "DejaVu Sans"]


def _artists(item, paper, family):
    if isinstance(item, Path):
        yield _path(item)
    elif isinstance(item, Mark):
        yield _mark(item, paper)
    else:
        yield _text(item, paper, family)


def _path(path):
    from matplotlib.lines import Line2D
    from matplotlib.patches import Polygon

    if path.fill:
        return Polygon(
            path.points, color=path.fill, alpha=path.opacity, linewidth=0
        )
    x, y = zip(*path.points)
    style = "-"
    if path.dash:
        # Matplotlib counts strokes in widths of their line.
        style = (0, tuple(part / path.width for part in path.dash))
    return Line2D(
        *(x, y),
        color=path.color,
        linewidth=path.width,
        linestyle=style,
        alpha=path.opacity,
        solid_capstyle="butt",
        solid_joinstyle="round",
    )


def _mark(mark, paper):
    from matplotlib.patches import Ellipse
    from matplotlib.patches import Polygon

    look = {
        "facecolor": paper if mark.hollow else mark.color,
        "edgecolor": mark.color,
        "linewidth": mark.width if mark.hollow else 0,
        "alpha": mark.opacity,
    }
    corners = outline(mark.symbol)
    if corners is None:
        return Ellipse((mark.x, mark.y), mark.size, mark.size, **look)
    points = [
        (mark.x + x * mark.size, mark.y + y * mark.size) for x, y in corners
    ]
    return Polygon(points, **look)


def _text(text, paper, family):
    from matplotlib.patheffects import withStroke
    from matplotlib.text import Text

    sides = {"start": "left", "middle": "center", "end": "right"}
    artist = Text(
        *(text.x, text.y, text.text),
        fontsize=text.size,
        color=text.color,
        horizontalalignment=sides[text.anchor],
        verticalalignment="baseline",
        rotation=90 if text.turned else 0,
        rotation_mode="anchor",
        fontfamily=family,
        fontweight="bold" if text.bold else "normal",
        # A method's name is no formula.
        parse_math=False,
    )
    if text.halo:
        stroke = withStroke(linewidth=0.25 * text.size, foreground=paper)
        artist.set_path_effects([stroke])
    return artist


def _clip(artist, box, axes):
    from matplotlib.patches import Rectangle

    if box is None:
        artist.set_clip_on(False)
        return
    left, top, width, height = box
    frame = Rectangle((left, top), width, height, transform=axes.transData)
    artist.set_clip_path(frame)
