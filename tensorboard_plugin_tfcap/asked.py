"""Checks of the options of a command or a notebook against a log.

The tab ignores what a log lacks: there, the log may still grow.
"""

from dataclasses import replace

from tensorboard_plugin_tfcap.curve_names import METHOD
from tensorboard_plugin_tfcap.matching import search
from tensorboard_plugin_tfcap.query_error import QueryError
from tensorboard_plugin_tfcap.selection import select


def check_asked(selection, query):
    """Rejects names that a log lacks, and options without effect.

    Args:
        selection: `Selection` of the query.

    Raises:
        QueryError: If there is one.
    """
    dataset = selection.dataset
    parameters = {name: None for p in dataset.points for name in p.params}
    parameters |= {n: None for p in selection.settings.values() for n in p}
    for name in ("hide", "focus"):
        _check_titles(name, getattr(query, name), dataset, selection, query)
    known = {
        "higher": dataset.metrics,
        "lower": dataset.metrics,
        "by": dataset.metrics,
        "curve": [*parameters, METHOD, "seed"],
    }
    for name, names in known.items():
        asked = getattr(query, name) or ()
        _check(name, (asked,) if isinstance(asked, str) else asked, names)
    # The selection drops a `baseline` that is absent.
    if query.baseline and selection.query.baseline is None:
        _check("baseline", [query.baseline], selection.groups)
    if query.usual is not None and selection.preset() is None:
        raise QueryError(
            "`usual` must come with a `preset` that has panels. Received: "
            f"usual={query.usual!r:.80}, preset={query.preset!r:.80}."
        )
    if query.group:
        search("group", query.group, [])


def why_empty(selection, query) -> str:
    """Says why there is nothing to draw."""
    points = selection.dataset.points
    for reason in selection.notices:
        if reason.startswith("No run "):
            return f"{reason} The log has {len(points)}."
    if query.group and not points:
        return (
            "`group` must match names of runs. Received: "
            f"group={query.group!r:.120}, which matches none."
        )
    if {*selection.groups} and {*selection.groups} <= {*query.hide}:
        return (
            "`hide` must leave at least one method. Received: all of "
            f"{', '.join(selection.groups)}."
        )
    metrics = ", ".join(list(selection.dataset.metrics)[:8])
    of = f" of {metrics}" if metrics else ""
    return (
        "`logdir` must hold runs that have two metrics each. Received: a "
        f"folder with {len(points)} points{of}. Log both scalars in one run "
        "or below its folder, join runs by `group`, or write points with "
        "`TradeoffWriter`."
    )


def _check_titles(name, asked, dataset, selection, query):
    if not {*asked} - {*selection.groups}:
        return
    # Methods that other options leave out may be named.
    every = replace(query, runs=None, where=(), hide=(), focus=())
    _check(name, asked, [*select(dataset, every).groups, *selection.groups])


def _check(name, asked, known):
    unknown = [value for value in asked if value not in known]
    if unknown:
        raise QueryError(
            f"`{name}` must be one of {', '.join(dict.fromkeys(known))}. "
            f"Received: {name}={unknown[0]!r:.80}."
        )
