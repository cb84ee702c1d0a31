"""The trade-off figure as a picture to print, drawn by Matplotlib."""

import textwrap

import numpy as np

from tensorboard_plugin_tfcap.tradeoff.style import LEGEND
from tensorboard_plugin_tfcap.tradeoff.style import styles


def write_picture(path, panels, title="", known=()):
    """Writes panels as a PNG, SVG or PDF file.

    Args:
        path: String, whose ending tells which.
        panels: List of `Panel`; those of one measure are on one scale.
        title: String. Defaults to `""`.
        known: Titles of methods, whose places give their looks. Defaults to
            none.

    Raises:
        ImportError: If Matplotlib is not installed.

    Example:

    >>> import os, tempfile
    >>> from tensorboard_plugin_tfcap.tradeoff import Panel, write_picture
    >>> path = os.path.join(tempfile.mkdtemp(), "panel.svg")
    >>> write_picture(path, [Panel("", "CIDEr-D", "recall@10", [], "empty")])
    >>> os.path.exists(path)
    True
    """
    # Imported here: who trains need not draw. Not its `pyplot`, which holds
    # on to figures and opens windows.
    import matplotlib
    from matplotlib.figure import Figure

    columns, rows = min(len(panels), 3), -(-len(panels) // 3)
    size = (13, 4.1 * rows) if columns == 3 else (6.2 * columns, 5.8)
    figure = Figure(figsize=size, layout="constrained")
    # Panels of one measure are to be compared with each other.
    alike = len({(panel.x, panel.y) for panel in panels}) == 1
    axes = figure.subplots(
        rows, columns, squeeze=False, sharex=alike, sharey=alike
    ).ravel()
    for axis in axes[len(panels) :]:
        axis.set_axis_off()
    handles = {}
    titles = [line.title for panel in panels for line in panel.lines]
    looks = styles(titles, known)
    for axis, panel in zip(axes, panels):
        axis.set_title(panel.title, fontsize=12)
        if not panel.lines:
            axis.set_axis_off()
            _print_note(axis, panel.note, center=True)
            continue
        axis.set_xlabel(panel.x)
        axis.set_ylabel(panel.y)
        axis.grid(color="0.9", linewidth=0.8)
        axis.set_axisbelow(True)
        axis.spines[["top", "right"]].set_visible(False)
        for line in panel.lines:
            handles.setdefault(line.title, _draw(axis, line, looks[line.title]))
        _print_note(axis, panel.note, center=False)
    figure.legend(
        handles.values(),
        handles.keys(),
        loc="outside lower center",
        ncols=min(columns + 1, 4),
        frameon=False,
        handlelength=3.5,
        title=LEGEND,
        title_fontsize=9,
    )
    if title:
        figure.suptitle(title, fontsize=13)
    # The same records make the same file.
    stamp = {"Date": None} if path.endswith(".svg") else {}
    stamp = {"CreationDate": None} if path.endswith(".pdf") else stamp
    with matplotlib.rc_context({"svg.hashsalt": "tfcap"}):
        figure.savefig(path, dpi=150, metadata=stamp)


def _draw(axis, line, look):
    """Draws a line. Returns what stands for it in the legend."""
    color, (marker, _), (dash, _) = look
    for x, y in line.seeds if len(line.seeds) > 1 else ():
        axis.plot(x, y, dash, color=color, linewidth=0.8, alpha=0.35)
    if line.low is not None:
        bars = np.stack([line.y - line.low, line.high - line.y])
        axis.errorbar(line.x, line.y, bars, fmt="none", ecolor=color, capsize=3)
    for whole in (True, False):
        here = line.whole == whole
        axis.plot(
            line.x[here],
            line.y[here],
            marker,
            color=color,
            markerfacecolor=color if whole else "white",
            markersize=6,
        )
    (curve,) = axis.plot(line.x, line.y, dash, color=color, linewidth=2)
    (sign,) = axis.plot(
        [], [], marker=marker, linestyle=dash, color=color, linewidth=2
    )
    curve.set_zorder(1.9)
    return sign


def _print_note(axis, note, center):
    axis.text(
        0.5 if center else 0.02,
        0.5 if center else 0.02,
        "\n".join(textwrap.wrap(note, 44)),
        transform=axis.transAxes,
        ha="center" if center else "left",
        va="center" if center else "bottom",
        fontsize=11 if center else 8,
        color="0.35",
    )
