"""The trade-off figure: a page to explore, and pictures to print.

Plotly draws the page. Since it prints pictures with the help of a Chrome
browser, which no package brings along, Matplotlib draws the pictures, from the
same panels.
"""

import os

from tensorboard_plugin_tfcap.tradeoff.panels import curve_panels
from tensorboard_plugin_tfcap.tradeoff.picture import write_picture
from tensorboard_plugin_tfcap.tradeoff.plotly_figure import panels_figure
from tensorboard_plugin_tfcap.tradeoff.style import LEGEND


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
    import plotly.graph_objects as go

    panels = curve_panels(records, **options)
    return go.Figure(panels_figure(panels, title, LEGEND))


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
