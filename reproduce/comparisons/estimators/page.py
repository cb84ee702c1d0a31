"""Tables of all estimators, as text and for the page that reads them out."""

from reproduce.comparisons.estimators.costs import GROWN
from reproduce.comparisons.estimators.registry import ESTIMATORS

COLUMNS = ("bias", "deviation", "cosine", "correlation")
#: Titles of the tables.
TITLES = ("Bias and deviation", "Along an axis", "Cost")
_SIZES = {"words": "V", "length": "T", "samples": "S", "draws": "K"}


def table(record: dict) -> str:
    """All estimators, as text: means with 95 % intervals, and costs."""
    lines = _lines(record, 3)
    widths = [max(map(len, column)) for column in zip(*lines)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths))
        for line in lines
    )


def tables(record: dict) -> dict[str, str]:
    """Tables in Markdown by their titles."""
    lines = _lines(record, 2)
    for line in lines[1:]:
        line[1:1] = [getattr(ESTIMATORS.get(line[0]), "made_of", "")]
    lines[0][1:1] = ["made of"]
    return dict(
        zip(
            TITLES,
            (
                _markdown(lines, 2),
                _markdown(_along(record), 3),
                _markdown(_grown(record), 1),
            ),
        )
    )


def _lines(record, digits):
    lines = [["estimator", *COLUMNS, "cost"]]
    for name, found in record["estimators"].items():
        cells = [_interval(found[kind], digits) for kind in COLUMNS]
        cost = record["costs"].get(name)
        cells.append("" if cost is None else f"{cost:.1f}")
        lines.append([name, *cells])
    return lines


def _interval(values, digits):
    mean, low, high = (f"{round(x, digits) + 0.0:.{digits}f}" for x in values)
    return f"{mean} [{low}, {high}]"


def _along(record):
    """Estimators as a setting moves, a value a line."""
    lines = [["estimator", "setting", "value", *COLUMNS]]
    for axis, of in record.get("axes", {}).items():
        for name, points in of.items():
            lines += [
                [
                    *(name, axis, f"{point['value']:g}"),
                    *(_interval(point[kind], 2) for kind in COLUMNS),
                ]
                for point in points
            ]
    return lines


def _grown(record):
    """Costs as sizes grow: an estimator a line, a size a column."""
    grown = record.get("grown", {})
    places = [(size, value) for size in GROWN for value in GROWN[size]]
    lines = [["estimator", *(f"{_SIZES[s]} {v:,}" for s, v in places)]]
    for name in ESTIMATORS:
        cells = {
            (size, point["value"]): f"{point['cost']:.1f}"
            for size, of in grown.items()
            for point in of.get(name, ())
        }
        if cells:
            lines.append([name, *(cells.get(place, "") for place in places)])
    return lines if grown else [["Not measured yet."]]


def _markdown(lines, left):
    """Rows of cells, the first columns flush left."""
    head, *rest = lines
    rule = "---|" * left + "--:|" * (len(head) - left)
    head, *rest = (f"| {' | '.join(line)} |" for line in [head, *rest])
    return "\n".join([head, f"|{rule}", *rest])
