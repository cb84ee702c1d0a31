"""The trade-off figure as a file for print, drawn by Matplotlib."""

import io
import math
import os
import textwrap
import threading

import numpy as np

from tensorboard_plugin_tfcap.file_writer import write_whole
from tensorboard_plugin_tfcap.query_error import QueryError
from tensorboard_plugin_tfcap.tradeoff.name_labels import NAMED
from tensorboard_plugin_tfcap.tradeoff.name_labels import cut
from tensorboard_plugin_tfcap.tradeoff.name_labels import name_places
from tensorboard_plugin_tfcap.tradeoff.plotly_figure import panels_figure
from tensorboard_plugin_tfcap.tradeoff.plotly_text import unmarked
from tensorboard_plugin_tfcap.tradeoff.style import DASHES
from tensorboard_plugin_tfcap.tradeoff.style import LEGEND
from tensorboard_plugin_tfcap.tradeoff.style import LIGHT
from tensorboard_plugin_tfcap.tradeoff.style import MARKERS
from tensorboard_plugin_tfcap.tradeoff.traces import GAP
from tensorboard_plugin_tfcap.tradeoff.traces import HEIGHT
from tensorboard_plugin_tfcap.tradeoff.traces import SIDES
from tensorboard_plugin_tfcap.tradeoff.traces import label_box
from tensorboard_plugin_tfcap.tradeoff.traces import label_places

_LACKING = (
    "Files for print need Matplotlib, which is not installed beside "
    "TensorBoard. Run: pip install 'tfcap[figures]'"
)
#: Matplotlib's settings are global to the process.
_LOCK = threading.Lock()
_MARKERS = {plotly: marker for marker, plotly in MARKERS}
_DASHES = {plotly: dash for dash, plotly in DASHES}
_STEPS = {"hv": "steps-post", "vh": "steps-pre"}
#: Distance in pixels beyond which a name has a line to its mark.
_FAR = 15.0
#: Background of texts over lines.
_HALO = {
    "boxstyle": "square,pad=0.05",
    "facecolor": LIGHT.paper,
    "edgecolor": "none",
    "alpha": 0.75,
}


def print_figure(
    figure, form, width, size=9.0, font="sans-serif", **options
) -> bytes:
    """Writes a figure as PNG, SVG or PDF, on white paper.

    Lines and marks scale with the font, and labels are placed anew; those
    without room are left out.

    Args:
        figure: Dict of `data` and `layout`, as of `panels_figure()`.
        form: `"png"`, `"svg"` or `"pdf"`.
        width: Float, points of print.
        size: Float, the font's, in points. Defaults to `9.0`.
        font: String, a family. Defaults to `"sans-serif"`.
        **options: `note`, a string below the legend; `about`, a string for
            the file's properties; `ranges`, pairs by name of an
            axis, as the layout has them; `ratio`, a panel's height by its
            width; `dpi`, of PNG.

    Raises:
        ImportError: If Matplotlib is not installed.
        QueryError: If a font is not installed.
    """
    # Imported here, since the tab need not print. Not `pyplot`, which keeps
    # figures and opens windows.
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError(_LACKING) from error
    _check_font(font)
    about = {"Title": figure["layout"].get("meta", {}).get("label", "")}
    said = "Subject" if form == "pdf" else "Description"
    about[said] = options.get("about", "")
    if form != "png":
        # The same records make the same file.
        about["CreationDate" if form == "pdf" else "Date"] = None
    file = io.BytesIO()
    with _LOCK, matplotlib.rc_context(_settings(size, font)):
        sheet = draw_sheet(
            figure,
            *(width, size, options.get("note", ""), options.get("ranges")),
            options.get("ratio", 0.75),
        )
        dpi = options.get("dpi", 300)
        sheet.savefig(file, format=form, dpi=dpi, metadata=about)
    return file.getvalue()


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
    columns = min(len(panels), 3)
    figure = panels_figure(panels, title, known=known)
    form = os.path.splitext(path)[1].removeprefix(".")
    width = 936.0 if columns == 3 else 446.0 * columns
    data = print_figure(
        figure, form, width, 10.0, note=LEGEND, ratio=0.9, dpi=150
    )
    write_whole(path, data)


def draw_sheet(figure, width, size, note="", ranges=None, ratio=0.75):
    """Draws a figure of Plotly by Matplotlib, with its current settings.

    Returns:
        `matplotlib.figure.Figure`, 72 dots an inch: a dot is a point.
    """
    from matplotlib.figure import Figure

    layout, unit = figure["layout"], size / 13
    numbers = [name[5:] for name in layout if name.startswith("xaxis")]
    columns = min(len(numbers), 3, max(1, int(width // (17 * size))))
    rows = -(-len(numbers) // columns)
    sheet = Figure((width / 72, 1), 72, layout="constrained")
    panels = {}
    for place, number in enumerate(numbers, 1):
        same = panels.get("" if "matches" in layout[f"xaxis{number}"] else None)
        panel = sheet.add_subplot(
            rows, columns, place, sharex=same, sharey=same
        )
        panels[number] = panel
        letters = [width / columns, ratio * width / columns]
        letters = [int(1.6 * length / size) for length in letters]
        _draw_axes(panel, layout, number, letters, ranges or {})
        for trace in _traces(figure, number):
            _draw_trace(panel, trace, unit)
        for shape in layout.get("shapes", ()):
            _draw_level(panel, shape, unit)
    title = unmarked((layout.get("title") or {}).get("text", ""))
    if title:
        sheet.suptitle(title, wrap=True)
    _draw_below(sheet, figure["data"], note, size, rows / columns * ratio)
    for number, panel in panels.items():
        _draw_labels(panel, figure, number, unit)
    return sheet


def _check_font(font):
    from matplotlib.font_manager import FontProperties
    from matplotlib.font_manager import findfont

    try:
        # As a list: a single string would be a pattern.
        findfont(FontProperties(family=[font]), fallback_to_default=False)
    except ValueError:
        raise QueryError(
            "`font` must be installed where the file is written. Received: "
            f"font={font!r:.60}. Choose sans-serif, serif or monospace."
        ) from None


def _settings(size, font):
    """Settings of Matplotlib, with the tab's colors."""
    colors = ("text.color", "axes.labelcolor", "xtick.color", "ytick.color")
    return {
        **dict.fromkeys(colors, LIGHT.ink),
        "font.size": size,
        # For Greek and arrows, which some fonts lack.
        "font.family": [font, "DejaVu Sans"],
        # A method's name is not a formula.
        "text.parse_math": False,
        "xtick.labelsize": 0.9 * size,
        "ytick.labelsize": 0.9 * size,
        "legend.fontsize": 0.92 * size,
        "legend.frameon": False,
        "axes.titleweight": "bold",
        "axes.titlesize": 1.05 * size,
        "axes.edgecolor": LIGHT.quiet,
        "axes.linewidth": size / 13,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": LIGHT.grid,
        "grid.linewidth": size / 13,
        # Text that can be searched, as journals require.
        "pdf.fonttype": 42,
        "svg.fonttype": "none",
        "svg.hashsalt": "tfcap",
    }


def _draw_axes(panel, layout, number, letters, ranges):
    """Titles, scales and notes; `letters`, how many fit across and up."""
    axes = [layout[f"{name}axis{number}"] for name in "xy"]
    for name, axis, most in zip("xy", axes, letters):
        text = unmarked(axis.get("title", {}).get("text", ""))
        panel.set(**{f"{name}label": textwrap.fill(text, max(most, 9))})
        log = axis.get("type") == "log"
        if not log:
            most = min(max(most // {"x": 9, "y": 4}[name], 2), 9)
            panel.locator_params(name, nbins=most)
        else:
            panel.set(**{f"{name}scale": "log"})
            one = getattr(panel, f"{name}axis")
            one.set_major_formatter("{x:g}")
            one.set_minor_formatter("")
        ends = ranges.get(f"{name}axis{number}") or axis.get("range")
        if ends:
            ends = [10.0**end for end in ends] if log else ends
            panel.set(**{f"{name}lim": ends})
            if log and ends[1] < 10 * ends[0]:
                one.set_minor_formatter("{x:g}")
    empty = axes[0].get("visible") is False
    if empty:
        panel.set_axis_off()
    for note in layout.get("annotations", ()):
        if note.get("xref") != "paper" or not _is_over(note, axes):
            continue
        text = textwrap.fill(unmarked(note["text"]), max(letters[0] - 6, 9))
        if note.get("name") == "title":
            panel.set_title(text)
        else:
            place, side = (0.5, "center") if empty else (0.02, "left")
            panel.text(
                *(place, place, text),
                transform=panel.transAxes,
                color=LIGHT.quiet,
                ha=side,
                va="center" if empty else "bottom",
            )


def _is_over(note, axes):
    spans = [axis.get("domain", (0, 1)) for axis in axes]
    return all(
        low - 1e-6 <= note[name] <= high + 1e-6
        for name, (low, high) in zip("xy", spans)
    )


def _traces(figure, number):
    """Traces of a panel that are shown."""
    return [
        trace
        for trace in figure["data"]
        if trace.get("visible", True) is True
        and trace.get("xaxis", "x") == f"x{number}"
    ]


def _draw_trace(panel, trace, unit):
    mode, line = trace.get("mode", "lines"), trace.get("line", {})
    color, alpha = line.get("color"), trace.get("opacity", 1.0)
    x, y = (np.array(trace[name], "float64") for name in "xy")
    # Gray lies below the rest, and marks above all lines.
    above = trace.get("zorder", 0)
    if trace.get("fill"):
        panel.fill(x, y, color=trace["fillcolor"], alpha=alpha, linewidth=0)
    if "lines" in mode and line.get("width", 2):
        panel.plot(
            *(x, y),
            color=color,
            alpha=alpha,
            linewidth=line.get("width", 2) * unit,
            linestyle=_DASHES[line.get("dash", "solid")],
            drawstyle=_STEPS.get(line.get("shape"), "default"),
            zorder=2 + 0.1 * above,
        )
    for name in ("error_x", "error_y"):
        if name in trace:
            _draw_bars(panel, x, y, name, trace[name], unit)
    if "markers" in mode and trace["meta"]["kind"] != "label":
        _draw_marks(panel, x, y, trace["marker"], color, unit, 3 + 0.1 * above)


def _draw_bars(panel, x, y, name, bars, unit):
    ends = np.array([bars["arrayminus"], bars["array"]], "float64")
    panel.errorbar(
        *(x, y),
        **{f"{name[-1]}err": ends},
        fmt="none",
        ecolor=bars["color"],
        elinewidth=bars["thickness"] * unit,
        capsize=bars["width"] * unit,
    )


def _draw_marks(panel, x, y, marker, color, unit, zorder):
    """Marks; hollow ones are filled with the color of the paper."""
    colors = marker.get("color", color)
    colors = [colors] * len(x) if isinstance(colors, str) else colors
    symbols = marker.get("symbol", "circle")
    symbols = [symbols] * len(x) if isinstance(symbols, str) else symbols
    for symbol in dict.fromkeys(symbols):
        here = [i for i, one in enumerate(symbols) if one == symbol]
        hollow = symbol.endswith("-open")
        edges = [colors[i] for i in here]
        panel.scatter(
            *(x[here], y[here]),
            s=(marker["size"] * unit) ** 2,
            marker=_MARKERS[symbol.removesuffix("-open")],
            facecolors=LIGHT.paper if hollow else edges,
            edgecolors=edges,
            linewidths=1.4 * unit if hollow else 0,
            zorder=zorder,
        )


def _draw_level(panel, shape, unit):
    """The line at a fixed value, with the value."""
    line, along = shape["line"], "x" if "domain" in shape["yref"] else "y"
    value = shape[f"{along}0"]
    draw = panel.axvline if along == "x" else panel.axhline
    width, dash = line["width"] * unit, _DASHES[line["dash"]]
    draw(value, color=line["color"], linewidth=width, linestyle=dash)
    if along == "x":
        at, scale = (value, 1), panel.get_xaxis_transform()
        way, sides = (4 * unit, -4 * unit), ("left", "top")
    else:
        at, scale = (1, value), panel.get_yaxis_transform()
        way, sides = (-4 * unit, 4 * unit), ("right", "bottom")
    panel.annotate(
        *(f"{value:.4g}", at, way, scale, "offset points"),
        ha=sides[0],
        va=sides[1],
        bbox=_HALO,
        annotation_clip=True,
    )


def _draw_below(sheet, data, note, size, ratio):
    """The legend and the note; fits the height of the sheet."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    width = 72 * sheet.get_figwidth()
    renderer = FigureCanvasAgg(sheet).get_renderer()
    said = sheet.text(
        *(0.0, 0.0, note),
        fontsize=0.85 * size,
        color=LIGHT.quiet,
        va="bottom",
        wrap=True,
    )
    below = said.get_window_extent(renderer).height if note else 0.0
    below += 0.4 * size
    legend, high = _legend(sheet, data, width, size), 0.0
    if legend is not None:
        high = legend.get_window_extent(renderer).height
    height = ratio * width + high + below
    sheet.set_figheight(height / 72)
    if legend is not None:
        legend.set_bbox_to_anchor((0.5, below / height))
    begin = (below + high) / height
    sheet.get_layout_engine().set(rect=(0, begin, 1, 1 - begin))
    sheet.draw_without_rendering()
    sheet.set_layout_engine("none")


def _legend(sheet, data, width, size):
    from matplotlib.lines import Line2D

    traces = {}
    for trace in data:
        named = trace.get("name") and trace.get("showlegend", True)
        if named and trace.get("visible", True) is True:
            traces.setdefault(trace.get("legendgroup", trace["name"]), trace)
    if not traces:
        return None
    letter = 0.52 * 0.92 * size
    most = max(int((width - 5 * size) / letter), 4)
    names = [unmarked(trace["name"]) for trace in traces.values()]
    names = [n if len(n) <= most else f"{n[: most - 1]}\u2026" for n in names]
    # Matplotlib ignores names that begin with an underscore: set below.
    handles = [
        Line2D([], [], label="-", **_sample(trace, size / 13))
        for trace in traces.values()
    ]
    wide = max(map(len, names)) * letter + 4.6 * size
    legend = sheet.legend(
        handles=handles,
        loc="lower center",
        ncols=max(1, min(int(width / wide), 6, len(names))),
        handlelength=2.5,
        columnspacing=1.5,
    )
    for text, name in zip(legend.get_texts(), names):
        text.set_text(name)
    return legend


def _sample(trace, unit):
    """Style of a method in the legend."""
    mode, line = trace.get("mode", "lines"), trace.get("line", {})
    marker, look = trace.get("marker", {}), {"linestyle": "none"}
    color = line.get("color") or marker.get("color")
    color = color if isinstance(color, str) else LIGHT.quiet
    if "lines" in mode:
        look["linestyle"] = _DASHES[line.get("dash", "solid")]
    if "markers" in mode:
        symbols = marker.get("symbol", "circle")
        symbols = [symbols] if isinstance(symbols, str) else symbols
        # A hollow mark concerns its point, not its method.
        hollow = all(name.endswith("-open") for name in symbols)
        look["marker"] = _MARKERS[symbols[0].removesuffix("-open")]
        look["markersize"] = marker["size"] * unit
        look["markerfacecolor"] = LIGHT.paper if hollow else color
        look["markeredgewidth"] = 1.4 * unit if hollow else 0
    return {**look, "color": color, "linewidth": line.get("width", 2) * unit}


def _draw_labels(panel, figure, number, unit):
    """Names of points and of methods, without overlaps."""
    traces = _traces(figure, number)
    labels = [t for t in traces if t["meta"]["kind"] == "label"]
    points = [
        (x, y, unmarked(text), trace["textfont"]["color"])
        for trace in labels
        for x, y, text in zip(trace["x"], trace["y"], trace["text"])
    ]
    usual = {
        "textcoords": "offset points",
        "annotation_clip": True,
        "bbox": _HALO,
        "zorder": 5,
    }
    taken = []
    places = _pixels(panel, [point[:2] for point in points], unit)
    texts = [text for _, _, text, _ in points]
    room = panel.bbox.width / unit, panel.bbox.height / unit
    sides = label_places(*places.T, texts, room[0])
    for place, side, point in zip(places, sides, points):
        if side is None:
            continue
        x, y, text, color = point
        right, up = SIDES[side]
        taken.append(np.concatenate(label_box(*place, text, right, up)))
        panel.annotate(
            *(text, (x, y)),
            xytext=(right * GAP / 2 * unit, up * (HEIGHT + GAP) / 2 * unit),
            ha={1: "left", 0: "center", -1: "right"}[right],
            va="center",
            color=color,
            fontsize=11 * unit,
            **usual,
        )
    curves = [t for t in traces if t["meta"]["kind"] == "curve"]
    wanted = {
        note["name"].removeprefix(NAMED): note["font"]["color"]
        for note in figure["layout"].get("annotations", ())
        if note.get("name", "").startswith(NAMED)
    }
    if not wanted:
        return
    titles = [trace["legendgroup"] for trace in curves]
    titles = [title if title in wanted else "" for title in titles]
    paths = [_pixels(panel, zip(t["x"], t["y"]), unit) for t in curves]
    found = name_places(paths, titles, room, taken)
    for trace, title, path, one in zip(curves, titles, paths, found):
        if one is None:
            continue
        mark, box = one
        away = np.add(box[:2], box[2:]) / 2 - path[mark]
        color, line = wanted[title], None
        gap = np.clip(path[mark], box[:2], box[2:]) - path[mark]
        if math.hypot(*gap) > _FAR:
            line = {"arrowstyle": "-", "color": color, "linewidth": 0.8 * unit}
        panel.annotate(
            *(cut(title), (trace["x"][mark], trace["y"][mark])),
            xytext=away * unit,
            ha="center",
            va="center",
            color=color,
            fontsize=12 * unit,
            arrowprops=line,
            **usual,
        )


def _pixels(panel, points, unit):
    """Positions in a panel from the lower left, in pixels of the tab."""
    points = np.array(list(points), "float64").reshape(-1, 2)
    return (panel.transData.transform(points) - panel.bbox.p0) / unit
