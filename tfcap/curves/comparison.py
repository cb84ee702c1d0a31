"""Comparisons of methods as curves, at an equal level of one axis."""

import math
from collections.abc import Iterable
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from typing import Any

from tfcap._printed import printed
from tfcap.curves.aggregate import Aggregate
from tfcap.curves.aggregate import Interval
from tfcap.curves.curve import Curve

#: The values that are read off, and along which ones.
ALONG = {"recall": "naturalness", "naturalness": "recall"}


@dataclass(frozen=True)
class ComparedCurve:
    """Values of one method's curves at an operating point.

    Args:
        values: Dict of floats by seed, of curves that reach the point.
        seeds: Integer, total number of seeds of the method.
        interval: `Interval` of `values`, by default of their mean; NaN without
            values.
        difference: `Interval` of the differences to the baseline, seed by
            seed; NaN if no seed has both, `None` without a baseline.
        pairs: Integer, number of seeds of the difference.
        crossings: Dict of integers by seed, number of crossings of the level,
            of which one counts. Empty for a range.
    """

    __repr__ = printed

    values: dict[Any, float]
    seeds: int
    interval: Interval
    difference: Interval | None = None
    pairs: int = 0
    crossings: dict[Any, int] = field(default_factory=dict)


def compare_curves(
    curves: Mapping[Any, Mapping[Any, Curve]],
    at: float | tuple[float, float],
    of: str = "recall",
    baseline: Any = None,
    crossing: str | None = None,
    aggregate: Aggregate | None = None,
    seeds: Mapping[Any, int] | None = None,
) -> dict[Any, ComparedCurve]:
    """Compares methods at one operating point, over seeds.

    Each seed's curve is interpolated by itself; then come the mean, its
    interval, and the differences to the same seeds of a baseline. A curve that
    does not reach the point has no value, which the result shows: a mean of 2
    of 3 seeds is not that of 3.

    Args:
        curves: Dict of `Curve` by seed, by method, from `group_curves()`.
        at: Float, the operating point; or a pair, low and high, for the mean
            recall of a range of naturalness (`Curve.area()` over its width).
        of: `"recall"`, at a fixed naturalness, or `"naturalness"`, at a fixed
            recall. Defaults to `"recall"`.
        baseline: One of the methods, or `None` for no differences.
        crossing: String, which of several crossings counts. Defaults to
            `None`: `"last"` for recall, `"first"` for naturalness.
        aggregate: `Aggregate` of seeds. Defaults to `None`: their mean, and
            Student's interval.
        seeds: Dict of integers by method, total number of seeds, including
            those without a curve. Defaults to `None`, the number of curves.

    Returns:
        Dict of `ComparedCurve` by method.

    Raises:
        ValueError: If `of` is unknown, a range is empty or given for
            naturalness, or `baseline` is not a method.

    Example:

    >>> from tfcap.curves import Curve
    >>> curves = {
    ...     "psst": {seed: Curve([2, 1], [60 + seed, 80]) for seed in (0, 1)},
    ...     "st": {seed: Curve([2, 1], [50, 70 + seed]) for seed in (0, 1)},
    ... }
    >>> found = tfcap.curves.compare_curves(curves, at=1.5, baseline="st")
    >>> found["psst"].interval.mean, found["psst"].difference.mean
    (70.25, 10.0)
    >>> found["st"].values
    {0: 60.0, 1: 60.5}
    """
    pair = isinstance(at, tuple | list)
    if of not in ALONG or (pair and of != "recall"):
        raise ValueError(
            "`of` must be 'recall' or 'naturalness', and 'recall' for a range. "
            f"Received: of={of!r}, at={at}."
        )
    if pair and not (len(at) == 2 and at[0] < at[1]):
        raise ValueError(
            "`at` must be a number, or a pair of low and high. Received: "
            f"at={at}."
        )
    if baseline is not None and baseline not in curves:
        raise ValueError(
            f"`baseline` must be one of {', '.join(map(str, curves))}. "
            f"Received: baseline={baseline!r}."
        )
    aggregate = aggregate or Aggregate()
    crossing = crossing or {"recall": "last", "naturalness": "first"}[of]
    values = {
        method: _read(by_seed, at, of, crossing)
        for method, by_seed in curves.items()
    }
    found = {}
    for method, ours in values.items():
        gaps, difference = [], None
        if baseline is not None:
            theirs = values[baseline]
            gaps = [
                ours[seed] - theirs[seed] for seed in ours if seed in theirs
            ]
            difference = _interval(gaps, aggregate)
        found[method] = ComparedCurve(
            values=ours,
            seeds=(seeds or {}).get(method, len(curves[method])),
            interval=_interval(ours.values(), aggregate),
            difference=difference,
            pairs=len(gaps),
            crossings={
                seed: len(curves[method][seed].crossings(**{ALONG[of]: at}))
                for seed in (() if pair else ours)
            },
        )
    return found


def curve_overlap(
    curves: Iterable[Curve] | Mapping[Any, Mapping[Any, Curve]],
    of: str = "naturalness",
) -> tuple[float, float] | None:
    """Finds the range that all curves cover without extrapolation.

    Args:
        curves: Iterable of `Curve`, or dict of `Curve` by seed, by method.
        of: `"naturalness"` or `"recall"`. Defaults to `"naturalness"`.

    Returns:
        Tuple of two floats, low and high, or `None` if there is no such range.

    Raises:
        ValueError: If `of` is unknown or there is no curve.

    Example:

    >>> from tfcap.curves import Curve
    >>> curves = [Curve([3, 1], [50, 60]), Curve([2, 0], [50, 60])]
    >>> tfcap.curves.curve_overlap(curves)
    (1.0, 2.0)
    """
    if of not in ALONG:
        raise ValueError(
            f"`of` must be 'naturalness' or 'recall'. Received: of={of!r}."
        )
    if isinstance(curves, Mapping):
        curves = [c for by_seed in curves.values() for c in by_seed.values()]
    values = [getattr(curve, of) for curve in curves]
    if not values:
        raise ValueError("`curves` must hold a curve. Received: curves=[].")
    low = float(max(x.min() for x in values))
    high = float(min(x.max() for x in values))
    return (low, high) if low <= high else None


def group_curves(
    records: Iterable[Mapping[str, Any]],
    naturalness: str = "cider_d",
    recall: str = "r@10",
    parameter: str = "lambda",
    by: str | Iterable[str] = ("method",),
) -> dict[Any, dict[Any, Curve]]:
    """Groups the records of a sweep into curves.

    Args:
        records: Iterable of dicts, as from `reproduce.load_records()`.
        naturalness: String, its key in the records. Defaults to `"cider_d"`.
        recall: String, its key. Defaults to `"r@10"`.
        parameter: String, key of the setting that orders the points of a
            curve. Defaults to `"lambda"`.
        by: Strings, keys of the settings that identify a method, by their
            value, or a tuple of several values. Defaults to `("method",)`.

    Returns:
        Dict of dicts of `Curve` by seed, by method, in the order of the
        records. Records without a `"seed"` have seed `None`.

    Raises:
        ValueError: If a record lacks a value, or two are the same point of a
            curve.

    Example:

    >>> point = {"method": "st", "seed": 0}
    >>> records = [
    ...     {**point, "lambda": 1e-3, "cider_d": 1.2, "r@10": 60.0},
    ...     {**point, "lambda": 5e-3, "cider_d": 0.8, "r@10": 80.0},
    ... ]
    >>> tfcap.curves.group_curves(records)["st"][0].recall_at(1.0)
    70.0
    """
    by = (by,) if isinstance(by, str) else tuple(by)
    groups = {}
    for record in records:
        names = tuple(record.get(name) for name in by)
        method = names if len(by) > 1 else names[0]
        seeds = groups.setdefault(method, {})
        points = seeds.setdefault(record.get("seed"), {})
        place = record.get(parameter)
        if place in points:
            raise ValueError(
                f"`records` must have one point for each seed and {parameter!r}"
                f" of a method. Received: two for {_about(record)}. Add the "
                "setting in which they differ to `by`, or leave one out."
            )
        points[place] = record
    return {
        method: {
            seed: _curve(points, naturalness, recall, parameter)
            for seed, points in seeds.items()
        }
        for method, seeds in groups.items()
    }


def _curve(points, naturalness, recall, parameter):
    columns = {naturalness: [], recall: []}
    for record in points.values():
        for name, column in columns.items():
            value = record.get(name)
            if value is None or not math.isfinite(value):
                raise ValueError(
                    f"`records` must all have a finite {name!r}. Received: "
                    f"{_about(record)}, without. Choose another key, or report "
                    "the point separately: without it the curve is different."
                )
            column.append(value)
    places = list(points)
    if None in places and len(places) > 1:
        raise ValueError(
            f"`records` must have a {parameter!r} if a curve has several "
            f"points. Received: {_about(points[None])}, without."
        )
    return Curve(*columns.values(), None if None in places else places)


def _about(record):
    names = ("method", "lambda", "rho", "temperature", "seed")
    return ", ".join(f"{k}={record[k]!r}" for k in names if k in record)


def _read(by_seed, at, of, crossing):
    """Returns values by seed, of curves that reach the point."""
    low, high = at if isinstance(at, tuple | list) else (at, at)
    found = {}
    for seed, curve in by_seed.items():
        along = getattr(curve, ALONG[of])
        if not along.min() <= low <= high <= along.max():
            continue
        if low < high:
            found[seed] = curve.area(low, high, crossing) / (high - low)
        else:
            found[seed] = getattr(curve, f"{of}_at")(low, crossing)
    return found


def _interval(values, aggregate):
    values = list(values)
    if not values:
        return Interval(math.nan, math.nan, math.nan)
    return aggregate(values)
