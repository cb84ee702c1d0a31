"""Figure and tables of a sweep.

    python -m reproduce curves SWEEP --figure curve.png

reads what `reproduce.sweep.Sweep` has written so far; it may still be running.
"""

import argparse
import os
import sys

from reproduce.point_log import log_sweep
from reproduce.psst.paper import PSST
from reproduce.psst_figures import DECODINGS
from reproduce.psst_figures import LAYOUTS
from reproduce.psst_figures import curve_tables
from reproduce.psst_figures import write_curve_figure
from reproduce.sweep_records import load_records

FORMS = {
    "text": str,
    "markdown": lambda table: table.markdown(),
    "latex": lambda table: table.latex(),
}


def main(argv=None):
    """Prints the tables of a sweep, and draws its curves where asked to."""
    parser = argparse.ArgumentParser(
        prog="python -m reproduce curves",
        description="Naturalness and recall of a sweep: tables and a figure.",
    )
    parser.add_argument("sweep", nargs="+", help="folders of sweeps")
    parser.add_argument(
        "--figure",
        action="append",
        default=[],
        metavar="FILE",
        help="draw the curves: .html, .png, .svg or .pdf; may be repeated",
    )
    parser.add_argument("--form", choices=FORMS, default="text")
    parser.add_argument("--data", help="what the sweep was made on")
    parser.add_argument(
        "--recall", type=float, help="recall@5 in percent of Table 1"
    )
    parser.add_argument("--cider", type=float, help="CIDEr-D of Table 2")
    parser.add_argument(
        "--ablation-cider", type=float, help="CIDEr-D of Table 3"
    )
    parser.add_argument(
        "--rho",
        type=float,
        default=0.25,
        help="which one counts where a method has several (default: 0.25)",
    )
    parser.add_argument(
        "--tensorboard",
        metavar="LOGDIR",
        help="write every point there, for TensorBoard's Trade-off tab",
    )
    _add_figure_options(parser)
    options = parser.parse_args(argv)
    data = options.data or ", ".join(map(os.path.basename, options.sweep))
    try:
        sweeps = {path: load_records(path) for path in options.sweep}
        records = [r for sweep in sweeps.values() for r in sweep]
        tables = curve_tables(
            records,
            data,
            recall=options.recall,
            cider=options.cider,
            ablation_cider=options.ablation_cider,
            rho=options.rho,
        )
        for path in options.figure:
            write_curve_figure(path, records, data, **_figure(options))
        if options.tensorboard:
            log_sweep(options.tensorboard, PSST, sweeps)
    except (ImportError, OSError, ValueError) as error:
        print(f"tradeoff: {error}", file=sys.stderr)
        return 2
    print("\n\n".join(FORMS[options.form](table) for table in tables))
    return 0


def _add_figure_options(parser):
    add = parser.add_argument_group("figure").add_argument
    add(
        "--layout",
        choices=LAYOUTS,
        help="recall by every listener, the fixed one first (default where "
        "the sweep has one), or the paper's Figure 3",
    )
    add(
        "--naturalness",
        metavar="NAME",
        help="what recall by every listener is drawn against, such as "
        "lm_log_prob (default: cider_d)",
    )
    kinds = [kind.removesuffix("_") for kind in DECODINGS if kind]
    add(
        "--decoding",
        choices=kinds,
        help="draw the scores of this decoding instead of the usual one",
    )


def _figure(options):
    """Options of the figure, by the arguments that draw it."""
    return {
        "layout": options.layout,
        "rho": options.rho,
        "cider": options.cider,
        "naturalness": options.naturalness,
        "decoding": options.decoding and f"{options.decoding}_",
    }


if __name__ == "__main__":
    raise SystemExit(main())
