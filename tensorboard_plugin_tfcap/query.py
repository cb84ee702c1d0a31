"""The arguments of requests."""

import math
import re
from dataclasses import dataclass
from dataclasses import fields

from tensorboard_plugin_tfcap.query_error import QueryError
from tfcap.curves.aggregate import BOUNDS
from tfcap.curves.aggregate import CENTERS
from tfcap.curves.aggregate import Aggregate
from tfcap.curves.lines import SPREADS

#: Steps at which runs are compared.
CHECKPOINTS = ("last", "best", "common", "finished")
SCALES = ("linear", "log")
#: Choices of some arguments.
_CHOICES = {
    "source": (None, "points", "scalars"),
    "at": CHECKPOINTS,
    "seeds": SPREADS,
    "along": (None, "x", "y"),
    "xscale": SCALES,
    "yscale": SCALES,
    "center": tuple(CENTERS),
    "bounds": (None, *BOUNDS),
}
#: Arguments that are lists of names, one a line.
_LISTS = (*("curve", "where", "columns", "higher", "lower", "hide", "focus"),)
#: Most characters of an argument, and of a list of names.
_LONGEST, _LONGEST_LIST = 500, 20_000


@dataclass(frozen=True)
class Query:
    """The arguments of the figure and its tables.

    Args:
        source: `"points"`, `"scalars"`, or `None` for the first that is there.
        x: String, a metric, or `None` for the default; so are all below.
        y: String, a metric.
        order: String, the parameter along curves.
        runs: String, a regular expression over names of runs.
        at: `"last"`; `"best"`; `"common"`, the last step that all runs have
            reached; or `"finished"`, of each method the runs that have
            reached its last step.
        by: String, the metric by which a step is the best.
        seeds: `"interval"`, `"band"`, `"points"` or `"none"`.
        level: Float, of intervals over seeds.
        preset: String, a figure of the log, by its name; `"truth"` and
            `"held_out"` are pairs of axes.
        usual: String, which value of a parameter a preset's panels draw.
        refs: Boolean, whether published points are drawn.
        pareto: Boolean, whether the front is.
        along: `"x"` or `"y"`, the axis that the line fixes.
        value: Float, `"auto"`, or `None` for no line.
        baseline: String, the method that others are compared with.
        step: Integer, the step of which captions are shown.
        dark: Boolean, whether the background is dark.
        labels: Boolean, whether points have labels.
        group: String, how scalars are grouped.
        curve: Tuple of parameters, and `"method"`, that tell curves apart.
        where: Tuple of conditions on parameters, such as `"lambda>=0.001"`.
        columns: Tuple of metrics and parameters to add to the table of points.
        xscale: `"linear"` or `"log"`.
        yscale: Likewise.
        higher: Tuple of metrics of which more is better, whatever their names
            or writers say.
        lower: Tuple of those of which less is.
        hide: Tuple of titles of methods that are left out everywhere.
        focus: Tuple of titles of methods; all others are gray.
        names: Boolean, whether methods are named at their curves.
        center: String, the statistic of several seeds that is drawn.
        bounds: String, the kind of interval around it.
    """

    source: str | None = None
    x: str | None = None
    y: str | None = None
    order: str | None = None
    runs: str | None = None
    at: str = "last"
    by: str | None = None
    seeds: str = "interval"
    level: float = 0.95
    preset: str | None = None
    usual: str | None = None
    refs: bool = False
    pareto: bool = False
    along: str | None = None
    value: float | str | None = None
    baseline: str | None = None
    step: int | None = None
    dark: bool = False
    labels: bool = True
    group: str | None = None
    curve: tuple = ()
    where: tuple = ()
    columns: tuple = ()
    xscale: str = "linear"
    yscale: str = "linear"
    higher: tuple = ()
    lower: tuple = ()
    hide: tuple = ()
    focus: tuple = ()
    names: bool = True
    center: str = "mean"
    bounds: str | None = None

    @property
    def aggregate(self):
        """`Aggregate` of seeds: of means, Student's interval by default."""
        return Aggregate(self.center, self._bounds, self.level)

    @property
    def _bounds(self):
        usual = "student" if self.center == "mean" else "bootstrap"
        return self.bounds or usual

    def __post_init__(self):
        for name in _LISTS:
            if isinstance(getattr(self, name), str):
                object.__setattr__(self, name, (getattr(self, name),))
        for name, options in _CHOICES.items():
            value = getattr(self, name)
            if value not in options:
                shown = ", ".join(filter(None, options))
                raise QueryError(
                    f"`{name}` must be one of {shown}. Received: "
                    f"{name}={value!r:.40}."
                )
        if not 0.5 <= self.level <= 0.999:
            raise QueryError(
                "`level` must be in [0.5, 0.999]. Received: "
                f"level={self.level!r:.40}."
            )
        try:
            Aggregate(self.center, self._bounds, self.level)
        except ValueError as error:
            raise QueryError(str(error)) from error


def parse_query(arguments) -> Query:
    """Reads the arguments of a request; ignores those of other routes.

    Raises:
        QueryError: If an argument has an unknown value.

    Example:

    >>> from tensorboard_plugin_tfcap.query import parse_query
    >>> parse_query({"x": "cider_d", "value": "1.2", "dark": "1"}).value
    1.2
    """
    given = {}
    for one in fields(Query):
        text = arguments.get(one.name)
        if text:
            given[one.name] = _READ.get(one.name, _word)(one.name, text)
    return Query(**given)


def whole_number(name, text):
    """Reads a whole number from 0.

    Raises:
        QueryError: If it is not a whole number.
    """
    if not (text.isascii() and text.isdigit() and len(text) < 7):
        raise QueryError(
            f"`{name}` must be a whole number from 0. Received: "
            f"{name}={text[:40]!r}."
        )
    return int(text)


def _word(name, text):
    if len(text) > _LONGEST:
        raise QueryError(f"`{name}` must have at most {_LONGEST} characters.")
    return text


def _names(name, text):
    if len(text) > _LONGEST_LIST:
        raise QueryError(
            f"`{name}` must have at most {_LONGEST_LIST} characters."
        )
    return tuple(filter(None, text.split("\n")))


def read_number(name, text):
    """Reads a finite number.

    Raises:
        QueryError: If it is none.
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise QueryError(
            f"`{name}` must be a number. Received: {name}={text[:40]!r}."
        )
    return value


def _whole(name, text):
    value = read_number(name, text)
    if value != int(value):
        raise QueryError(
            f"`{name}` must be a whole number. Received: {name}={value:g}."
        )
    return int(value)


def _flag(name, text):
    if text not in ("0", "1"):
        raise QueryError(
            f"`{name}` must be 0 or 1. Received: {name}={text[:40]!r}."
        )
    return text == "1"


_READ = {
    "level": read_number,
    "refs": _flag,
    "pareto": _flag,
    "value": lambda n, t: t if t == "auto" else read_number(n, t),
    "step": _whole,
    "dark": _flag,
    "labels": _flag,
    "names": _flag,
    **dict.fromkeys(_LISTS, _names),
    "curve": lambda n, t: tuple(filter(None, re.split("[,\n]", _word(n, t)))),
}
