"""The points of a figure as rows of a table, one for each mark."""

import math

from tensorboard_plugin_tfcap.tradeoff.point import rounded
from tensorboard_plugin_tfcap.tradeoff.point import value_text
from tensorboard_plugin_tfcap.tradeoff.style import on_paper
from tensorboard_plugin_tfcap.tradeoff.style import styles


def point_rows(panels, members, axes, query, known=()) -> list[dict]:
    """One row for each mark, in the order of the marks.

    Args:
        members: List with a dict for each panel: by title, dicts of lists of
            points by place, the runs of each mark.
    """
    titles = [line.title for panel in panels for line in panel.lines]
    rows, looks = [], styles(titles, known)
    for number, panel in enumerate(panels):
        for line in panel.lines:
            by_place = members[number].get(line.title, {})
            seeds = {p.seed for row in by_place.values() for p in row}
            about = {
                "panel": number,
                "method": line.title,
                "of": len(seeds) or None,
                "hidden": line.title in query.hide,
                "color": on_paper(looks[line.title][0], query.dark),
            }
            for place in range(len(line.x)):
                points = by_place.get(float(line.places[place]), [])
                row = _row(line, place, points, axes[number])
                rows.append({**row, **about})
    return rows


def reference_rows(references, x, y, hidden: bool = False) -> list[dict]:
    """Rows of published points, of a single panel."""
    return [
        {
            "id": f"reference|{reference.title}|{reference.source}",
            "panel": 0,
            "method": reference.title,
            "label": reference.source,
            "params": {},
            "x": reference.metrics[x.name],
            "y": reference.metrics[y.name],
            **dict.fromkeys(("x_interval", "y_interval", "seeds", "of")),
            **{"pareto": False, "reference": True, "hidden": hidden},
            **{"step": "", "runs": [], "color": None},
        }
        for reference in references
    ]


def place_members(groups, places, order: str | None) -> dict:
    """The points behind each mark of a panel."""
    members = {}
    for title, points in groups.items():
        for point in points:
            place = places.get(point.params.get(order), 0.0)
            members.setdefault(title, {}).setdefault(place, []).append(point)
    return members


def _row(line, place, points, axes):
    x, y = (metric.name if metric else None for metric in axes)
    there = [p for p in points if x in p.metrics and y in p.metrics]
    runs = [
        {
            "run": point.run,
            "seed": None if point.seed is None else str(point.seed),
            "step": point.step,
            "x": rounded(point.metrics[x]),
            "y": rounded(point.metrics[y]),
            "samples": point.samples,
        }
        for point in there
    ]
    label = line.names[place]
    steps = sorted({point.step for point in there})
    return {
        "id": "|".join([line.title, label or value_text(line.places[place])]),
        "label": label,
        "params": _shared(there),
        "x": rounded(line.x[place]),
        "y": rounded(line.y[place]),
        "x_interval": _bounds(line.left, line.right, place),
        "y_interval": _bounds(line.low, line.high, place),
        "seeds": len(there) or None,
        "step": " to ".join(map(str, dict.fromkeys((*steps[:1], *steps[-1:])))),
        "pareto": False,
        "reference": False,
        "runs": runs,
    }


def _shared(points):
    """Parameters that all runs of a mark have in common."""
    if not points:
        return {}
    first, *others = (point.params for point in points)
    return {
        name: value
        for name, value in first.items()
        if all(other.get(name) == value for other in others)
    }


def _bounds(low, high, place):
    if low is None or not math.isfinite(low[place]):
        return None
    return [rounded(low[place]), rounded(high[place])]
