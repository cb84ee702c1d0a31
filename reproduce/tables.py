"""Prints a paper's tables: `python -m reproduce tables PAPER`."""

import argparse
import os

from reproduce.command import PAPERS
from reproduce.command import open_paper
from reproduce.sweep_records import load_records
from reproduce.visdial.summary import RESULTS
from reproduce.visdial.summary import tables_of_runs
from tfcap._io import command

#: Forms of a table, by the name of an option.
FORMS = {
    "markdown": lambda table: table.markdown(),
    "text": str,
    "latex": lambda table: table.latex(),
}


def tables_of(paper, folders, data: str | None = None, **options):
    """A paper's tables from the records of sweeps."""
    records = [r for folder in folders for r in load_records(folder)]
    names = ", ".join(os.path.basename(str(folder)) for folder in folders)
    return paper.tables(records, data or names, **options)


@command(ValueError)
def main(arguments: list[str] | None = None) -> int:
    """Runs the command."""
    parser = argparse.ArgumentParser(
        prog="python -m reproduce tables",
        description="Prints a paper's tables: means and 95 % intervals over "
        "seeds, and paired differences.",
    )
    add = parser.add_argument
    add("paper", choices=[*PAPERS, "visdial"])
    add(
        "sweep",
        nargs="*",
        help="folders of sweeps, or the summary.json of a visdial run "
        "(default: those of the paper in results/)",
    )
    add("--form", choices=FORMS, default="markdown")
    add("--data", help="what the sweeps were made on")
    options = parser.parse_args(arguments)
    if options.paper == "visdial":
        if options.form != "markdown":
            parser.error("--form: the tables of visdial are of Markdown.")
        given = [options.sweep] if options.sweep else [[x] for x in RESULTS]
        print("\n\n".join(map(tables_of_runs, given)))
        return 0
    paper = open_paper(options.paper)
    given = [options.sweep] if options.sweep else [[x] for x in paper.results]
    texts = []
    for folders in given:
        more = paper.results.get(folders[0], {}) if len(folders) == 1 else {}
        tables = tables_of(paper, folders, options.data, **more)
        texts += map(FORMS[options.form], tables)
    print("\n\n".join(texts))
    return 0
