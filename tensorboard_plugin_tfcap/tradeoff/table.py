"""A table as text, Markdown, LaTeX and CSV."""

import csv
import io
import math
from collections.abc import Iterable
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from typing import Any

from tensorboard_plugin_tfcap.tradeoff.latex_text import latex_text
from tfcap.curves import Curve
from tfcap.curves.aggregate import Interval
from tfcap.curves.comparison import ComparedCurve


def cell(interval: Interval, digits: int, sign: str = "") -> str:
    """An interval as `mean [low, high]`; of one seed, the mean alone.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff import cell
    >>> cell(tfcap.curves.mean_interval([1.0, 2.0, 3.0]), 1)
    '2.0 [-0.5, 4.5]'
    """
    if math.isnan(interval.mean):
        return "-"
    form = f"{sign}.{digits}f"
    text = format(interval.mean, form)
    if math.isinf(interval.low):
        return text
    return f"{text} [{interval.low:{form}}, {interval.high:{form}}]"


def found_cell(
    compared: Mapping[Any, ComparedCurve],
    row: Any,
    digits: int,
    none: str = "-",
) -> str:
    """The cell of a row of `compare_curves()`, or a dash.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff import found_cell
    >>> curves = {"mine": {0: tfcap.curves.Curve([2, 1], [50, 60])}}
    >>> found = tfcap.curves.compare_curves(curves, at=1.5)
    >>> found_cell(found, "mine", 1), found_cell(found, "yours", 1)
    ('55.0', '-')
    """
    point = compared.get(row)
    if point is None or math.isnan(point.interval.mean):
        return none
    return cell(point.interval, digits)


def seeds_cell(points: Iterable[ComparedCurve | None]) -> str:
    """Numbers of seeds in a row's cells, out of all.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff import seeds_cell
    >>> curves = {s: tfcap.curves.Curve([2, 1 - s], [5, 6]) for s in (0, 1)}
    >>> found = tfcap.curves.compare_curves({"mine": curves}, at=0.5)
    >>> seeds_cell(found.values())
    '1/2'
    """
    counts = {(len(p.values), p.seeds) for p in points if p is not None}
    return ", ".join(seeds_text(*count) for count in sorted(counts)) or "-"


def seeds_text(count: int, of: int) -> str:
    """A number of seeds, out of how many unless it is all."""
    return str(count) if count == of else f"{count}/{of}"


def number(value: float | None) -> str:
    """A number of four digits, or a dash.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff import number
    >>> number(1.23456), number(None)
    ('1.235', '-')
    """
    return "-" if value is None else f"{value:.4g}"


def found_on(data: str) -> str:
    """The first note of every table.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff import found_on
    >>> found_on("COCO")
    'Found on: COCO. Mean and 95 % interval over seeds.'
    """
    return f"Found on: {data}. Mean and 95 % interval over seeds."


def absences(
    groups: Mapping[str, list], lacking: Mapping[str, int], name: str
) -> list[str]:
    """Notes about values that are absent, since points lack a measure.

    Args:
        groups: Dict of lists of points by title.
        lacking: Dict of numbers of points that lack it, by title.
        name: String, the measure's.

    Returns:
        List of sentences.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff import absences
    >>> absences({"mine": [1, 2]}, {"mine": 1}, "SPICE")
    ['SPICE is absent for mine: 1 of 2 points lack it.']
    """
    count = sum(map(len, groups.values()))
    if sum(lacking.values()) == count:
        return [f"{name} is absent: none of {count} points has it."]
    return [
        f"{name} is absent for {title}: {bad} of {len(groups[title])} points "
        "lack it."
        for title, bad in lacking.items()
    ]


def not_reached(
    curves: Mapping[str, Mapping[Any, Curve]],
    at: float | None,
    of: str,
    name: str,
) -> list[str]:
    """Notes about curves that do not reach a level, and how far they go.

    Args:
        curves: Dict of dicts of `Curve` by seed, by title.
        at: Float, the level, or `None` where there is none.
        of: `"naturalness"` or `"recall"`, the axis of the level.
        name: String, the axis' title.

    Returns:
        List of sentences.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff import not_reached
    >>> curves = {"mine": {0: tfcap.curves.Curve([2, 1], [50, 60])}}
    >>> not_reached(curves, 3.0, "naturalness", "CIDEr-D")
    ['mine: 1 of 1 seeds do not go there; CIDEr-D is 1 to 2.']
    """
    notes = []
    for title, by_seed in curves.items():
        values = [getattr(curve, of) for curve in by_seed.values()]
        out = sum(at is None or not x.min() <= at <= x.max() for x in values)
        if out:
            ends = [end for x in values for end in (x.min(), x.max())]
            notes.append(unreached(title, out, len(values), name, ends))
    return notes


def unreached(title, out: int, of: int, name: str, values) -> str:
    """A note about a method, some seeds of which do not reach a level."""
    low, high = number(min(values)), number(max(values))
    span = low if low == high else f"{low} to {high}"
    return f"{title}: {out} of {of} seeds do not go there; {name} is {span}."


#: Tables with more columns are set small.
_WIDE = 8


@dataclass(frozen=True)
class TradeoffTable:
    """A table of strings, for a terminal, a page, or a paper.

    Args:
        name: String, `"Table 1"`. LaTeX counts its tables itself.
        title: String.
        head: List of strings.
        rows: List of lists of as many strings.
        notes: List of sentences that go below.
        best: List of pairs of a row and a column, of cells to set bold.
            Defaults to none.
        records: List of dicts with the same keys, the rows of CSV: one for
            each measurement. Defaults to none: those of the table.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff import TradeoffTable
    >>> table = TradeoffTable(
    ...     "Table 2", "recall", ["", "R@10"], [["PSST", "86.3"]], []
    ... )
    >>> print(table)
    Table 2: recall
    <BLANKLINE>
          R@10
    ----------
    PSST  86.3
    """

    name: str
    title: str
    head: list
    rows: list
    notes: list
    best: list = field(default_factory=list)
    records: list = field(default_factory=list)

    def __str__(self):
        lines = [self.head, *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines)]
        cells = [
            line[0].ljust(widths[0])
            + "".join(f"  {c.rjust(w)}" for c, w in zip(line[1:], widths[1:]))
            for line in lines
        ]
        rule = "-" * max(map(len, cells))
        body = [line.rstrip() for line in (cells[0], rule, *cells[1:])]
        title = f"{self.name}: {self.title}"
        return "\n".join([title, "", *body, *self._below("{}")])

    def markdown(self):
        """The table in Markdown, aligned."""
        rows = self._bold("**{}**".format, _unpiped)
        table = markdown_table(list(map(_unpiped, self.head)), rows)
        title = f"{self.name}: {self.title}"
        return "\n".join([title, "", table, *self._below("- {}")])

    def latex(self):
        """The table in LaTeX; it needs the package `booktabs`."""
        marked = self._bold(r"\textbf{{{}}}".format, latex_text)
        head, *rows = [
            # LaTeX would read a bracket or a star as an option of `\\\\`.
            ("{}" if line[0][:1] in ("[", "*") else "")
            + " & ".join(line)
            + r" \\"
            for line in (list(map(latex_text, self.head)), *marked)
        ]
        title = self.title[:1].upper() + self.title[1:]
        caption = " ".join([f"{title}.", *self.notes])
        return "\n".join(
            [
                r"\begin{table}",
                r"\centering",
                *[r"\scriptsize\setlength{\tabcolsep}{3pt}"]
                * (len(self.head) > _WIDE),
                rf"\caption{{{latex_text(caption)}}}",
                rf"\begin{{tabular}}{{l{'r' * (len(self.head) - 1)}}}",
                r"\toprule",
                head,
                r"\midrule",
                *rows,
                r"\bottomrule",
                r"\end{tabular}",
                r"\end{table}",
            ]
        )

    def csv(self):
        """The table as comma-separated values, without its notes.

        Texts that a spreadsheet would read as formulas are quoted.
        """
        lines = [self.head, *self.rows]
        if self.records:
            keys = list(self.records[0])
            lines = [keys, *([r[key] for key in keys] for r in self.records)]
        file = io.StringIO()
        csv.writer(file, lineterminator="\n").writerows(
            [list(map(_csv_value, line)) for line in lines]
        )
        return file.getvalue()

    def _bold(self, bold, escape=str):
        """The rows, with their best cells in bold."""
        rows = [list(map(escape, row)) for row in self.rows]
        for row, column in self.best:
            rows[row][column] = bold(rows[row][column])
        return rows

    def _below(self, form):
        return ["", *map(form.format, self.notes)] if self.notes else []


def markdown_table(head, rows, numbers=True):
    """A Markdown table, aligned.

    Args:
        head: List of strings.
        rows: List of lists of as many strings.
        numbers: Boolean, whether all but the first column are numbers, which
            are aligned to the right. Defaults to `True`.

    Returns:
        String, without a line break at its end.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff import markdown_table
    >>> rows = [["lf_g", "41.83"]]
    >>> print(markdown_table(["row", "R@1"], rows))
    | row  |   R@1 |
    |------|------:|
    | lf_g | 41.83 |
    """
    widths = [max(map(len, column)) for column in zip(head, *rows)]
    right = [numbers and place > 0 for place in range(len(head))]
    lines = [
        [c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, right)]
        for row in (head, *rows)
    ]
    lines = ["| " + " | ".join(cells) + " |" for cells in lines]
    rule = [
        "-" * (width + 1) + ":" if r else "-" * (width + 2)
        for width, r in zip(widths, right)
    ]
    return "\n".join([lines[0], "|" + "|".join(rule) + "|", *lines[1:]])


def _csv_value(value):
    """A value for a spreadsheet; numbers that are not finite are empty."""
    if isinstance(value, str):
        begins = value.startswith(("=", "+", "-", "@", "\t", "\r"))
        plain = value == "-" or not begins or _is_number(value)
        return value if plain else f"'{value}"
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else ""
    return "" if value is None else value


def _is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


def _unpiped(text):
    """A text whose bars do not end a cell of a Markdown table."""
    return text.replace("|", r"\|")
