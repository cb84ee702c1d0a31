"""Options of the report and the notebook, named as in the tab."""

from dataclasses import fields
from dataclasses import replace

from tensorboard_plugin_tfcap.query import Query
from tensorboard_plugin_tfcap.query import parse_query
from tensorboard_plugin_tfcap.selection import with_preset

#: Defaults of the page, as in `state.js`, that differ from those of `Query`.
USUAL = {"seeds": "points"}
#: Options that only the page has.
_OWN = ("step", "dark")
_HELP = {
    "x": "metric of the horizontal axis",
    "y": "metric of the vertical axis",
    "order": "parameter along curves",
    "runs": "regular expression that runs must match",
    "at": "checkpoint: last, best, common or finished",
    "by": "metric that tells the best step",
    "seeds": "points, interval, band or none",
    "level": "confidence level of intervals, 0.95 by default",
    "preset": "figure, line or pair of axes by its id: truth, held_out",
    "usual": "value of the parameter that a preset's panels draw",
    "along": "x or y, the axis that the line fixes",
    "value": "value of the line: a number, auto or off",
    "baseline": "method that tables compare the others with",
    "refs": "draw published points",
    "pareto": "draw the Pareto front",
    "labels": "label points",
    "source": "points or scalars",
    "group": "how scalars are grouped: auto, hparams, run or an expression",
    "curve": "parameter, or method, that tells curves apart; may be repeated",
    "where": "condition on a parameter: lambda>=0.001; may be repeated",
    "columns": "metric or parameter to add to the points; may be repeated",
    "xscale": "linear or log, horizontally",
    "yscale": "linear or log, vertically",
    "higher": "metric of which more is better; may be repeated",
    "lower": "metric of which less is better; may be repeated",
    "hide": "method to leave out; may be repeated",
    "focus": "method that keeps its color, others are gray; may be repeated",
    "names": "name methods at their curves",
    "center": "statistic of seeds: mean, median or iqm",
    "bounds": "interval over seeds: student, bootstrap or range",
}


def asked_query(options) -> Query:
    """The query of options given in Python or in a shell.

    Raises:
        TypeError: If there is no such option.
        QueryError: If an argument has an unknown value.

    Example:

    >>> from tensorboard_plugin_tfcap.options import asked_query
    >>> asked_query({"pareto": True, "hide": "mine"}).hide
    ('mine',)
    """
    known = [one.name for one in fields(Query) if one.name != "step"]
    wrong = sorted(set(options) - set(known))
    if wrong:
        raise TypeError(
            f"`options` must be among {', '.join(known)}. Received: "
            f"{', '.join(wrong)}."
        )
    texts = {
        name: _text(name, value)
        for name, value in options.items()
        if value is not None
    }
    if texts.get("value") == "off":
        del texts["value"]
    return parse_query({**USUAL, **texts})


def whole_query(options, presets) -> Query:
    """Query of `asked_query()`, completed by a preset and the default line.

    Raises:
        TypeError: If there is no such option.
        QueryError: If an argument has an unknown value.
    """
    query = with_preset(asked_query(options), presets)
    if query.value is None and options.get("value") is None:
        query = replace(query, value="auto")
    return query


def add_options(parser):
    """Adds an option for each argument of a query."""
    import argparse

    for one in fields(Query):
        if one.name in _OWN:
            continue
        kind, more = type(one.default), {}
        if kind is bool:
            more = {"action": argparse.BooleanOptionalAction}
        elif kind is tuple:
            more = {"action": "append", "metavar": one.name.upper()}
        flag = "--" + one.name.replace("_", "-")
        parser.add_argument(flag, help=_HELP.get(one.name), **more)


def command_words(options) -> list[str]:
    """The options as words of a command."""
    words = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if name in _OWN or value is None:
            continue
        if isinstance(value, bool):
            words.append(flag if value else f"--no-{flag[2:]}")
        elif isinstance(value, list | tuple):
            words += [word for one in value for word in (flag, str(one))]
        else:
            words += [flag, str(value)]
    return words


def _text(name, value):
    """A value as the page writes it into its address."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, list | tuple | set):
        return ("," if name == "curve" else "\n").join(map(str, value))
    return str(value)
