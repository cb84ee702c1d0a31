"""Writes tables and numbers into pages: `python -m reproduce pages`.

A page, `reproduce/PAPER/README.md`, marks where a table stands:

    <!-- table results/sequence_world | SPIDEr: greedy captions -->
    ...
    <!-- end of table -->

What is between the marks is written anew from the records in the folder; so
are the numbers of claims in the register (`reproduce/evidence`), on README.md,
PAPERS.md and docs/which_estimator.md, too.
"""

import argparse
import functools
import os
import pathlib
import re
import sys

from reproduce.command import PAPERS
from reproduce.command import open_paper
from reproduce.evidence.records import estimators_record
from reproduce.evidence.register import load_pages
from reproduce.tables import tables_of
from reproduce.visdial.summary import filled_page as visdial_page
from tfcap._io import command
from tfcap._io import whole_file

ROOT = pathlib.Path(__file__).parents[1]
#: Pages of no paper, by their names.
_OTHERS = {
    "readme": "README.md",
    "papers": "PAPERS.md",
    "estimators": "docs/which_estimator.md",
}
_NAMES = (*PAPERS, "visdial", *_OTHERS)
_MARKED = re.compile(
    r"<!-- table (?P<folder>\S+) \| (?P<title>.*?) -->\n.*?"
    r"<!-- end of table -->",
    re.DOTALL,
)


def page_path(name):
    """Path of a page: that of a paper, or one of the others."""
    if name in _OTHERS:
        return ROOT / _OTHERS[name]
    return ROOT / "reproduce" / name / "README.md"


def filled_page(name: str, text: str) -> str:
    """A page with its tables, and numbers of claims, as the records have them.

    Raises:
        ValueError: If the page marks a table that there is not, or lacks the
            words of a claim.
    """
    text = _with_tables(name, text)
    page = load_pages().get(name)
    return page.filled(text) if page else text


def _with_tables(name, text):
    if name == "visdial":
        return visdial_page(text, ROOT)
    made = _tables_of_estimators if name == "estimators" else _tables_of_paper
    tables = functools.lru_cache(functools.partial(made, name))

    def table(match):
        folder, title = match["folder"], match["title"]
        by_title = tables(folder)
        if title not in by_title:
            raise ValueError(
                f"`{os.path.relpath(page_path(name), ROOT)}` must mark tables "
                f"that there are. Received: {title!r} of {folder}. Take one "
                f"of {'; '.join(by_title)}."
            )
        shown = by_title[title]
        return (
            f"<!-- table {folder} | {title} -->\n{shown}\n<!-- end of table -->"
        )

    return _MARKED.sub(table, text)


def _tables_of_paper(name, folder):
    """Tables of a paper's page in Markdown, by their titles."""
    paper, everything = open_paper(name), open_paper("all")
    source, options = paper, paper.results.get(folder, {})
    if folder in everything.results and folder not in paper.results:
        # A paper's rows among those of all, from the same records.
        source, options = everything, {"methods": paper.rows}
    made = tables_of(source, [ROOT / folder], **options)
    texts = [table.markdown() for table in made]
    return {text.split("\n")[0]: text for text in texts}


def _tables_of_estimators(name, folder):
    # TensorFlow takes a moment: not for `--help`.
    from reproduce.estimators.page import tables

    return tables(estimators_record(folder))


@command(ValueError)
def main(arguments: list[str] | None = None) -> int:
    """Runs the command."""
    parser = argparse.ArgumentParser(
        prog="python -m reproduce pages",
        description="Writes the tables of results into the papers' pages, "
        "and the numbers of registered claims.",
    )
    parser.add_argument(
        "papers",
        nargs="*",
        metavar="PAPER",
        help=f"any of {', '.join(_NAMES)} (default: all)",
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing, name what differs"
    )
    options = parser.parse_args(arguments)
    wrong = 0
    for name in options.papers or _NAMES:
        path = page_path(name)
        text = path.read_text(encoding="utf-8")
        filled = filled_page(name, text)
        if filled == text:
            continue
        wrong += 1
        shown = os.path.relpath(path, ROOT)
        if options.check:
            print(f"{shown} is not as its records are.", file=sys.stderr)
            continue
        with whole_file(path, "w") as file:
            file.write(filled)
        print(f"Written: {shown}")
    return int(bool(options.check and wrong))
