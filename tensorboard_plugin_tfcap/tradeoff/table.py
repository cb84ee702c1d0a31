"""A table in the three forms in which it is read."""

from dataclasses import dataclass

from tensorboard_plugin_tfcap.tradeoff.markdown_table import markdown_table

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

    Example:

    >>> from tfcap.recipes.captioning import TradeoffTable
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
        table = markdown_table(self.head, self.rows)
        title = f"{self.name}: {self.title}"
        return "\n".join([title, "", table, *self._below("- {}")])

    def latex(self):
        """The table in LaTeX; it needs the package `booktabs`."""
        head, *rows = [
            " & ".join(map(_escape, line)) + r" \\"
            for line in (self.head, *self.rows)
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

    def _below(self, form):
        return ["", *map(form.format, self.notes)] if self.notes else []


def _escape(text):
    return "".join(_LATEX.get(letter, letter) for letter in text)
