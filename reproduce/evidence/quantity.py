"""Quantities that claims are about, as short expressions over records."""

import functools
import operator
import re
from dataclasses import dataclass

from reproduce.psst_figures.methods import curves_of
from reproduce.psst_figures.methods import measured
from tfcap.curves import Interval
from tfcap.curves import compare_curves
from tfcap.curves import curve_overlap
from tfcap.curves import mean_interval

#: Settings that are another point: unless a row names them, it has none.
_AXES = (
    *("lambda", "rho", "gamma", "temperature", "alpha", "rate"),
    *("entropy_weight", "reward_shift"),
    # Of estimators, see `reproduce/evidence/records.py`.
    *("V", "T", "S", "K", "ends", "gae"),
)
#: Where two curves are compared, beside a number.
_REACHED, _SHARED, _ALONE = "reached", "shared", "alone"
_EXPRESSION = re.compile(
    r"(?:(?P<over>least|greatest) )?(?P<metric>\S+)(?: - (?P<less>\S+))?: "
    r"(?P<rows>[^@]+?)(?: @ (?P<at>\S+))?"
)


class Absent(ValueError):
    """Records do not hold what a quantity is made of."""


@dataclass(frozen=True)
class Quantity:
    """A number that records give, seed by seed.

    | expression | number |
    |---|---|
    | `r@10: a lambda=0.001` | the score of a row |
    | `r@10: a - b` | by how much a row is above another, paired by seed |
    | `r@10: a / b` | how many times another row's it is, paired by seed |
    | `r@10 - fixed_r@10: a` | by how much one score is above another |
    | `least r@10: a, b` | the least of several rows' means; or `greatest` |
    | `r@10: a @ 0.95` | recall of a curve at this CIDEr-D |
    | `r@10: a - b @ 0.95` | difference of two curves there |
    | `r@10: a - b @ reached` | at the greatest CIDEr-D that both reach |
    | `r@10: a - b @ shared` | mean over the CIDEr-D that both reach |
    | `r@10: a - b @ alone` | above row b, at the CIDEr-D that b has |

    A row is a method and the settings that tell its point from others.

    Example:

    >>> from reproduce.evidence.quantity import Quantity
    >>> records = [
    ...     {"method": m, "seed": s, "r@10": 50.0 + s * (1 + (m == "a"))}
    ...     for m in ("a", "b") for s in (0, 1)
    ... ]
    >>> Quantity("r@10: a - b").values(records)
    {0: 0.0, 1: 1.0}
    """

    expression: str

    def __post_init__(self):
        if not _EXPRESSION.fullmatch(self.expression):
            raise ValueError(
                "`expression` must be as `r@10: a - b`. Received: "
                f"expression={self.expression!r}. See `Quantity`."
            )

    @functools.cached_property
    def _parts(self):
        parts = _EXPRESSION.fullmatch(self.expression).groupdict()
        rows = re.split(r"(, | - | / )", parts["rows"])
        return parts, rows[::2], (rows[1] if len(rows) > 1 else None)

    @property
    def paired(self) -> bool:
        """Boolean: a difference has two sides."""
        parts, _, sign = self._parts
        return sign == " - " or parts["less"] is not None

    def values(self, records: list[dict]) -> dict:
        """Values by seed; of a least or greatest mean, that one.

        Raises:
            ValueError: If records lack a row or a score of it.
        """
        parts, rows, sign = self._parts
        metric, at = parts["metric"], parts["at"]
        if at is not None:
            return self._of_curves(records, metric, rows, at)
        by_seed = [_scores(records, row, metric) for row in rows]
        if parts["less"]:
            less = [_scores(records, row, parts["less"]) for row in rows]
            by_seed = [_difference(*both) for both in zip(by_seed, less)]
        if parts["over"]:
            means = [sum(x.values()) / len(x) for x in by_seed]
            return {None: {"least": min, "greatest": max}[parts["over"]](means)}
        if sign == " / ":
            return _compared(*by_seed, operator.truediv)
        return _difference(*by_seed) if sign == " - " else by_seed[0]

    def interval(self, records: list[dict]) -> tuple[Interval, int]:
        """Mean with its 95 % interval, and of how many seeds."""
        values = [*self.values(records).values()]
        return mean_interval(values), len(values)

    def _of_curves(self, records, metric, rows, at):
        measure = "beam_cider_d" if metric.startswith("beam_") else "cider_d"
        if at == _ALONE:
            return self._above_alone(records, metric, rows, measure)
        curves = {row: _curves(records, row, measure, metric) for row in rows}
        if at in (_REACHED, _SHARED):
            overlap = curve_overlap(curves)
            if overlap is None:
                raise Absent(f"{self.expression}: no naturalness in common.")
            level = overlap if at == _SHARED else overlap[1]
        else:
            level = float(at)
        found = compare_curves(curves, level)
        by_seed = [found[row].values for row in rows]
        for row, values in zip(rows, by_seed):
            if not values:
                raise Absent(f"{self.expression}: {row} does not go there.")
        return _difference(*by_seed) if len(rows) > 1 else by_seed[0]

    def _above_alone(self, records, metric, rows, measure):
        row, alone = rows
        curves = _curves(records, row, measure, metric)
        places = _scores(records, alone, measure)
        theirs = _scores(records, alone, metric)
        ours = {
            seed: curve.recall_at(places[seed])
            for seed, curve in curves.items()
            if seed in places
            and min(curve.naturalness) <= places[seed] <= max(curve.naturalness)
        }
        return _difference(ours, theirs)


def _difference(ours, theirs):
    return _compared(ours, theirs, operator.sub)


def _compared(ours, theirs, compare):
    both = [seed for seed in ours if seed in theirs]
    if not both:
        raise Absent("no seed has both rows.")
    return {seed: compare(ours[seed], theirs[seed]) for seed in both}


def _named(row):
    """A row's method, and its settings."""
    method, *settings = row.split()
    pairs = [setting.partition("=")[::2] for setting in settings]
    return method, {k: v if k == "player" else _number(v) for k, v in pairs}


def _number(text):
    try:
        return float(text)
    except ValueError:
        return text


def _points(records, row, free=()):
    """Records of a row; `free` settings may be any."""
    method, settings = _named(row)
    wanted = {name: None for name in _AXES if name not in free} | settings
    return [
        record
        for record in records
        if record["method"] == method
        and all(record.get(k) == v for k, v in wanted.items())
    ]


def _scores(records, row, metric):
    by_seed = {}
    for record in _points(records, row):
        if not measured(record, metric):
            continue
        if record["seed"] in by_seed:
            raise Absent(f"{row!r} names several points: tell them apart.")
        by_seed[record["seed"]] = record[metric]
    if not by_seed:
        raise Absent(f"no record has {metric} of {row!r}.")
    return by_seed


def _curves(records, row, measure, metric):
    points = _points(records, row, free=("lambda",))
    if not points:
        raise Absent(f"no record is of {row!r}.")
    curves, lacking = curves_of({row: points}, measure, metric)
    if lacking:
        raise Absent(f"{lacking[row]} points of {row!r} lack {metric}.")
    return curves[row]
