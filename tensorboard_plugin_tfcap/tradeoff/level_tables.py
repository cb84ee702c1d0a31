"""Tables of values at a line across the figure."""

import math

from tensorboard_plugin_tfcap.tradeoff.curve_groups import measured_curves
from tensorboard_plugin_tfcap.tradeoff.curve_groups import seed_counts
from tensorboard_plugin_tfcap.tradeoff.point import parameter_title
from tensorboard_plugin_tfcap.tradeoff.table import TradeoffTable
from tensorboard_plugin_tfcap.tradeoff.table import cell
from tensorboard_plugin_tfcap.tradeoff.table import found_cell
from tensorboard_plugin_tfcap.tradeoff.table import number
from tensorboard_plugin_tfcap.tradeoff.table import seeds_cell
from tensorboard_plugin_tfcap.tradeoff.table import unreached
from tfcap.curves import compare_curves
from tfcap.curves.aggregate import Aggregate

#: Most columns.
_MOST = 8
#: Cell of a curve that does not reach the level.
NONE = "\u2014"


def crossing_of(held) -> str:
    """Which of several crossings of a level counts.

    It depends on the metric that is held alone, so that swapping axes changes
    no value: the weakest setting that reaches a recall, and the strongest
    setting that still reaches a level of anything else.
    """
    return "first" if held.role == "recall" else "last"


def brackets_note(aggregate: Aggregate) -> str:
    """The meaning of the numbers and brackets of a table."""
    words = aggregate.words
    if aggregate.bounds == "student":
        words += " by Student's t, which may go beyond a metric's range"
    return (
        f"{aggregate.centers.capitalize()} over seeds; in brackets, the "
        f"{words}; without brackets, one seed. Units are as logged."
    )


def directions_note(metrics) -> str:
    """The direction in which each metric is better."""
    titles = {}
    for metric in metrics:
        titles.setdefault(metric.better, []).append(metric.title)
    texts = [f"{way} {', '.join(names)}" for way, names in titles.items()]
    return f"Better: {'; '.join(texts if texts[1:] else titles)}."


def level_table(
    name: str, groups, columns, held, at: float, **options
) -> TradeoffTable:
    """Metrics of every method at a level of one metric.

    Each seed's curve is interpolated, never extrapolated, at the crossing that
    `crossing_of()` names.

    Args:
        **options: `order`, the parameter along a curve; `baseline`, the title
            to add differences to; and `aggregate` of seeds, by default their
            mean with Student's interval at `level`.
    """
    order = options.get("order")
    baseline = options.get("baseline")
    aggregate = options.get("aggregate")
    aggregate = aggregate or Aggregate(level=options.get("level", 0.95))
    columns = columns[:_MOST]
    by_title, spans, lost = [], {}, {}
    for column in columns:
        pair = (held.name, column.name)
        curves, notices = measured_curves(groups, *pair, order)
        for notice in notices:
            lost.setdefault(notice, []).append(column.title)
        base = baseline if baseline in curves else None
        by_title.append(
            compare_curves(
                *(curves, at, "recall", base),
                crossing=crossing_of(held),
                aggregate=aggregate,
                seeds=seed_counts(groups),
            )
        )
        for title, by_seed in curves.items():
            spans.setdefault(title, []).extend(
                value
                for curve in by_seed.values()
                for value in curve.naturalness
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
    return TradeoffTable(
        name,
        f"at {held.title} = {number(at)}",
        [*head, "seeds"],
        rows,
        [
            brackets_note(aggregate),
            directions_note(columns),
            _rule(held, at, order),
            *_lost(lost, len(columns)),
            *_several(by_title, groups),
            *_beyond(by_title, groups, spans, held),
        ],
        _best(by_title, columns, list(groups)),
        _records(by_title, columns, groups, held, at, baseline, aggregate),
    )


def _rule(held, at, order):
    along = parameter_title(order) if order else "the points"
    which = crossing_of(held)
    return (
        f"Each seed's curve is interpolated to {held.title} = {number(at)} "
        f"between neighbors in {along}, never extrapolated; if it crosses "
        f"several times, at the {which} crossing along {along}."
    )


def _lost(notices, columns):
    """Notices of points that are left out, by column."""
    for notice, titles in notices.items():
        every = len(titles) == columns
        yield notice if every else f"{', '.join(titles)}: {notice}"


def _several(by_title, groups):
    """Notices of curves that cross the level more than once."""
    for title in groups:
        counts = {}
        for column in by_title:
            if title in column:
                counts |= column[title].crossings
        most = max(counts.values(), default=0)
        if most > 1:
            several = sum(count > 1 for count in counts.values())
            yield (
                f"{title}: {several} of {len(counts)} seeds cross it more "
                f"than once, up to {most} times."
            )


def _records(by_title, columns, groups, held, at, baseline, aggregate):
    """The table as records, one for each seed and metric."""
    records = []
    for title in groups:
        for column, metric in zip(by_title, columns):
            point = column.get(title)
            if point is None:
                continue
            gap = point.difference
            about = {
                "method": title,
                "metric": metric.name,
                "better": metric.better,
                "held_metric": held.name,
                "held_at": at,
                "crossing": crossing_of(held),
            }
            whole = {
                **dict(zip((aggregate.center, "low", "high"), point.interval)),
                "interval": aggregate.bounds,
                "level": aggregate.level,
                "n": len(point.values),
                "seeds": point.seeds,
                "baseline": baseline,
                **dict(
                    zip(
                        ("difference", "difference_low", "difference_high"),
                        gap if gap is not None else (None,) * 3,
                    )
                ),
                "pairs": point.pairs,
            }
            for seed in point.values or (None,):
                mine = {
                    "crossings": point.crossings.get(seed),
                    "seed": seed,
                    "value": point.values.get(seed),
                }
                records.append({**about, **mine, **whole})
    return records


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
    """Cells of the best value of each column with a known direction."""
    best = []
    for place, (column, metric) in enumerate(zip(by_title, columns)):
        means = {
            title: metric.sign * point.interval.mean
            for title, point in column.items()
            if not math.isnan(point.interval.mean)
        }
        if len(means) > 1 and metric.sign:
            most = max(means.values())
            best += [
                [titles.index(title), place + 1]
                for title, mean in means.items()
                if mean == most
            ]
    return best


def _beyond(by_title, groups, spans, held):
    """Notices of methods that do not reach the level."""
    for title in groups:
        points = [column[title] for column in by_title if title in column]
        if not points:
            yield f"{title}: no point has these metrics."
            continue
        out = max(point.seeds - len(point.values) for point in points)
        if out:
            of, name = points[0].seeds, held.title
            yield unreached(title, out, of, name, spans[title])


def _digits(column):
    """Digits after the point: three for small numbers."""
    means = [abs(p.interval.mean) for p in column.values()]
    means = [mean for mean in means if not math.isnan(mean)]
    return 3 if not means or max(means) < 10 else 1
