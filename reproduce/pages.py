"""Writes tables of records and numbers of pages: `python -m reproduce pages`.

Beside each record under `results/` stands a file of its tables, with the
commands that made it. Pages take their numbers from these files. A number of
a sentence, and a table of some rows and columns, are marked:

    <!-- ensemble_flickr8k | psst: Gains: | retriever_ensemble - - 10 |
    CIDEr-D -->.008 [-.013, .029]<!-- end -->

    <!-- table sequence_world | sle: SLE, Table 2 | xe as XE; sll as SLL |
    CIDEr-D; published CIDEr = 102.5, 115.0 -->
    ...
    <!-- end of table -->

A mark names the record, how the table's title begins, the first cells of a
row and the head of a column. `as` gives a row or column another name; a
column with `=` has the values that follow. What is between the marks is
rewritten, a number in its previous form (digits, bounds, sign); a column that
ends in `in %` is multiplied by 100.
"""

import argparse
import decimal
import functools
import pathlib
import re
import sys
import tomllib

from reproduce.command import PAPERS
from reproduce.command import open_paper
from reproduce.tables import tables_of
from reproduce.visdial.summary import example_tables
from reproduce.visdial.summary import tables_of_runs
from tensorboard_plugin_tfcap.tradeoff import markdown_table
from tfcap._io import command
from tfcap._io import read_json
from tfcap._io import whole_file

ROOT = pathlib.Path(__file__).parents[1]
_MARKED = re.compile(
    r"(?P<mark><!-- table (?P<table>[^>]*?) -->\n).*?"
    r"(?P<end><!-- end of table -->)"
    r"|(?P<begin><!-- (?P<cell>\w+ \|[^>]*?) -->)(?P<text>.*?)"
    r"(?P<close><!-- end -->)",
    re.DOTALL,
)
_NUMBER = re.compile(r"[-+]?(?:\d[\d,]*)?\.?\d+")


@functools.cache
def commands() -> dict[str, list[str]]:
    """Commands that made the records, by the record's name."""
    path = ROOT / "results" / "commands.toml"
    found = tomllib.loads(path.read_text(encoding="utf-8"))
    return {name: about["commands"] for name, about in found.items()}


def tables_path(name: str) -> pathlib.Path:
    """Path of the file with a record's tables, beside the record."""
    folder = ROOT / "results" / name
    return (
        folder / "tables.md" if folder.is_dir() else ROOT / f"results/{name}.md"
    )


def tables_text(name: str) -> str:
    """The tables of a record, below the commands that made it."""
    parts = [
        f"# {name}",
        "Written by `python -m reproduce pages`. The commands:",
        "\n".join(["```bash", *commands()[name], "```"]),
    ]
    for title, table in _tables(name):
        parts.append(f"## {title}\n\n{table}")
    return "\n\n".join(parts) + "\n"


def _tables(name):
    """Pairs of title and table in Markdown."""
    path = ROOT / "results" / name
    made_by = commands()[name][0].split()
    if name == "visdial_example":
        text = example_tables(sorted(path.glob("*.json")))
        yield from _titled(text.split("\n\n"))
    elif name.startswith("visdial"):
        yield from _titled(tables_of_runs([f"{path}.json"]).split("\n\n"))
    elif name == "estimators":
        # TensorFlow takes a moment: not for `--help`.
        from reproduce.comparisons.estimators.page import tables

        yield from tables(read_json(path / "estimators.json")).items()
    elif name == "speed":
        yield "Goals", _speeds(read_json(path / "cpu.json"))
    else:
        for source in PAPERS:
            paper = open_paper(source)
            options = paper.results.get(f"results/{name}")
            if options is None and source != made_by[3]:
                continue
            for table in tables_of(paper, [path], **(options or {})):
                title, _, text = table.markdown().partition("\n\n")
                yield f"{source}: {title}", text


def _titled(blocks):
    """Titles and tables that follow each other."""
    title = None
    for block in blocks:
        if block.startswith("|"):
            yield title, block
        title = block


def _speeds(found):
    """The rows of `benchmarks/peers.py`, the worst first."""
    columns = "goal", "reached", "low", "high"
    rows = [
        [row["item"], *(f"{row[x]:.2f}" if row[x] else "" for x in columns)]
        for row in found["rows"]
    ]
    return markdown_table(["", "goal", "reached", "from", "to"], rows)


class Tables:
    """Tables of a record by their titles, as its file holds them."""

    def __init__(self, text: str):
        self._grids = {}
        for part in text.split("\n## ")[1:]:
            title, *lines = part.split("\n")
            rows = [line for line in lines if line.startswith("|")]
            head, _, *rows = map(_cells, rows)
            self._grids[title] = head, rows

    def find(self, title: str, row: str, column: str) -> str:
        """A cell.

        Raises:
            ValueError: If no cell, or more than one, fits.
        """
        begin = [t for t in self._grids if t.startswith(title)]
        begin = [title] if title in begin else begin
        head, rows = self._grids[_only(begin, f"title {title!r}")]
        found = _only(
            [
                cells
                for cells in rows
                if row in (" ".join(cells[:k]) for k in range(1, 5))
            ],
            f"row {row!r} of {title!r}",
        )
        if column not in head:
            raise ValueError(
                f"A mark must name a column of {title!r}. Received: "
                f"{column!r}. Take one of {', '.join(head)}."
            )
        return found[head.index(column)]


def _cells(line):
    return [x.strip().strip("*") for x in line.strip("|").split("|")]


def _only(found, what):
    if len(found) != 1:
        raise ValueError(
            f"A mark must name one table and row. Received: {what}, of which "
            f"there are {len(found)}. See the record's `tables.md`."
        )
    return found[0]


@functools.cache
def read_tables(name: str) -> Tables:
    """The tables of a record as they were last written."""
    return Tables(tables_path(name).read_text(encoding="utf-8"))


def filled_page(text: str) -> str:
    """A page with the tables and numbers that it marks.

    Raises:
        ValueError: If a mark names something that does not exist.
    """
    return _MARKED.sub(_filled, text)


def _filled(match):
    if match["cell"]:
        name, title, row, column = _parts(match["cell"])
        scale = 100 if column.endswith(" in %") else 1
        column = column.removesuffix(" in %")
        cell = read_tables(name).find(title, row, column)
        text = _in_form(match["text"], cell, scale)
        return match["begin"] + text + match["close"]
    name, title, rows, columns = _parts(match["table"])
    rows = [_named(x) for x in rows.split("; ")]
    lines, tables = [[shown] for _, shown in rows], read_tables(name)
    head = [""]
    for column in columns.split("; "):
        if " = " in column:
            shown, values = column.split(" = ")
            cells = values.split(", ")
        else:
            column, shown = _named(column)
            cells = [tables.find(title, row, column) for row, _ in rows]
        head.append(shown)
        for line, cell in zip(lines, cells, strict=True):
            line.append(cell)
    return f"{match['mark']}{markdown_table(head, lines)}\n{match['end']}"


def _parts(mark):
    parts = [" ".join(part.split()) for part in mark.split("|")]
    if len(parts) != 4:
        raise ValueError(
            f"A mark must be RECORD | TITLE | ROW | COLUMN. Received: {mark!r}."
        )
    return parts


def _named(text):
    """The name of a row or column in the record, and on the page."""
    name, _, shown = text.partition(" as ")
    return name, shown or name


def _in_form(text, cell, scale):
    """The numbers of a cell, written as those of a text are."""
    values = (
        decimal.Decimal(x.replace(",", "")) * scale
        for x in _NUMBER.findall(cell)
    )

    def written(match):
        old = match[0]
        digits = len(old.partition(".")[2])
        sign = "+" if old.startswith("+") else ""
        unit = decimal.Decimal(1).scaleb(-digits)
        value = next(values).quantize(unit, decimal.ROUND_HALF_UP)
        new = f"{value or abs(value):{sign}}"
        return re.sub(r"^([-+]?)0\.", r"\1.", new) if bare(old) else new

    def bare(number):
        return number.lstrip("+-").startswith(".")

    return _NUMBER.sub(written, text)


def pages() -> list[pathlib.Path]:
    """The pages that may hold marks."""
    return [
        ROOT / "README.md",
        ROOT / "PAPERS.md",
        *sorted(ROOT.glob("docs/**/*.md")),
        *sorted(ROOT.glob("reproduce/**/README.md")),
    ]


@command(ValueError)
def main(arguments: list[str] | None = None) -> int:
    """Runs the command."""
    parser = argparse.ArgumentParser(
        prog="python -m reproduce pages",
        description="Writes the tables of results beside their records, and "
        "the numbers of pages from them.",
    )
    parser.add_argument(
        "--check", action="store_true", help="only name files that differ"
    )
    options = parser.parse_args(arguments)
    made = [(tables_path(name), tables_text, name) for name in commands()]
    wrong = 0
    for path, make, of in made + [(page, _page, page) for page in pages()]:
        text = make(of)
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        wrong += 1
        if options.check:
            shown = path.relative_to(ROOT)
            print(f"{shown} differs from its records.", file=sys.stderr)
            continue
        with whole_file(path, "w") as file:
            file.write(text)
        print(f"Written: {path.relative_to(ROOT)}")
    return int(bool(options.check and wrong))


def _page(path):
    return filled_page(path.read_text(encoding="utf-8"))
