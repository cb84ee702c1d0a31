"""Naturalness against recall: the curves of several methods.

    python examples/tradeoff_curve.py             # the embedded world
    python examples/tradeoff_curve.py --quick     # to see it run
    python examples/tradeoff_curve.py --data flickr8k --root DIR \\
        --methods psst_multinomial,st_multinomial --seeds 0,1,2

Trains every method with every lambda and seed, and draws the points that are
done. The same command continues after Ctrl-C; several terminals that run it
share the work. With `--workers 2`, two processes train each point.
"""

import pathlib
import sys

# `reproduce` stands beside this folder, and is not installed.
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

from reproduce.example import example_parser
from reproduce.example import parse_example
from reproduce.example import run_example
from reproduce.options import list_of
from reproduce.paper_sweep import paper_sweep
from reproduce.psst.paper import PSST
from reproduce.psst_figures import curve_tables
from reproduce.psst_figures import write_curve_figure
from tfcap._io import command

METHODS = "psst_multinomial,st_multinomial,reinforce_joint,luo2018"


def parse(argv):
    parser = example_parser(__doc__.splitlines()[0], "tradeoff", PSST)
    add, numbers = parser.add_argument, list_of(float)
    add("--methods", type=list_of(str), default=METHODS.split(","))
    add("--lambdas", type=numbers, default=[1e-3, 2e-3, 4e-3, 8e-3])
    add("--rhos", type=numbers, default=[], help="for partial sampling")
    add("--seeds", type=list_of(int), default=[0])
    return parse_example(parser, argv)


def report(records, options, name, rho):
    """Draws and prints all results so far."""
    if not records:
        print("No point is done yet.")
        return
    path = options.out / "curves.html"
    write_curve_figure(path, records, rho=rho)
    print(f"Curves: {path}")
    tables = curve_tables(records, name, rho=rho)
    text = "\n\n".join(table.markdown() for table in tables)
    (options.out / "tables.md").write_text(text + "\n")
    print("\n\n".join(map(str, tables)))
    print(f"\nTables: {options.out / 'tables.md'}")
    print(f"Points: {options.out / 'points'}")
    print(f"To watch: tensorboard --logdir {options.out / 'tensorboard'}")


@command()
def main(argv=None):
    options = parse(argv)

    def work(data, settings):
        if len(data.test) < 2:
            raise ValueError(
                "`root` must hold at least two test images, since CIDEr-D "
                "weighs n-grams by the number of images in which they occur. "
                f"Received: {len(data.test)}. Add another one to that split."
            )
        axes = {"lambda": options.lambdas, "rho": options.rhos}
        grid = PSST.grid(options.methods, options.seeds, **axes)
        sweep = paper_sweep(PSST, options.out, data, settings, grid)
        try:
            status = sweep.work()
        except KeyboardInterrupt:
            print("\nStopped. Finished work is kept; the same command resumes.")
            status = 130
        return status, (sweep.records(), options, data.name, settings.rho)

    status, found = run_example(__file__, argv, options, PSST, work)
    if found is None:
        return status or 0
    status, shown = found
    report(*shown)
    return status


if __name__ == "__main__":
    sys.exit(main())
