"""The trade-off figure: a page to explore, and pictures to print.

Plotly draws the page. Since it prints pictures with the help of a Chrome
browser, which no package brings along, Matplotlib draws the pictures, from the
same panels.
"""

import os
import textwrap

from tensorboard_plugin_tfcap.tradeoff.panels import curve_panels
from tensorboard_plugin_tfcap.tradeoff.picture import write_picture
from tensorboard_plugin_tfcap.tradeoff.style import LEGEND
from tensorboard_plugin_tfcap.tradeoff.style import style


def curve_figure(records, title="", **options):
    """The paper's Figure 3, to look around in.

    Points tell their lambda and how many seeds they are the mean of; a click
    in the legend hides a method.

    Args:
        records: List of dicts, as of `tfcap.training.load_records()`.
        title: String, such as what it was found on. Defaults to `""`.
        **options: `recall`, `rho` and `cider`, as in `curve_panels()`.

    Returns:
        `plotly.graph_objects.Figure`.

    Raises:
        ImportError: If Plotly is not installed.

    Example:

    >>> point = {"method": "psst_multinomial", "rho": 0.25, "seed": 0}
    >>> records = [
    ...     {**point, "lambda": 1e-3, "cider_d": 1.2, "r@10": 86.3},
    ...     {**point, "lambda": 5e-3, "cider_d": 1.1, "r@10": 89.9},
    ... ]
    >>> from tfcap.recipes import captioning
    >>> figure = captioning.curve_figure(records)
    >>> figure.data[-1].name
    'PSST Multinomial'

    Reference:

    - Vered et al., Joint Optimization for Cooperative Image Captioning, ICCV
      2019, Figure 3
    """
    # Imported here: who trains need not draw.
    from plotly.subplots import make_subplots

    panels = curve_panels(records, **options)
    figure = make_subplots(
        rows=2,
        cols=3,
        subplot_titles=[panel.title for panel in panels],
        horizontal_spacing=0.07,
        vertical_spacing=0.16,
    )
    shown = set()
    for place, panel in enumerate(panels):
        where = {"row": place // 3 + 1, "col": place % 3 + 1}
        for line in panel.lines:
            for trace in _traces(line, legend=line.title not in shown):
                figure.add_trace(trace, **where)
            shown.add(line.title)
        figure.update_xaxes(title_text=panel.x, **where)
        figure.update_yaxes(title_text=panel.y, **where)
        _note(figure, panel, place, where)
    figure.update_layout(
        template="plotly_white",
        title_text=title or None,
        legend={
            "orientation": "h",
            "y": -0.12,
            "title": {"text": LEGEND, "side": "top"},
        },
        hovermode="closest",
        height=820,
        margin={"t": 90 if title else 50},
    )
    return figure


def write_curve_figure(path, records, title="", **options):
    """Writes the figure as a page or a picture.

    Args:
        path: String or path, ending in `.html` for a page that needs nothing
            else, not even a network, or in `.png`, `.svg` or `.pdf`.
        records: List of dicts, as of `tfcap.training.load_records()`.
        title: String, such as what it was found on. Defaults to `""`.
        **options: `recall`, `rho` and `cider`, as in `curve_panels()`.

    Raises:
        ImportError: If Plotly, or Matplotlib for a picture, is not installed.
        ValueError: If `path` ends otherwise.

    Example:

    >>> import os, tempfile
    >>> point = {"method": "psst_multinomial", "rho": 0.25, "seed": 0}
    >>> records = [{**point, "lambda": 1e-3, "cider_d": 1.2, "r@10": 86.3}]
    >>> path = os.path.join(tempfile.mkdtemp(), "curve.svg")
    >>> from tfcap.recipes import captioning
    >>> captioning.write_curve_figure(path, records)
    >>> os.path.exists(path)
    True
    """
    path = os.fspath(path)
    ending = os.path.splitext(path)[1]
    if ending == ".html":
        figure = curve_figure(records, title, **options)
        figure.write_html(path, include_plotlyjs=True, full_html=True)
    elif ending in (".png", ".svg", ".pdf"):
        write_picture(path, curve_panels(records, **options), title)
    else:
        raise ValueError(
            "`path` must end in .html, .png, .svg or .pdf. Received: "
            f"path={path!r}."
        )


def _traces(line, legend):
    import plotly.graph_objects as go

    color, (_, marker), (_, dash) = style(line.title)
    for x, y in line.seeds if len(line.seeds) > 1 else ():
        yield go.Scatter(
            x=x,
            y=y,
            mode="lines",
            line={"color": color, "width": 1, "dash": dash},
            opacity=0.3,
            legendgroup=line.title,
            showlegend=False,
            hoverinfo="skip",
        )
    symbols = [marker if whole else f"{marker}-open" for whole in line.whole]
    bars = None
    if line.low is not None:
        bars = {"array": line.high - line.y, "arrayminus": line.y - line.low}
    yield go.Scatter(
        x=line.x,
        y=line.y,
        error_y=bars,
        mode="lines+markers",
        name=line.title,
        legendgroup=line.title,
        showlegend=legend,
        line={"color": color, "width": 2, "dash": dash},
        marker={"symbol": symbols, "size": 8},
        text=line.labels,
        hovertemplate="%{text}<br>%{x:.4g}, %{y:.2f}<extra>%{fullData.name}"
        "</extra>",
    )


def _note(figure, panel, place, where):
    """Says in a panel what is absent from it."""
    if not panel.note:
        return
    axis = "" if place == 0 else place + 1
    # Of the paper: an axis without a line in it has no place of its own.
    left, right = figure.layout[f"xaxis{axis}"].domain
    bottom, top = figure.layout[f"yaxis{axis}"].domain
    empty = not panel.lines
    figure.add_annotation(
        text="<br>".join(textwrap.wrap(panel.note, 44)),
        xref="paper",
        yref="paper",
        x=(left + right) / 2 if empty else left,
        y=(bottom + top) / 2 if empty else bottom,
        align="center" if empty else "left",
        xanchor="center" if empty else "left",
        yanchor="middle" if empty else "bottom",
        showarrow=False,
    )
    if empty:
        # An empty frame would look like a measurement.
        figure.update_xaxes(visible=False, **where)
        figure.update_yaxes(visible=False, **where)
