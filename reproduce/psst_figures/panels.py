"""Panels of Figure 3, before anybody draws it."""

from dataclasses import replace

from reproduce.psst_figures.listeners import listener_title
from reproduce.psst_figures.methods import HUMAN
from reproduce.psst_figures.methods import by_method
from reproduce.psst_figures.methods import curves_of
from reproduce.psst_figures.methods import place_of
from reproduce.psst_figures.methods import rho_curves
from tensorboard_plugin_tfcap.tradeoff import NATURALNESS
from tensorboard_plugin_tfcap.tradeoff import Panel
from tensorboard_plugin_tfcap.tradeoff import parameter_panel
from tfcap.curves import mean_line

#: Panels of the paper's figure, and the measure of naturalness of each.
LETTERS = dict(zip(NATURALNESS, zip("abcde", NATURALNESS.values())))
#: So many methods without a measure are named in a panel, which more would
#: cover.
_NAMED = 3


def curve_panels(
    records: list[dict],
    recall: str = "r@10",
    rho: float = 0.25,
    cider=None,
    spread="points",
):
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
        replace(
            against(groups, name, recall, spread),
            title=f"({letter}) {title}",
        )
        for name, (letter, title) in LETTERS.items()
    ]
    curves = rho_curves(records, recall)
    last = parameter_panel(
        *(curves, "rho", "CIDEr-D", _recall(recall), cider), title="(f) "
    )
    return [*panels, last]


def against(groups, naturalness: str, recall: str, spread="points") -> Panel:
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
        mean_line(name, by_seed, _weight(groups[name]), spread)
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
