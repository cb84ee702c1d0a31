"""Tables of all estimators, for the page that reads them out."""

from reproduce.comparisons.estimators.costs import GROWN
from reproduce.comparisons.estimators.registry import ESTIMATORS
from tensorboard_plugin_tfcap.tradeoff import markdown_table

COLUMNS = ("bias", "deviation", "cosine", "correlation")
_SIZES = {"words": "V", "length": "T", "samples": "S", "draws": "K"}


def tables(record: dict) -> dict[str, str]:
    """Tables in Markdown by their titles."""
    return {
        "Bias and deviation": _estimators(record),
        "Along an axis": _along(record),
        "Cost": _grown(record),
    }


def _estimators(record):
    """Means with 95 % intervals, and costs."""
    rows = [
        [
            *(name, ESTIMATORS[name].made_of),
            *(_interval(found[kind]) for kind in COLUMNS),
            _number(record["costs"].get(name)),
        ]
        for name, found in record["estimators"].items()
    ]
    return markdown_table(["estimator", "made of", *COLUMNS, "cost"], rows)


def _interval(values):
    mean, low, high = (f"{round(x, 2) + 0.0:.2f}" for x in values)
    return f"{mean} [{low}, {high}]"


def _number(cost):
    return "" if cost is None else f"{cost:.1f}"


def _along(record):
    """Estimators as a setting moves, a value a line."""
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


def _grown(record):
    """Costs as sizes grow: an estimator a line, a size a column."""
    found = {
        (name, size, point["value"]): point["cost"]
        for size, lines in record["grown"].items()
        for name, points in lines.items()
        for point in points
    }
    places = [(size, value) for size in GROWN for value in GROWN[size]]
    rows = [
        [name, *(_number(found.get((name, *place))) for place in places)]
        for name in ESTIMATORS
        if any((name, *place) in found for place in places)
    ]
    head = [f"{_SIZES[size]} {value:,}" for size, value in places]
    return markdown_table(["estimator", *head], rows)
