"""A sweep over the rows of distinctive captioning, and seeds.

    python -m reproduce.distinctive.sweep OUT --data flickr8k \\
        --root DIR --rows tf,wtf,wtf_rl,rl --seeds 0,1,2

Each row is appended to OUT/points.jsonl when it is done. The same command
does what is missing, and several processes may run it at once. Exit status:
0; 1 if a row failed;
2 if an option or the data are not as they should be; 130 after Ctrl-C.
"""

import sys

from reproduce.captioning.sweep_command import list_of
from reproduce.captioning.sweep_command import run_sweep
from reproduce.captioning.sweep_command import sweep_parser
from reproduce.distinctive.distinctive_sweep import distinctive_grid
from reproduce.distinctive.distinctive_sweep import distinctive_sweep
from reproduce.distinctive.settings import SETTINGS


def main(arguments=None):
    """Runs the command.

    Args:
        arguments: List of strings, optional. Defaults to those of the
            process.

    Returns:
        Integer, the exit status.
    """
    options = _parser().parse_args(arguments)

    def open_sweep(data, settings, **told):
        grid = distinctive_grid(
            options.rows,
            options.seeds,
            options.alphas,
            options.rates,
            options.shifts,
        )
        return distinctive_sweep(options.out, data, settings, grid, **told)

    return run_sweep(options, SETTINGS, open_sweep)


def _parser():
    parser = sweep_parser(
        "python -m reproduce.distinctive.sweep",
        "Trains speakers to stand out, a row of Table 1 each.",
        SETTINGS,
    )
    add = parser.add_argument
    add("--rows", type=list_of(str), default=["tf", "wtf", "wtf_rl", "rl"])
    add("--alphas", type=list_of(float), default=[])
    add("--rates", type=list_of(float), default=[])
    add("--shifts", type=list_of(float), default=[])
    return parser


if __name__ == "__main__":
    sys.exit(main())
