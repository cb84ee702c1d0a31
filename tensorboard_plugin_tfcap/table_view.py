"""Tables beside the figure."""

import math
from dataclasses import replace

from tensorboard_plugin_tfcap.tradeoff.level_tables import level_table
from tensorboard_plugin_tfcap.tradeoff.metric_names import metric_pool
from tensorboard_plugin_tfcap.tradeoff.metric_names import own_pool
from tensorboard_plugin_tfcap.tradeoff.metric_names import recall_at
from tensorboard_plugin_tfcap.tradeoff.table import TradeoffTable
from tensorboard_plugin_tfcap.tradeoff.table import cell
from tensorboard_plugin_tfcap.tradeoff.table import number
from tfcap.curves import Interval
from tfcap.curves import curve_areas


def level_tables(selection, line: dict | None):
    """The two tables that a line implies.

    Returns:
        Dict of `TradeoffTable`: `"level"` of the metrics like that of the
        other axis, and `"other"` of those like that of the line itself.
    """
    if line is None:
        return {}
    x, y = selection.x, selection.y
    held, read = (x, y) if line["along"] == "x" else (y, x)
    options = {
        "order": selection.order,
        "of": "recall" if line["along"] == "x" else "naturalness",
        "baseline": selection.query.baseline,
        "level": selection.query.level,
    }
    columns = {
        "level": _alike(selection, read, held),
        "other": _alike(selection, held, held),
    }
    groups = {
        title: points
        for title, points in selection.groups.items()
        if title in selection.curves
    }
    tables = {}
    for name, metrics in columns.items():
        metrics = [m for m in metrics if m.name != held.name]
        if name == "other":
            shown = {m.name for m in columns["level"]}
            metrics = [m for m in metrics if m.name not in shown]
        if metrics:
            table = level_table(
                name, groups, metrics, held, line["value"], **options
            )
            role = metrics[0].role
            title = "what is read off" if role == "other" else role
            tables[name] = replace(table, title=f"{title} {table.title}")
    return tables


def area_table(selection):
    """The area under each method's curves."""
    areas, notes = curve_areas(selection.curves, selection.query.level)
    rows = [
        [
            a["method"],
            number(a["area"]),
            _mean_cell(a),
            str(a["seeds"])
            if a["seeds"] == a["of"]
            else f"{a['seeds']}/{a['of']}",
        ]
        for a in areas
    ]
    span = ""
    if areas:
        span = f", from {number(areas[0]['low'])} to {number(areas[0]['high'])}"
    x, y = selection.x.title, selection.y.title
    best = []
    if len(areas) > 1:
        means = [selection.y.sign * a["mean"] for a in areas]
        best = [[i, 1] for i, m in enumerate(means) if m == max(means)]
        best += [[i, 2] for i, _ in best]
    table = TradeoffTable(
        "area",
        f"area under {y} over {x}{span}",
        ["", "area", f"mean {y}", "seeds"],
        rows,
        notes,
        best,
    )
    return table, areas


def table_json(table):
    """A table as a page takes it."""
    return {
        "id": table.name,
        "title": table.title,
        "head": table.head,
        "rows": table.rows,
        "best": table.best,
        "notes": table.notes,
    }


def rows_table(rows, selection):
    """The points of the figure as a table."""
    head = ["method", "parameter"]
    head += [m.title if m else "" for m in (selection.x, selection.y)]
    lines = [
        [
            row["method"],
            row["label"],
            *(f"{row[axis]:.6g}" for axis in "xy"),
            "" if row["seeds"] is None else str(row["seeds"]),
            " ".join(run["run"] for run in row["runs"]),
        ]
        for row in rows
    ]
    return TradeoffTable(
        "points", "all points", [*head, "seeds", "runs"], lines, []
    )


def _alike(selection, metric, first):
    """Metrics of a role, first the axis itself, without other pools' ones.

    Recall by every listener comes before other metrics of the one asked for.
    """
    pool, own = metric_pool(metric.name), own_pool(metric.name)
    known = [
        m
        for m in selection.dataset.metrics.values()
        if m.role == metric.role and own_pool(m.name) == own
    ]
    alike = [m for m in known if recall_at(m.name)]
    alike += [
        m
        for m in known
        if metric_pool(m.name) == pool and not recall_at(m.name)
    ]
    if metric.role == "other":
        return [metric] if metric.name != first.name else []
    return alike


def _count(count, of):
    return str(of) if count == of else f"{count}/{of}"


def _mean_cell(area):
    low, high = area["interval"]
    if low is None or high is None:
        low, high = -math.inf, math.inf
    return cell(Interval(area["mean"], low, high), 3)
