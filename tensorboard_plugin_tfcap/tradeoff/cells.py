"""Cells of tables, and the notes below these."""

import math
from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

from tfcap.curves import ComparedCurve
from tfcap.curves import Curve
from tfcap.curves import Interval


def cell(interval: Interval, digits: int, sign: str = "") -> str:
    """An interval as `mean [low, high]`; the mean alone where it is of one.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff import cell
    >>> cell(tfcap.curves.mean_interval([1.0, 2.0, 3.0]), 1)
    '2.0 [-0.5, 4.5]'
    """
    if math.isnan(interval.mean):
        return "-"
    form = f"{sign}.{digits}f"
    text = format(interval.mean, form)
    if math.isinf(interval.low):
        return text
    return f"{text} [{interval.low:{form}}, {interval.high:{form}}]"


def found_cell(
    compared: Mapping[Any, ComparedCurve],
    row: Any,
    digits: int,
    none: str = "-",
) -> str:
    """The cell of a row of `compare_curves()`, which may lack it.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff import found_cell
    >>> curves = {"mine": {0: tfcap.curves.Curve([2, 1], [50, 60])}}
    >>> found = tfcap.curves.compare_curves(curves, at=1.5)
    >>> found_cell(found, "mine", 1), found_cell(found, "yours", 1)
    ('55.0', '-')
    """
    point = compared.get(row)
    if point is None or math.isnan(point.interval.mean):
        return none
    return cell(point.interval, digits)


def seeds_cell(points: Iterable[ComparedCurve | None]) -> str:
    """Numbers of seeds in a row's cells, and of all.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff import seeds_cell
    >>> curves = {s: tfcap.curves.Curve([2, 1 - s], [5, 6]) for s in (0, 1)}
    >>> found = tfcap.curves.compare_curves({"mine": curves}, at=0.5)
    >>> seeds_cell(found.values())
    '1/2'
    """
    counts = {(len(p.values), p.seeds) for p in points if p is not None}
    texts = [str(n) if n == of else f"{n}/{of}" for n, of in sorted(counts)]
    return ", ".join(texts) or "-"


def number(value: float | None) -> str:
    """A number of four digits, or a dash.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff import number
    >>> number(1.23456), number(None)
    ('1.235', '-')
    """
    return "-" if value is None else f"{value:.4g}"


def found_on(data: str) -> str:
    """The first note of every table.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff import found_on
    >>> found_on("COCO")
    'Found on: COCO. Mean and 95 % interval over seeds.'
    """
    return f"Found on: {data}. Mean and 95 % interval over seeds."


def absences(
    groups: Mapping[str, list], lacking: Mapping[str, int], name: str
) -> list[str]:
    """Notes of values that are absent, since points lack a measure.

    Args:
        groups: Dict of lists of points by title.
        lacking: Dict of numbers of points that lack it, by title.
        name: String, the measure's.

    Returns:
        List of sentences.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff import absences
    >>> absences({"mine": [1, 2]}, {"mine": 1}, "SPICE")
    ['SPICE is absent for mine: 1 of 2 points lack it.']
    """
    count = sum(map(len, groups.values()))
    if sum(lacking.values()) == count:
        return [f"{name} is absent: none of {count} points has it."]
    return [
        f"{name} is absent for {title}: {bad} of {len(groups[title])} points "
        "lack it."
        for title, bad in lacking.items()
    ]


def not_reached(
    curves: Mapping[str, Mapping[Any, Curve]],
    at: float | None,
    of: str,
    name: str,
) -> list[str]:
    """Notes of curves that do not go to a level, and how far they do go.

    Args:
        curves: Dict of dicts of `Curve` by seed, by title.
        at: Float, the level, or `None` where there is none.
        of: `"naturalness"` or `"recall"`, the axis of the level.
        name: String, the axis' title.

    Returns:
        List of sentences.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff import not_reached
    >>> curves = {"mine": {0: tfcap.curves.Curve([2, 1], [50, 60])}}
    >>> not_reached(curves, 3.0, "naturalness", "CIDEr-D")
    ['mine: 1 of 1 seeds do not go there; CIDEr-D is 1 to 2.']
    """
    notes = []
    for title, by_seed in curves.items():
        values = [getattr(curve, of) for curve in by_seed.values()]
        out = sum(at is None or not x.min() <= at <= x.max() for x in values)
        if out:
            low = number(min(x.min() for x in values))
            high = number(max(x.max() for x in values))
            span = low if low == high else f"{low} to {high}"
            notes.append(
                f"{title}: {out} of {len(values)} seeds do not go there; "
                f"{name} is {span}."
            )
    return notes
