"""What Figure 3 shows, before anybody draws it."""

import math
from dataclasses import dataclass
from dataclasses import replace

import numpy as np

from tensorboard_plugin_tfcap.tradeoff.listeners import listener_title
from tensorboard_plugin_tfcap.tradeoff.methods import HUMAN
from tensorboard_plugin_tfcap.tradeoff.methods import NATURALNESS
from tensorboard_plugin_tfcap.tradeoff.methods import by_method
from tensorboard_plugin_tfcap.tradeoff.methods import curves_of
from tensorboard_plugin_tfcap.tradeoff.methods import measured
from tensorboard_plugin_tfcap.tradeoff.methods import rho_curves
from tfcap.curves import Line
from tfcap.curves import compare_curves
from tfcap.curves import curve_overlap
from tfcap.curves import mean_line

#: Panels of the paper's figure, and what each sets the recall against.
LETTERS = dict(zip(NATURALNESS, "abcde"))


@dataclass(frozen=True)
class Panel:
    """One panel of the figure.

    Args:
        title: String, `"(b) CIDEr-D"`.
        x: String, what the abscissa is.
        y: String.
        lines: List of `Line`. Without one, there is nothing to draw, and the
            note says why.
        note: String, what is absent and why; may be empty.
    """

    title: str
    x: str
    y: str
    lines: list
    note: str = ""


def curve_panels(records, recall="r@10", rho=0.25, cider=None, spread="points"):
    """The panels of the paper's Figure 3.

    (a-e) recall against each measure of naturalness, a line for each method,
    which joins the means over seeds in the order of lambda; (f) recall at a
    fixed CIDEr-D against rho, read off each seed's curve by itself.

    Args:
        records: List of dicts, as of `reproduce.load_records()`, with
            `method`, `lambda`, `seed`, and what was measured.
        recall: String, what the records call it. Defaults to `"r@10"`.
        rho: Float, which one is drawn in (a-e) where a method has several.
            Defaults to `0.25`.
        cider: Float, the CIDEr-D of (f); by default the greatest that all its
            curves reach, as in the paper.
        spread: How seeds are shown, one of `lines.SPREADS`. Defaults to
            `"points"`, each by itself.

    Returns:
        List of six `Panel`.

    Example:

    >>> point = {"method": "psst_multinomial", "rho": 0.25, "seed": 0}
    >>> records = [
    ...     {**point, "lambda": 1e-3, "cider_d": 1.2, "r@10": 86.3},
    ...     {**point, "lambda": 5e-3, "cider_d": 1.1, "r@10": 89.9},
    ... ]
    >>> from reproduce import captioning
    >>> panels = captioning.curve_panels(records)
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
            title=f"({LETTERS[name]}) {title}",
        )
        for name, title in NATURALNESS.items()
    ]
    return [*panels, _against_rho(records, recall, cider)]


def against(groups, naturalness, recall, spread="points"):
    """A panel of recall against a measure of naturalness.

    Args:
        groups: Dict of lists of records by title.
        naturalness: String, what records call it.
        recall: String.
        spread: One of `lines.SPREADS`. Defaults to `"points"`.

    Returns:
        `Panel`, whose title is that of the measure.
    """
    title = NATURALNESS.get(naturalness, naturalness)
    curves, lacking = curves_of(groups, naturalness, recall)
    count = sum(map(len, groups.values()))
    if not curves and sum(lacking.values()) == count:
        note = f"absent: none of {count} points has it"
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
    """Names places on a curve by lambda, where it has one."""
    weighted = measured(records[0], "lambda")
    return lambda place: f"\u03bb = {place:.6g}" if weighted else ""


def _against_rho(records, recall, cider):
    curves = rho_curves(records, recall)
    if len({value for _, value in curves}) < 2:
        note = "absent: no method was trained with several \u03c1"
        return Panel("(f) \u03c1", "\u03c1", _recall(recall), [], note)
    if cider is None:
        overlap = curve_overlap(curves)
        if overlap is None:
            note = "absent: the curves have no CIDEr-D in common"
            return Panel("(f) \u03c1", "\u03c1", _recall(recall), [], note)
        cider = overlap[1]
    found = compare_curves(curves, at=cider)
    lines = [
        line
        for title in dict.fromkeys(title for title, _ in curves)
        if (line := _rho_line(title, found)) is not None
    ]
    beyond = [
        f"{title}, \u03c1 = {value:g}"
        for (title, value), point in found.items()
        if not point.values
    ]
    note = f"not reached by {'; '.join(beyond)}" if beyond else ""
    title = f"(f) \u03c1, at CIDEr-D = {cider:.3g}"
    return Panel(title, "\u03c1", _recall(recall), lines, note)


def _rho_line(title, found):
    points = {
        rho: point
        for (name, rho), point in found.items()
        if name == title and point.values
    }
    if not points:
        return None
    bounds = [point.interval for point in points.values()]
    # One seed has no interval to draw.
    low, high = (
        np.array([b if math.isfinite(b) else math.nan for b in side])
        for side in zip(*((i.low, i.high) for i in bounds))
    )
    seeds = sorted(
        {seed for p in points.values() for seed in p.values}, key=str
    )
    return Line(
        title,
        np.array(list(points)),
        np.array([b.mean for b in bounds]),
        [
            f"\u03c1 = {rho:g}, {len(p.values)} of {p.seeds} seeds"
            for rho, p in points.items()
        ],
        np.array([len(p.values) == p.seeds for p in points.values()]),
        [
            tuple(
                np.array(
                    [
                        (r, p.values[s])
                        for r, p in points.items()
                        if s in p.values
                    ]
                ).T
            )
            for s in seeds
        ],
        low,
        high,
        places=np.array(list(points)),
        names=[f"\u03c1 = {rho:g}" for rho in points],
    )


def _recall(name):
    listener, _, k = name.rpartition("r@")
    title = f"recall@{k} (%)"
    return f"{title}, {listener_title(listener)}" if listener else title
