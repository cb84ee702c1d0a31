"""The trade-off figure: a page to explore, and pictures to print.

Plotly draws the page. Since it prints pictures with the help of a Chrome
browser, which no package brings along, Matplotlib draws the pictures, from the
same panels.
"""

import os

from reproduce.psst_figures.listener_panels import listener_panels
from reproduce.psst_figures.listeners import listeners
from reproduce.psst_figures.methods import TITLES
from reproduce.psst_figures.panels import curve_panels
from tensorboard_plugin_tfcap.tradeoff import LEGEND
from tensorboard_plugin_tfcap.tradeoff import panels_figure
from tensorboard_plugin_tfcap.tradeoff import write_picture

#: Recall by every listener, or the paper's Figure 3.
LAYOUTS = ("listeners", "figure3")


def figure_panels(records: list[dict], layout=None, **options):
    """The panels of a figure.

    Args:
        layout: `"listeners"`, recall by every listener against one measure of
            naturalness; or `"figure3"`, recall by the speaker's own against
            all of them. Defaults to `None`: the first where records have
            recall by a listener that never met the speaker, else the second.

    Raises:
        ValueError: If `layout` is none of these.
    """
    if layout not in (None, *LAYOUTS):
        raise ValueError(
            f"`layout` must be one of {', '.join(LAYOUTS)}, or None. "
            f"Received: layout={layout!r}."
        )
    options = {k: v for k, v in options.items() if v is not None}
    asked = {"naturalness", "decoding"} & options.keys()
    if layout is None:
        several = len(listeners(records)) > 1
        layout = "listeners" if several or asked else "figure3"
    if layout == "figure3":
        if asked:
            raise ValueError(
                f"`{min(asked)}` must come with the layout 'listeners'. "
                "Received: layout='figure3', which has its own."
            )
        return curve_panels(records, **options)
    # Panels (f) alone read recall off at a level.
    options.pop("cider", None)
    return listener_panels(records, **options)


def curve_figure(records: list[dict], title: str = "", **options):
    """Recall against naturalness, to look around in.

    Points tell their lambda and how many seeds they are the mean of; a click
    in the legend hides a method.

    Raises:
        ImportError: If Plotly is not installed.

    Example:

    >>> point = {"method": "psst_multinomial", "rho": 0.25, "seed": 0}
    >>> records = [
    ...     {**point, "lambda": 1e-3, "cider_d": 1.2, "r@10": 86.3},
    ...     {**point, "lambda": 5e-3, "cider_d": 1.1, "r@10": 89.9},
    ... ]
    >>> from reproduce import psst_figures
    >>> figure = psst_figures.curve_figure(records)
    >>> figure.data[-1].name
    'PSST Multinomial'

    Reference:

    - Vered et al., Joint Optimization for Cooperative Image Captioning, ICCV
      2019, Figure 3
    """
    # Imported here: who trains need not draw.
    import plotly.graph_objects as go

    panels = figure_panels(records, **options)
    figure = panels_figure(panels, title, LEGEND, known=TITLES.values())
    return go.Figure(figure)


def write_curve_figure(path, records: list[dict], title: str = "", **options):
    """Writes the figure as a page or a picture.

    Args:
        path: String or path, ending in `.html` for a page that needs nothing
            else, not even a network, or in `.png`, `.svg` or `.pdf`.
        **options: Those of `figure_panels()`: `layout`, `recall`, `rho`;
            `naturalness` and `decoding` for `"listeners"`, `cider` for
            `"figure3"`.

    Raises:
        ImportError: If Plotly for a page, or Matplotlib for a picture, is
            not installed.
        ValueError: If `path` ends otherwise.

    Example:

    >>> import os, tempfile
    >>> point = {"method": "psst_multinomial", "rho": 0.25, "seed": 0}
    >>> records = [{**point, "lambda": 1e-3, "cider_d": 1.2, "r@10": 86.3}]
    >>> path = os.path.join(tempfile.mkdtemp(), "curve.svg")
    >>> from reproduce import psst_figures
    >>> psst_figures.write_curve_figure(path, records)
    >>> os.path.exists(path)
    True
    """
    path = os.fspath(path)
    ending = os.path.splitext(path)[1]
    if ending == ".html":
        figure = curve_figure(records, title, **options)
        figure.write_html(path, include_plotlyjs=True, full_html=True)
    elif ending in (".png", ".svg", ".pdf"):
        panels = figure_panels(records, **options)
        write_picture(path, panels, title, TITLES.values())
    else:
        raise ValueError(
            "`path` must end in .html, .png, .svg or .pdf. Received: "
            f"path={path!r}."
        )
