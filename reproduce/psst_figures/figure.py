"""Figure 3: its panels, a page to explore by Plotly, pictures by Matplotlib."""

import os
from dataclasses import replace

from reproduce.psst_figures.methods import HUMAN
from reproduce.psst_figures.methods import TITLES
from reproduce.psst_figures.methods import by_method
from reproduce.psst_figures.methods import curves_of
from reproduce.psst_figures.methods import listener_title
from reproduce.psst_figures.methods import listeners
from reproduce.psst_figures.methods import place_of
from reproduce.psst_figures.methods import rho_curves
from tensorboard_plugin_tfcap.tradeoff import LEGEND
from tensorboard_plugin_tfcap.tradeoff import NATURALNESS
from tensorboard_plugin_tfcap.tradeoff import Panel
from tensorboard_plugin_tfcap.tradeoff import named_metric
from tensorboard_plugin_tfcap.tradeoff import panels_figure
from tensorboard_plugin_tfcap.tradeoff import parameter_panel
from tensorboard_plugin_tfcap.tradeoff import write_picture
from tfcap.curves import mean_line

#: Panels of the paper's figure, and the measure of naturalness of each.
LETTERS = dict(zip(NATURALNESS, zip("abcde", NATURALNESS.values())))
RECALL = "r@10"
#: Most methods without a measure that are named in a panel.
_NAMED = 3


def curve_panels(records: list[dict], rho: float = 0.25, cider=None):
    """The panels of the paper's Figure 3.

    (a-e) recall against each measure of naturalness, a line for each method,
    which joins the means over seeds in the order of lambda; (f) recall at a
    fixed CIDEr-D against rho, read off each seed's curve by itself.

    Args:
        cider: Float, the CIDEr-D of (f); by default the greatest that all its
            curves reach, as in the paper.

    Example:

    >>> point = {"method": "psst_multinomial", "rho": 0.25, "seed": 0}
    >>> records = [
    ...     {**point, "lambda": 1e-3, "cider_d": 1.2, "r@10": 86.3},
    ...     {**point, "lambda": 5e-3, "cider_d": 1.1, "r@10": 89.9},
    ... ]
    >>> from reproduce import psst_figures
    >>> panels = psst_figures.curve_panels(records)
    >>> panels[1].title, panels[1].lines[0].x
    ('(b) CIDEr-D', array([1.2, 1.1]))
    >>> panels[4].title, panels[4].note
    ('(e) SPICE', 'absent: none of 2 points has it')

    Reference:

    - Vered et al., Joint Optimization for Cooperative Image Captioning, ICCV
      2019, Figure 3
    """
    records = [r for r in records if r["method"] not in HUMAN]
    if not records:
        raise ValueError(
            "`records` must hold a point of a speaker. Received: none."
        )
    groups = by_method(records, rho)
    panels = [
        replace(against(groups, name), title=f"({letter}) {title}")
        for name, (letter, title) in LETTERS.items()
    ]
    curves = rho_curves(records, RECALL)
    last = parameter_panel(
        *(curves, "rho", "CIDEr-D", _recall(RECALL), cider), title="(f) "
    )
    return [*panels, last]


def against(groups, naturalness: str, recall: str = RECALL) -> Panel:
    """A panel of recall against a measure of naturalness."""
    title = NATURALNESS.get(naturalness, naturalness)
    curves, lacking = curves_of(groups, naturalness, recall)
    count = sum(map(len, groups.values()))
    if not curves and sum(lacking.values()) == count:
        note = f"absent: none of {count} points has it"
    elif len(lacking) > _NAMED:
        bad = sum(lacking.values())
        note = (
            f"{len(lacking)} of {len(groups)} methods: absent ({bad} of "
            f"{count} points lack it)"
        )
    else:
        note = "; ".join(
            f"{name}: absent ({bad} of {len(groups[name])} points lack it)"
            for name, bad in lacking.items()
        )
    lines = [
        mean_line(name, by_seed, _weight(groups[name]), "points")
        for name, by_seed in curves.items()
    ]
    return Panel(title, title, _recall(recall), lines, note)


def _weight(records):
    """Names places on a curve by lambda or gamma, where it has one."""
    symbol, value = place_of(records[0])
    known = value is not None
    return lambda place: f"{symbol} = {place:.6g}" if known else ""


def _recall(name):
    listener, _, k = name.rpartition("r@")
    title = f"recall@{k} (%)"
    return f"{title}, {listener_title(listener)}" if listener else title


def listener_panels(records: list[dict], rho: float = 0.25):
    """Recall against CIDEr-D, by held-out listeners and the speaker's own.

    A line for each method joins the means over seeds in the order of lambda.
    The fixed listener comes first, the speaker's own last, on one scale.

    Example:

    >>> point = {"method": "psst_multinomial", "lambda": 1e-3, "seed": 0}
    >>> point |= {"cider_d": 1.2, "r@10": 86.3, "fixed_r@10": 62.0}
    >>> from reproduce.psst_figures import listener_panels
    >>> [panel.title for panel in listener_panels([point])]
    ['fixed listener: held out', 'own listener: trained with the speaker']
    """
    records = [r for r in records if r["method"] not in HUMAN]
    groups = by_method(records, rho)
    return [
        replace(
            against(groups, "cider_d", f"{prefix}{RECALL}"),
            title=_title(prefix),
            x=named_metric("cider_d").title,
            y="recall@10 (%)",
        )
        for prefix in listeners(records)
    ]


def _title(prefix):
    about = "held out" if prefix else "trained with the speaker"
    return f"{listener_title(prefix)}: {about}"


def figure_panels(records: list[dict], rho: float = 0.25, cider=None):
    """The panels of a figure.

    Recall by every listener against CIDEr-D where records have recall by a
    held-out listener, else the paper's Figure 3.
    """
    if len(listeners(records)) > 1:
        return listener_panels(records, rho)
    return curve_panels(records, rho, cider)


def curve_figure(records: list[dict], title: str = "", **options):
    """Recall against naturalness, as an interactive figure.

    Points show their lambda and number of seeds; a click in the legend hides a
    method.

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
    # Imported here: training does not need it.
    import plotly.graph_objects as go

    panels = figure_panels(records, **options)
    figure = panels_figure(panels, title, LEGEND, known=TITLES.values())
    return go.Figure(figure)


def write_curve_figure(path, records: list[dict], title: str = "", **options):
    """Writes the figure as a page or a picture.

    Args:
        path: String or path, ending in `.html` for a self-contained page, or
            in `.png`, `.svg` or `.pdf`.
        **options: Those of `figure_panels()`: `rho` and, for Figure 3,
            `cider`.

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
