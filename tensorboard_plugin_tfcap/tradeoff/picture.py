"""The trade-off figure as a picture to print."""

import os

from tensorboard_plugin_tfcap.file_writer import write_whole
from tensorboard_plugin_tfcap.tradeoff.plotly_figure import panels_figure
from tensorboard_plugin_tfcap.tradeoff.style import LEGEND


def write_picture(path, panels, title="", known=()):
    """Writes panels as a PNG, SVG or PDF file.

    Args:
        path: String, whose ending tells which.
        panels: List of `Panel`; those of one measure are on one scale.
        title: String. Defaults to `""`.
        known: Titles of methods, whose places give their looks. Defaults to
            none.

    Raises:
        ImportError: If Matplotlib, which writes PDF and PNG, is not installed.

    Example:

    >>> import os, tempfile
    >>> from tensorboard_plugin_tfcap.tradeoff import Panel, write_picture
    >>> path = os.path.join(tempfile.mkdtemp(), "panel.svg")
    >>> write_picture(path, [Panel("", "CIDEr-D", "recall@10", [], "empty")])
    >>> os.path.exists(path)
    True
    """
    # Imported here: what draws imports this package.
    from tensorboard_plugin_tfcap.drawing.drawing import draw
    from tensorboard_plugin_tfcap.drawing.printed import printed
    from tensorboard_plugin_tfcap.drawing.svg import svg_text

    columns = min(len(panels), 3)
    drawing = draw(
        panels_figure(panels, title, known=known),
        *(936.0 if columns == 3 else 446.0 * columns, 10.0),
        note=LEGEND,
        ratio=0.8,
    )
    form = os.path.splitext(path)[1].removeprefix(".")
    if form == "svg":
        data = svg_text(drawing).encode()
    else:
        data = printed(drawing, form, dpi=150)
    write_whole(path, data)
