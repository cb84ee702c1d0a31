"""A run's way through training."""

from dataclasses import replace

from tensorboard_plugin_tfcap.figure_view import CONFIG
from tensorboard_plugin_tfcap.overlays import padded_range
from tensorboard_plugin_tfcap.overlays import path_traces
from tensorboard_plugin_tfcap.query_error import QueryError
from tensorboard_plugin_tfcap.tradeoff.panels import Panel
from tensorboard_plugin_tfcap.tradeoff.panels import axis_title
from tensorboard_plugin_tfcap.tradeoff.plotly_figure import panels_figure
from tensorboard_plugin_tfcap.tradeoff.point import rounded


def measured_path(points, axes):
    """Those points of a run that have both metrics.

    Where no step has both, such as where training and validation are logged
    at steps of their own, each is the last value so far.
    """
    names = {metric.name for metric in axes}
    whole = [p for p in points if names <= set(p.metrics)]
    if whole:
        return whole
    path, seen = [], {}
    for point in points:
        new = names & set(point.metrics)
        seen |= {name: point.metrics[name] for name in new}
        if new and len(seen) == len(names):
            path.append(replace(point, metrics=dict(seen)))
    return path


def trajectory_view(run: str, points, dataset, query) -> dict:
    """All steps of a run, and their figure.

    Raises:
        QueryError: If there is no such run.
    """
    axes = dataset.axes(query.x, query.y)
    if axes is None or not points:
        raise QueryError(
            f"`run` must be one of the log. Received: run={run!r:.120}."
        )
    x, y = axes
    path = measured_path(points, axes)
    panel = Panel("", axis_title(x), axis_title(y), [])
    figure = panels_figure([panel], dark=query.dark)
    figure["layout"]["autosize"] = True
    figure["layout"]["uirevision"] = f"{run} {x.name} {y.name}"
    if path:
        title = dataset.title(path[0].method)
        figure["data"] = path_traces(
            *(path, x, y, title, query.step, query.dark, dataset.known)
        )
        for name, metric in zip("xy", axes):
            values = [point.metrics[metric.name] for point in path]
            figure["layout"][f"{name}axis"]["range"] = padded_range(values)
    return {
        "run": run,
        "x": x.name,
        "y": y.name,
        "points": [
            {
                "step": point.step,
                "wall_time": point.wall_time,
                "x": rounded(point.metrics[x.name]),
                "y": rounded(point.metrics[y.name]),
                "samples": point.samples,
            }
            for point in path
        ],
        "figure": {**figure, "config": CONFIG},
    }
