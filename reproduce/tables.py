"""Prints a paper's tables: `python -m reproduce tables PAPER`."""

import argparse
import os

from reproduce.command import PAPERS
from reproduce.command import open_paper
from reproduce.sweep import load_records
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


@command(ValueError, ImportError)
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
        help="folders of sweeps, or the summary.json of visdial runs "
        "(default: those of the paper in results/)",
    )
    add("--form", choices=FORMS, default="markdown")
    add("--data", help="what the sweeps were made on")
    add("--rho", type=float, help="of psst, where a method has several")
    add("--figure", metavar="FILE", help="of psst: .html, .png, .svg or .pdf")
    options = parser.parse_args(arguments)
    given = [options.sweep] if options.sweep else None
    if options.paper == "visdial":
        if options.form != "markdown":
            parser.error("--form: tables of visdial are Markdown")
        given = given or [[name] for name in RESULTS]
        print("\n\n".join(map(tables_of_runs, given)))
        return 0
    paper = open_paper(options.paper)
    for folders in given or [[name] for name in paper.results]:
        more = paper.results.get(folders[0], {}) if len(folders) == 1 else {}
        if options.rho is not None:
            more = {**more, "rho": options.rho}
        tables = tables_of(paper, folders, options.data, **more)
        print("\n\n".join(map(FORMS[options.form], tables)), end="\n\n")
        if options.figure:
            records = [r for folder in folders for r in load_records(folder)]
            paper.draw(options.figure, records, options.data or "", **more)
    return 0
