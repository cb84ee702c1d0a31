"""Tables of values that are read off at a line across the figure."""

import math

from tensorboard_plugin_tfcap.tradeoff.curve_groups import measured_curves
from tensorboard_plugin_tfcap.tradeoff.table import TradeoffTable
from tensorboard_plugin_tfcap.tradeoff.table import cell
from tensorboard_plugin_tfcap.tradeoff.table import found_cell
from tensorboard_plugin_tfcap.tradeoff.table import number
from tensorboard_plugin_tfcap.tradeoff.table import seeds_cell
from tfcap.curves import compare_curves

#: More columns than these nobody compares.
_MOST = 8
#: What stands where a curve does not go.
NONE = "\u2014"


def level_table(
    name: str, groups, columns, fixed, at: float, **options
) -> TradeoffTable:
    """Metrics of every method where one metric is as asked.

    Each seed's curve is read off by itself, never beyond its points.

    Args:
        **options: `order`, the parameter along a curve; `of`, `"recall"`
            where the level is one of the abscissa, `"naturalness"` where it
            is of the ordinate: which of several crossings counts hangs on
            it; `baseline`, a title, whose differences are added; and `level`
            of intervals.
    """
    of, order = options["of"], options.get("order")
    baseline, level = options.get("baseline"), options.get("level", 0.95)
    columns = columns[:_MOST]
    by_title, spans = [], {}
    for column in columns:
        pair = (fixed, column) if of == "recall" else (column, fixed)
        curves, _ = measured_curves(groups, *(m.name for m in pair), order)
        base = baseline if baseline in curves else None
        by_title.append(compare_curves(curves, at, of, base, level))
        along = "naturalness" if of == "recall" else "recall"
        for title, by_seed in curves.items():
            spans.setdefault(title, []).extend(
                value
                for curve in by_seed.values()
                for value in getattr(curve, along)
            )
    rows = [
        [
            title,
            *(found_cell(c, title, _digits(c), NONE) for c in by_title),
            *_gaps(by_title, title, baseline),
            seeds_cell([c.get(title) for c in by_title]),
        ]
        for title in groups
    ]
    head = ["", *(column.title for column in columns)]
    if baseline is not None:
        head += [f"\u0394 {column.title}" for column in columns]
    title = f"at {fixed.title} = {number(at)}"
    return TradeoffTable(
        name,
        title,
        [*head, "seeds"],
        rows,
        list(_beyond(by_title, groups, spans, fixed)),
        _best(by_title, columns, list(groups)),
    )


def _gaps(by_title, title, baseline):
    if baseline is None:
        return []
    cells = []
    for column in by_title:
        point = column.get(title)
        gap = point and point.difference
        lacks = gap is None or title == baseline or math.isnan(gap.mean)
        cells.append(NONE if lacks else cell(gap, _digits(column), "+"))
    return cells


def _best(by_title, columns, titles):
    """Cells of the best mean of each column."""
    best = []
    for place, (column, metric) in enumerate(zip(by_title, columns)):
        means = {
            title: metric.sign * point.interval.mean
            for title, point in column.items()
            if not math.isnan(point.interval.mean)
        }
        if len(means) > 1:
            most = max(means.values())
            best += [
                [titles.index(title), place + 1]
                for title, mean in means.items()
                if mean == most
            ]
    return best


def _beyond(by_title, groups, spans, fixed):
    """Notes of methods that do not go to the level."""
    for title in groups:
        points = [column[title] for column in by_title if title in column]
        if not points:
            yield f"{title}: no point has what is asked."
            continue
        out = max(point.seeds - len(point.values) for point in points)
        if out:
            low, high = min(spans[title]), max(spans[title])
            span = number(low)
            if low != high:
                span += f" to {number(high)}"
            yield (
                f"{title}: {out} of {points[0].seeds} seeds do not go there; "
                f"{fixed.title} is {span}."
            )


def _digits(column):
    """Digits after the point: three for what is small."""
    means = [abs(p.interval.mean) for p in column.values()]
    means = [mean for mean in means if not math.isnan(mean)]
    return 3 if not means or max(means) < 10 else 1
