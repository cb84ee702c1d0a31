"""Tables below the figure."""

import math
from dataclasses import replace

from tensorboard_plugin_tfcap.columns import run_values
from tensorboard_plugin_tfcap.tradeoff.curve_groups import measured_curves
from tensorboard_plugin_tfcap.tradeoff.curve_groups import seed_counts
from tensorboard_plugin_tfcap.tradeoff.level_tables import brackets_note
from tensorboard_plugin_tfcap.tradeoff.level_tables import crossing_of
from tensorboard_plugin_tfcap.tradeoff.level_tables import directions_note
from tensorboard_plugin_tfcap.tradeoff.level_tables import level_table
from tensorboard_plugin_tfcap.tradeoff.metric_names import metric_pool
from tensorboard_plugin_tfcap.tradeoff.metric_names import own_pool
from tensorboard_plugin_tfcap.tradeoff.metric_names import recall_at
from tensorboard_plugin_tfcap.tradeoff.point import value_text
from tensorboard_plugin_tfcap.tradeoff.table import TradeoffTable
from tensorboard_plugin_tfcap.tradeoff.table import cell
from tensorboard_plugin_tfcap.tradeoff.table import number
from tensorboard_plugin_tfcap.tradeoff.table import seeds_text
from tfcap.curves.aggregate import Interval
from tfcap.curves.areas import curve_areas


def level_tables(selection, line: dict | None):
    """The two tables at the line.

    Returns:
        Dict of `TradeoffTable`: `"level"` of the metrics like that of the
        other axis, and `"other"` of those like that of the line itself.
    """
    if line is None or not selection.joined:
        return {}
    held, read = selection.held_axes()
    options = {
        "order": selection.order,
        "baseline": selection.query.baseline,
        "aggregate": selection.query.aggregate,
    }
    columns = {
        "level": alike(selection, read, held),
        "other": alike(selection, held, held),
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
            title = "value" if role == "other" else role
            tables[name] = replace(table, title=f"{title} {table.title}")
    return tables


def area_table(selection):
    """The area under each method's curves over the metric of the line."""
    held, metric = selection.held_axes()
    aggregate, crossing = selection.query.aggregate, crossing_of(held)
    curves = selection.curves
    if held is not selection.x:
        groups = {title: selection.groups[title] for title in curves}
        pair = (held.name, metric.name)
        curves, _ = measured_curves(groups, *pair, selection.order)
    areas, notes = curve_areas(
        curves,
        crossing=crossing,
        aggregate=aggregate,
        seeds=seed_counts(selection.groups),
    )
    rows = [
        [
            a["method"],
            number(a["area"]),
            _mean_cell(a),
            seeds_text(a["seeds"], a["of"]),
        ]
        for a in areas
    ]
    span = ""
    if areas:
        span = f", from {number(areas[0]['low'])} to {number(areas[0]['high'])}"
        notes = [
            brackets_note(aggregate),
            directions_note([metric]),
            f"Each seed's mean is that of {metric.title} over this range; "
            "where a curve crosses a value several times, the "
            f"{crossing} crossing counts.",
            *notes,
        ]
    best = []
    if len(areas) > 1 and metric.sign:
        means = [metric.sign * a["mean"] for a in areas]
        best = [[i, 1] for i, m in enumerate(means) if m == max(means)]
        best += [[i, 2] for i, _ in best]
    return TradeoffTable(
        "area",
        f"area under {metric.title} over {held.title}{span}",
        ["", "area", f"mean {metric.title}", "seeds"],
        rows,
        notes,
        best,
        [_area_record(a, held, metric, aggregate, crossing) for a in areas],
    )


def _area_record(area, held, metric, aggregate, crossing):
    low, high = area["interval"]
    return {
        "method": area["method"],
        "metric": metric.name,
        "better": metric.better,
        "over_metric": held.name,
        "from": area["low"],
        "to": area["high"],
        "crossing": crossing,
        "area": area["area"],
        "mean": area["mean"],
        "low": low,
        "high": high,
        "center": aggregate.center,
        "interval": aggregate.bounds,
        "level": aggregate.level,
        "n": area["seeds"],
        "seeds": area["of"],
    }


def table_json(table):
    """A table as JSON for the page."""
    names = "title", "head", "rows", "best", "notes"
    return {"id": table.name, **{n: getattr(table, n) for n in names}}


def rows_table(view, selection):
    """The points of a figure as a table, without hidden methods."""
    rows = [row for row in view["rows"] if not row["hidden"]]
    panels, aggregate = view["panels"], selection.query.aggregate
    extra = [head for head in view["head"] if head.get("extra")]
    lines = [
        [*_row_cells(row, panels), *_row_extra(row, extra), *_row_runs(row)]
        for row in rows
    ]
    head = ["method", "parameter", panels[0]["x_title"], panels[0]["y_title"]]
    if len(panels) > 1:
        # Panels have different metrics.
        head[2:] = ["panel", "across", "x", "up", "y"]
    metrics = selection.dataset.metrics
    names = {panel[axis] for panel in panels for axis in "xy"}
    known = [metrics[name] for name in metrics if name in names]
    values = run_values(selection)
    return TradeoffTable(
        "points",
        "all points",
        [*head, *(one["title"] for one in extra), "seeds", "steps", "runs"],
        lines,
        [brackets_note(aggregate), directions_note(known)] if known else [],
        records=[
            record
            for row in rows
            for record in _point_records(row, panels, selection, values)
        ],
    )


def _row_cells(row, panels):
    texts = [_value_cell(row, axis) for axis in "xy"]
    if len(panels) > 1:
        panel = panels[row["panel"]]
        x, y = panel["x_title"], panel["y_title"]
        texts = [panel["title"], x, texts[0], y, texts[1]]
    return [row["method"], row["label"], *texts]


def _row_extra(row, heads):
    values = row.get("columns", {})
    values = [values.get(head["id"]) for head in heads]
    return ["" if value is None else value_text(value) for value in values]


def _row_runs(row):
    count = row["seeds"]
    seeds = "" if count is None else seeds_text(count, row["of"])
    return seeds, row["step"], " ".join(run["run"] for run in row["runs"])


def _value_cell(row, axis):
    text, interval = f"{row[axis]:.6g}", row[f"{axis}_interval"]
    if interval is None:
        return text
    return f"{text} [{', '.join(f'{bound:.6g}' for bound in interval)}]"


def _point_records(row, panels, selection, values):
    """A mark as records, one for each run; one record if it has no run."""
    metrics, aggregate = selection.dataset.metrics, selection.query.aggregate
    panel, columns = panels[row["panel"]], selection.query.columns
    about = {
        "method": row["method"],
        "parameter": row["label"],
        "panel": panel["title"],
        "published": int(row["reference"]),
    }
    whole = {"interval": aggregate.bounds, "level": aggregate.level}
    whole |= {"n": len(row["runs"]), "seeds": row["of"]}
    for axis in "xy":
        measured = [run[axis] for run in row["runs"]]
        whole[f"{axis}_{aggregate.center}"] = row[axis]
        bounds = row[f"{axis}_interval"] or (None, None)
        if measured:
            _, *bounds = aggregate(measured)
        whole[f"{axis}_low"], whole[f"{axis}_high"] = bounds
    for run in row["runs"] or [{"x": row["x"], "y": row["y"]}]:
        mine = {name: run.get(name) for name in ("seed", "step", "run")}
        for axis in "xy":
            name = panel[axis] or ""
            mine[f"{axis}_metric"] = name
            better = metrics[name].better if name in metrics else None
            mine[f"{axis}_better"] = better
            mine[axis] = run[axis]
        own = values.get(run.get("run"), {})
        more = {f"column {name}": own.get(name) for name in columns}
        yield {**about, **mine, **whole, **more}


def alike(selection, metric, first):
    """Metrics of the axis' role, of the same decoding and split.

    Recalls by all listeners precede other metrics by the axis' listener.
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


def _mean_cell(area):
    low, high = area["interval"]
    if low is None or high is None:
        low, high = -math.inf, math.inf
    return cell(Interval(area["mean"], low, high), 3)
