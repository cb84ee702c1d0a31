"""Panels of a preset: several metrics, or a parameter."""

from collections import Counter
from dataclasses import replace

from tensorboard_plugin_tfcap.conditions import is_value
from tensorboard_plugin_tfcap.query_error import QueryError
from tensorboard_plugin_tfcap.rows import place_members
from tensorboard_plugin_tfcap.tradeoff.curve_groups import group_points
from tensorboard_plugin_tfcap.tradeoff.curve_groups import measured_curves
from tensorboard_plugin_tfcap.tradeoff.curve_groups import order_places
from tensorboard_plugin_tfcap.tradeoff.curve_groups import seed_counts
from tensorboard_plugin_tfcap.tradeoff.metric_names import named_metric
from tensorboard_plugin_tfcap.tradeoff.panels import axes_panel
from tensorboard_plugin_tfcap.tradeoff.panels import parameter_panel
from tensorboard_plugin_tfcap.tradeoff.point import is_number
from tensorboard_plugin_tfcap.tradeoff.point import parameter_texts
from tensorboard_plugin_tfcap.tradeoff.point import value_text


def preset_panels(selection, preset):
    """Makes the panels of a preset.

    Returns:
        List of `Panel`; a list of the runs of their marks, as of
        `place_members()`; and a list of pairs of their axes, each a `Metric`
        or `None`.

    Raises:
        QueryError: If a method was not run with the requested value.
    """
    dataset, query, order = selection.dataset, selection.query, selection.order
    every = [p for group in selection.groups.values() for p in group]
    points = _usual(every, preset.usual, query.usual)
    groups, _ = group_points(points, order, dataset.titles)
    places, _ = order_places(points, order)
    behind = place_members(groups, places, order)
    y = _metric(dataset, query.y or preset.y)
    panels, members, axes = [], [], []
    for about in preset.panels:
        x, title = _metric(dataset, about["x"]), about.get("title", "")
        if parameter := about.get("parameter"):
            families = _by_value(every, dataset, about)
            curves, notices = _family_curves(families, x, y, order, parameter)
            panel = parameter_panel(
                *(curves, parameter, x.title, y.title),
                title=f"{title} ".lstrip(),
                aggregate=query.aggregate,
                seeds=seed_counts(families),
            )
            members.append({})
            axes.append((named_metric(parameter), y))
        else:
            panel, notices = axes_panel(
                *(groups, x, y, order, query.seeds, query.at),
                query.aggregate,
            )
            panel = replace(panel, title=title or x.title)
            members.append(behind)
            axes.append((x, y))
        # Not in the panel, where they would hide marks.
        selection.notices.extend(
            n for n in notices if n not in selection.notices
        )
        panels.append(panel)
    return panels, members, axes


def _metric(dataset, name):
    return dataset.metrics.get(name) or named_metric(name)


def _usual(points, usual, asked):
    """Points with one value of a parameter, of methods that have several."""
    for name, value in usual.items():
        values = Counter(p.params[name] for p in points if name in p.params)
        if asked is not None:
            value = next((v for v in values if is_value(v, asked)), asked)
        elif values and value not in values:
            value = max(sorted(values, key=value_text), key=values.get)
        by_method = {}
        for point in points:
            by_method.setdefault(point.method, []).append(point)
        points = []
        for method, members in by_method.items():
            several = {p.params.get(name) for p in members}
            if len(several) > 1:
                members = [p for p in members if p.params.get(name) == value]
            if not members:
                raise QueryError(
                    f"`usual` must be a {name} that {method!r} was run with. "
                    f"Received: usual={value!r}, of "
                    f"{', '.join(sorted(map(value_text, several)))}."
                )
            points += members
    return points


def _family_curves(families, x, y, order, parameter):
    """Curves by pairs of a title and a value, and notices."""
    texts = parameter_texts(parameter, [value for _, value in families])
    pairs = {f"{t}, {texts[value]}": (t, value) for t, value in families}
    groups = {text: families[pair] for text, pair in pairs.items()}
    curves, notices = measured_curves(groups, x.name, y.name, order)
    return {pairs[text]: found for text, found in curves.items()}, notices


def _by_value(points, dataset, about):
    """Points of methods that were run with several values of a parameter.

    Returns:
        Dict of lists of points by pairs of a title and a value.
    """
    families = {}
    for point in points:
        value = point.params.get(about["parameter"])
        if is_number(value):
            values = families.setdefault(point.method, {})
            values.setdefault(float(value), []).append(point)
    for method, ends in about.get("ends", {}).items():
        for end, value in ends.items() if method in families else ():
            stand_in = [point for point in points if point.method == end]
            if stand_in:
                families[method].setdefault(value, stand_in)
    return {
        (dataset.title(method), value): families[method][value]
        for method in [*dataset.titles, *families]
        if len(families.get(method, ())) > 1
        for value in sorted(families[method])
    }
