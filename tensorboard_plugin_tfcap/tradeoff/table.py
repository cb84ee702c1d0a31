"""A table in the three forms in which it is read."""

import csv
import io
from dataclasses import dataclass
from dataclasses import field

_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\u03bb": r"$\lambda$",
    "\u03c1": r"$\rho$",
    "\u03c4": r"$\tau$",
}


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
        """The table in Markdown, which also reads well as it is."""
        table = markdown_table(self.head, self._bold("**{}**".format, _unpiped))
        title = f"{self.name}: {self.title}"
        return "\n".join([title, "", table, *self._below("- {}")])

    def latex(self):
        """The table in LaTeX; it needs the package `booktabs`."""
        marked = self._bold(r"\textbf{{{}}}".format, _escape)
        head, *rows = [
            " & ".join(line) + r" \\"
            for line in (map(_escape, self.head), *marked)
        ]
        title = self.title[:1].upper() + self.title[1:]
        caption = " ".join([f"{title}.", *self.notes])
        return "\n".join(
            [
                r"\begin{table}",
                r"\centering",
                rf"\caption{{{_escape(caption)}}}",
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
        """The table as comma-separated values, without its notes."""
        file = io.StringIO()
        csv.writer(file, lineterminator="\n").writerows([self.head, *self.rows])
        return file.getvalue()

    def _bold(self, bold, escape=str):
        """The rows, their best cells bold."""
        rows = [list(map(escape, row)) for row in self.rows]
        for row, column in self.best:
            rows[row][column] = bold(rows[row][column])
        return rows

    def _below(self, form):
        return ["", *map(form.format, self.notes)] if self.notes else []


def markdown_table(head, rows, numbers=True):
    """A Markdown table that also reads well as it is.

    Args:
        head: List of strings.
        rows: List of lists of as many strings.
        numbers: Boolean, whether all but the first column are numbers, which
            stand to the right. Defaults to `True`.

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


def _escape(text):
    return "".join(_LATEX.get(letter, letter) for letter in text)


def _unpiped(text):
    """A text that ends no cell of a Markdown table."""
    return text.replace("|", r"\|")
