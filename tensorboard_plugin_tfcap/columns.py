"""Further columns of the table of points: any metric, any parameter."""

from statistics import fmean

from tensorboard_plugin_tfcap.query_error import QueryError
from tensorboard_plugin_tfcap.tradeoff.point import is_number
from tensorboard_plugin_tfcap.tradeoff.point import parameter_title
from tensorboard_plugin_tfcap.tradeoff.point import rounded


def add_columns(rows, selection) -> list[dict]:
    """Adds the columns that a query asks for to each row.

    A metric's value is the mean over the row's runs; several values of a
    parameter are listed.

    Returns:
        List of dicts of `id`, `title` and `extra`, the columns' headings.

    Raises:
        QueryError: If there is no such metric or parameter.
    """
    heads = [_head(name, selection) for name in selection.query.columns]
    runs = run_values(selection)
    for row in rows if heads else ():
        mine = [runs.get(run["run"], {}) for run in row["runs"]]
        row["columns"] = {
            name: _joined(
                [values[name] for values in mine if name in values],
                name in selection.dataset.metrics,
            )
            for name in selection.query.columns
        }
    return heads


def run_values(selection) -> dict:
    """Dicts of the values of each run in these columns, by run."""
    wanted = selection.query.columns
    values = {}
    for points in selection.groups.values() if wanted else ():
        for point in points:
            settings = selection.settings.get(point.run, point.params)
            known = {**settings, **point.metrics}
            values[point.run] = {n: known[n] for n in wanted if n in known}
    return values


def _joined(values, is_metric):
    if is_metric and values and all(map(is_number, values)):
        values = [fmean(values)]
    distinct = [
        rounded(value) if is_number(value) else value
        for value in dict.fromkeys(values)
    ]
    if len(distinct) < 2:
        return distinct[0] if distinct else None
    return ", ".join(map(str, distinct))


def _head(name, selection):
    metrics = selection.dataset.metrics
    parameters = {n for params in selection.settings.values() for n in params}
    if name not in metrics and name not in parameters and selection.settings:
        raise QueryError(
            "`columns` must be metrics or parameters of the log. Received: "
            f"columns={name!r:.80}."
        )
    metric = metrics.get(name)
    title = metric.title if metric else parameter_title(name)
    return {"id": name, "title": title, "extra": True}
