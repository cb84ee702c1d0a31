"""The state of a log, which the page requests before the figure."""

from tensorboard_plugin_tfcap.curve_names import named_curves
from tensorboard_plugin_tfcap.dataset import best_metric
from tensorboard_plugin_tfcap.dataset import default_axes
from tensorboard_plugin_tfcap.metadata import VERSION
from tensorboard_plugin_tfcap.query import Query
from tensorboard_plugin_tfcap.query_error import QueryError
from tensorboard_plugin_tfcap.run_names import BY_ALL
from tensorboard_plugin_tfcap.tradeoff.curve_groups import group_points
from tensorboard_plugin_tfcap.tradeoff.point import is_number
from tensorboard_plugin_tfcap.tradeoff.point import parameter_title
from tensorboard_plugin_tfcap.tradeoff.point import rounded

#: Code that the page offers for an empty log.
SNIPPET = """\
from tensorboard_plugin_tfcap.summary import TradeoffWriter

with TradeoffWriter(
    "logs/mine/lambda=0.001,seed=0", "mine", {"lambda": 0.001}, seed=0
) as writer:
    for step in range(10):
        ...  # train, then evaluate
        writer.point(step, {"cider_d": 0.9, "r@10": 70.0, "mean_rank": 8.5})
"""


def state_view(
    dataset, query, counts, plotly: str | None, logdir: str = ""
) -> dict:
    """The state of a log."""
    metrics = dataset.metrics
    axes = default_axes(metrics, dataset.points) or (None, None)
    order, points = dataset.order(None, query.curve), dataset.points
    if query.curve:
        points = named_curves(points, query.curve, order, dataset.titles)
    groups, _ = group_points(points, order, dataset.titles)
    titles = {"points": "Trade-off points", "scalars": "Scalars"}
    return {
        "version": VERSION,
        "rev": dataset.rev,
        "plotly": plotly,
        "source": dataset.source,
        "sources": [
            {"id": name, "title": titles[name], "runs": count}
            for name, count in counts.items()
        ],
        "runs": [_run(point, dataset) for point in dataset.points],
        "metrics": [
            {"id": m.name, "title": m.title, "better": m.better, "role": m.role}
            for m in metrics.values()
        ],
        "parameters": [
            {"id": name, "title": parameter_title(name), "values": count}
            for name, count in dataset.parameters().items()
        ],
        "methods": list(groups),
        "presets": [
            preset.content()
            for preset in dataset.presets.values()
            if preset.is_drawn_of(metrics)
        ],
        "defaults": {
            "x": axes[0],
            "y": axes[1],
            "order": order,
            "at": "last",
            "by": _by(dataset),
            "seeds": "interval",
            "group": query.group or BY_ALL,
            "level": query.level,
            # Logged references are of the log's data.
            "refs": int(bool(dataset.references)),
        },
        "references": len(dataset.references)
        + len(dataset.comparison.references),
        "notices": dataset.notices,
        "snippet": SNIPPET,
        "logdir": logdir,
    }


def _by(dataset):
    """The metric that tells the best step by default, or `None`."""
    try:
        return best_metric(dataset.metrics, Query()).name
    except QueryError:
        # The user can choose its direction.
        return (default_axes(dataset.metrics) or [None])[0]


def _run(point, dataset):
    return {
        "run": point.run,
        "method": dataset.title(point.method),
        "params": {
            name: rounded(value) if is_number(value) else value
            for name, value in point.params.items()
        },
        "seed": None if point.seed is None else str(point.seed),
        "step": point.step,
        "samples": point.samples,
    }
