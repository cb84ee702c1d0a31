"""Tables of all estimators."""

from reproduce.comparisons.estimators.registry import ESTIMATORS
from tensorboard_plugin_tfcap.tradeoff import markdown_table

COLUMNS = ("bias", "deviation", "cosine", "correlation")


def tables(record: dict) -> dict[str, str]:
    """Tables in Markdown by their titles."""
    return {
        "Bias and deviation": _estimators(record),
        "Along an axis": _along(record),
    }


def _estimators(record):
    """Means with 95 % intervals, and costs."""
    rows = [
        [
            *(name, ESTIMATORS[name].made_of),
            *(_interval(found[kind]) for kind in COLUMNS),
            f"{record['costs'][name]:.1f}",
        ]
        for name, found in record["estimators"].items()
    ]
    return markdown_table(["estimator", "made of", *COLUMNS, "cost"], rows)


def _interval(values):
    mean, low, high = (f"{round(x, 2) + 0.0:.2f}" for x in values)
    return f"{mean} [{low}, {high}]"


def _along(record):
    """Estimators along a setting, one line per value."""
    rows = [
        [
            *(name, axis, f"{point['value']:g}"),
            *(_interval(point[kind]) for kind in COLUMNS),
        ]
        for axis, lines in record["axes"].items()
        for name, points in lines.items()
        for point in points
    ]
    return markdown_table(["estimator", "setting", "value", *COLUMNS], rows)
