"""Points by curve: a method, and settings that tell its curves apart."""

import posixpath
from collections import Counter

from tensorboard_plugin_tfcap.tradeoff.point import is_number
from tensorboard_plugin_tfcap.tradeoff.point import parameter_texts
from tensorboard_plugin_tfcap.tradeoff.point import value_text
from tfcap.curves import Curve


def group_points(points, order: str | None, titles=None):
    """Groups points by curve.

    A method is a curve; so is each value of a parameter other than `order`
    with which it was run, and each folder where several have the same sweep.

    Args:
        titles: Dict of titles by method, in the order of the legend. Methods
            without one come last, by their names. Defaults to none.

    Returns:
        Dict of lists of points by title, in the order of the legend, and a
        list of notices: of runs with equal settings the latest one counts,
        and runs without the parameter of their curve are left out.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff.curve_groups import group_points
    >>> from tensorboard_plugin_tfcap.tradeoff.point import TradeoffPoint
    >>> points = [
    ...     TradeoffPoint(f"r{i}", "mine", {"lambda": i % 2, "k": i // 2})
    ...     for i in range(4)
    ... ]
    >>> list(group_points(points, "lambda")[0])
    ['mine, k = 0', 'mine, k = 1']
    """
    methods, titles = {}, titles or {}
    for point in points:
        methods.setdefault(point.method, []).append(point)
    names = [name for name in titles if name in methods]
    names += sorted(set(methods) - set(names))
    groups, notices = {}, []
    for name in names:
        for settings, members in _split(methods[name], order).items():
            title = ", ".join([titles.get(name, name), *settings])
            members, left_out = _placed(title, members, order)
            notices += left_out
            for folder, same in _folders(members, order).items():
                whole = f"{title} ({folder})" if folder else title
                while whole in groups:
                    # Another method has this title.
                    whole += f" ({name})"
                groups[whole], notice = _latest(whole, same, order)
                notices += notice
    return groups, notices


def order_places(points, order: str | None):
    """Positions of the values of a parameter along a curve.

    Returns:
        Dict of floats by value, and one of texts such as `"\u03bb = 0.001"` by
        those floats. Strings are placed in alphabetical order.
    """
    values = {p.params[order] for p in points if order in p.params}
    if all(is_number(value) for value in values):
        places = {value: float(value) for value in values}
    else:
        ranked = sorted(values, key=value_text)
        places = {value: float(i) for i, value in enumerate(ranked)}
    texts = parameter_texts(order, values)
    return places, {place: texts[value] for value, place in places.items()}


def is_categorical(points, order: str | None) -> bool:
    """Check whether a parameter has strings as values."""
    values = [p.params[order] for p in points if order in p.params]
    return not all(map(is_number, values))


def seed_counts(groups) -> dict:
    """Numbers of seeds by title."""
    return {t: len({p.seed for p in points}) for t, points in groups.items()}


def measured_curves(groups, x: str, y: str, order: str | None):
    """Curves of one metric against another.

    Returns:
        Dict of dicts of `Curve` by seed, by title; and a list of notices
        about points that lack a metric or the parameter.
    """
    places, _ = order_places([p for g in groups.values() for p in g], order)
    curves, notices = {}, []
    for title, points in groups.items():
        there = [p for p in points if x in p.metrics and y in p.metrics]
        lost = len(points) - len(there)
        bad = [p for p in points if {x, y} & set(p.diverged)]
        if bad:
            names = sorted({x, y} & {n for p in bad for n in p.diverged})
            notices.append(
                f"{title}: {len(bad)} of {len(points)} points are NaN or "
                f"infinite in {' and '.join(names)}, and are left out."
            )
        lost -= len(bad)
        if lost:
            lacks = " and ".join(dict.fromkeys((x, y)))
            notices.append(
                f"{title}: {lost} of {len(points)} points lack {lacks}, and "
                "are left out."
            )
        there, left_out = _placed(title, there, order)
        notices += left_out
        by_seed = {}
        for point in there:
            by_seed.setdefault(point.seed, []).append(point)
        seed_curves = {
            seed: Curve(
                [p.metrics[x] for p in members],
                [p.metrics[y] for p in members],
                [places.get(p.params.get(order), 0.0) for p in members],
            )
            for seed, members in by_seed.items()
        }
        if seed_curves:
            curves[title] = seed_curves
    return curves, notices


def _placed(title, points, order):
    """Points with the parameter of a curve, and notices about the others.

    A method without the parameter is a point.
    """
    ordered = [point for point in points if order in point.params]
    lost = len(points) - len(ordered)
    if not ordered or not lost:
        return points, []
    return ordered, [f"{title}: {lost} points without {order} are left out."]


def _split(points, order):
    """Points by the texts of the other parameters that vary."""
    values = {}
    for point in points:
        for name, value in point.params.items():
            if name != order:
                values.setdefault(name, set()).add(value)
    for name, distinct in values.items():
        if any(name not in point.params for point in points):
            distinct.add(None)
    vary = sorted(
        name for name, distinct in values.items() if len(distinct) > 1
    )
    texts = {
        name: parameter_texts(name, values[name] - {None}) for name in vary
    }
    groups = {}
    for point in sorted(points, key=lambda p: _key(p, vary)):
        key = tuple(
            texts[name][point.params[name]]
            for name in vary
            if name in point.params
        )
        groups.setdefault(key, []).append(point)
    return groups


def _folders(points, order):
    """Points by the folder of their sweep, if a log has several sweeps.

    Folders within a sweep are not separate: a repeated run does not split its
    curve.
    """
    if len({_place(point, order) for point in points}) == len(points):
        return {"": points}
    parts = [posixpath.dirname(point.run).split("/") for point in points]
    for depth in range(1, max(map(len, parts)) + 1):
        groups = {}
        for point, names in zip(points, parts):
            folder = "/".join(names[:depth])
            groups.setdefault(folder, []).append(point)
        if _are_sweeps(list(groups.values()), order):
            return groups
    return {"": points}


def _are_sweeps(groups, order):
    """Check whether repeated points belong to different sweeps."""
    places = [{_place(p, order) for p in members} for members in groups]
    counts = Counter(place for some in places for place in some)
    twice = [
        (members, some)
        for members, some in zip(groups, places)
        if any(counts[place] > 1 for place in some)
    ]
    return bool(twice) and all(
        len(some) == len(counts)
        or len({p.params.get(order, p.seed) for p in members}) > 1
        for members, some in twice
    )


def _latest(title, points, order):
    """One point for each place and seed, and notices about the others."""
    kept = {}
    for point in points:
        place = _place(point, order)
        if place not in kept or kept[place].wall_time <= point.wall_time:
            kept[place] = point
    lost = len(points) - len(kept)
    notice = (
        f"{title}: {lost} runs have the seed and {order or 'settings'} of "
        "another run; the latest one counts."
    )
    return list(kept.values()), [notice] if lost else []


def _place(point, order):
    return point.seed, point.params.get(order)


def _key(point, names):
    """Sorting key: numbers first, then strings."""
    values = [point.params.get(name) for name in names]
    return [
        (not is_number(v), v if is_number(v) else 0, value_text(v))
        for v in values
    ]
