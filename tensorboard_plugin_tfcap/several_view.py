"""More than two metrics at once: parallel coordinates, and hypervolumes."""

import math

import numpy as np

from tensorboard_plugin_tfcap.figure_view import CONFIG
from tensorboard_plugin_tfcap.query_error import QueryError
from tensorboard_plugin_tfcap.table_view import alike
from tensorboard_plugin_tfcap.table_view import table_json
from tensorboard_plugin_tfcap.tradeoff.curve_groups import order_places
from tensorboard_plugin_tfcap.tradeoff.hypervolume_table import (
    hypervolume_table,
)
from tensorboard_plugin_tfcap.tradeoff.panels import axis_title
from tensorboard_plugin_tfcap.tradeoff.parallel import Track
from tensorboard_plugin_tfcap.tradeoff.parallel import parallel_figure

#: Metrics that are shown at once, by default and at most.
_USUAL, _MOST = 4, 8


def several_view(selection) -> dict:
    """Figure and table of the metrics that a query names.

    Raises:
        QueryError: If it names one that the log has not, or too many.
    """
    metrics = shown_metrics(selection)
    found = tracks(selection, metrics)
    focused = selection.focused(track.title for track in found)
    figure = parallel_figure(
        *(found, metrics, focused.dataset.known, selection.query.dark)
    )
    table = several_table(selection)
    worst, _ = reference_point(selection, metrics)
    return {
        "metrics": [
            {"id": m.name, "title": axis_title(m), "worst": worst.get(m.name)}
            for m in metrics
        ],
        "figure": {**figure, "config": CONFIG},
        "table": table_json(table),
        "note": (
            f"{selection.query.aggregate.centers.capitalize()} over seeds. "
            "Axes are turned so that better is up; where it is not known "
            "which way that is, greater is."
        ),
    }


def several_table(selection):
    """The hypervolume of each method, as a `TradeoffTable`."""
    metrics = shown_metrics(selection)
    worst, given = reference_point(selection, metrics)
    return hypervolume_table(
        _shown(selection), metrics, worst, given, selection.query.aggregate
    )


def shown_metrics(selection):
    """The metrics that are shown at once.

    Raises:
        QueryError: If there are too many, or one is not of the log.
    """
    names, known = selection.query.metrics, selection.dataset.metrics
    unknown = [name for name in names if name not in known]
    if unknown or len(names) > _MOST:
        raise QueryError(
            f"`metrics` must be at most {_MOST} metrics of the log. Received: "
            f"{', '.join(unknown or names)!r:.200}."
        )
    if names or selection.x is None:
        return [known[name] for name in dict.fromkeys(names)]
    x, y = selection.x, selection.y
    first = [x, y, *alike(selection, x, x), *alike(selection, y, x)]
    return list({m.name: m for m in first}.values())[:_USUAL]


def given_worst(query):
    """Values of `worst` by metric.

    Raises:
        QueryError: If one is no number of a metric.
    """
    given = {}
    for text in query.worst:
        name, _, value = text.rpartition("=")
        try:
            given[name] = float(value)
        except ValueError:
            given[name] = math.nan
        if not math.isfinite(given[name]):
            raise QueryError(
                "`worst` must be lines of a metric, '=' and a number. "
                f"Received: {text!r:.120}."
            )
    return given


def reference_point(selection, metrics):
    """Worst values that count, by metric: those given, else a little worse
    than the worst of all, by a tenth of the range, yet no less than 0 where
    no value is.

    Returns:
        Dict of floats by name, and the names of those that were given.

    Raises:
        QueryError: If a query gives what is no number of a metric.
    """
    given = given_worst(selection.query)
    found = {}
    points = [p for group in _shown(selection).values() for p in group]
    for metric in metrics:
        values = [
            p.metrics[metric.name] for p in points if metric.name in p.metrics
        ]
        if metric.name in given:
            found[metric.name] = given[metric.name]
        elif values and metric.sign:
            low, high = sorted((min(values), max(values)))
            gap = 0.1 * (high - low)
            worst = low - gap if metric.sign > 0 else high + gap
            if low >= 0 > worst:
                worst = 0.0
            # Rounded by far less than the gap: no point may be worse.
            digits = 1 - math.floor(math.log10(gap)) if gap else 12
            found[metric.name] = float(round(worst, digits))
    return found, [m.name for m in metrics if m.name in given]


def tracks(selection, metrics):
    """Tracks to draw: centers over seeds of each point of each method."""
    order, aggregate = selection.order, selection.query.aggregate
    points = [p for group in selection.groups.values() for p in group]
    places, texts = order_places(points, order)
    found = []
    for title, group in _shown(selection).items():
        by_place = {}
        for point in group:
            place = places.get(point.params.get(order), 0.0)
            by_place.setdefault(place, []).append(point)
        for place, members in sorted(by_place.items()):
            values = [
                [p.metrics[m.name] for p in members if m.name in p.metrics]
                for m in metrics
            ]
            centers = [aggregate(v).mean if v else math.nan for v in values]
            name = texts[place] if order in members[0].params else ""
            if np.isfinite(centers).sum() > 1:
                found.append(Track(title, name, np.array(centers)))
    return found


def _shown(selection):
    hidden = selection.query.hide
    return {t: g for t, g in selection.groups.items() if t not in hidden}
