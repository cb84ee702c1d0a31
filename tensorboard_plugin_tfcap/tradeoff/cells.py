"""What stands in the cells of a table, and in the notes below it."""

import math


def cell(interval, digits, sign=""):
    """An interval as `mean [low, high]`; the mean alone where it is of one."""
    if math.isnan(interval.mean):
        return "-"
    form = f"{sign}.{digits}f"
    text = format(interval.mean, form)
    if math.isinf(interval.low):
        return text
    return f"{text} [{interval.low:{form}}, {interval.high:{form}}]"


def found_cell(compared, row, digits, none="-"):
    """The cell of a row of `compare_curves()`, which may lack it."""
    point = compared.get(row)
    if point is None or math.isnan(point.interval.mean):
        return none
    return cell(point.interval, digits)


def seeds_cell(points):
    """How many seeds are in a row's cells, and of how many."""
    counts = {(len(p.values), p.seeds) for p in points if p is not None}
    texts = [str(n) if n == of else f"{n}/{of}" for n, of in sorted(counts)]
    return ", ".join(texts) or "-"


def number(value):
    """A number of four digits, or a dash."""
    return "-" if value is None else f"{value:.4g}"


def found_on(data):
    """The first note of every table."""
    return f"Found on: {data}. Mean and 95 % interval over seeds."


def absences(groups, lacking, name):
    """What could not be read off, since points lack a measure."""
    count = sum(map(len, groups.values()))
    if sum(lacking.values()) == count:
        return [f"{name} is absent: none of {count} points has it."]
    return [
        f"{name} is absent for {title}: {bad} of {len(groups[title])} points "
        "lack it."
        for title, bad in lacking.items()
    ]


def not_reached(curves, at, of, name):
    """Who does not go to the operating point, and how far they do go."""
    notes = []
    for title, by_seed in curves.items():
        values = [getattr(curve, of) for curve in by_seed.values()]
        out = sum(at is None or not x.min() <= at <= x.max() for x in values)
        if out:
            low = number(min(x.min() for x in values))
            high = number(max(x.max() for x in values))
            span = low if low == high else f"{low} to {high}"
            notes.append(
                f"{title}: {out} of {len(values)} seeds do not go there; "
                f"{name} is {span}."
            )
    return notes
