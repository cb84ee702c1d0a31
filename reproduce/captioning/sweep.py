"""A sweep over methods, lambda and seeds: the points of trade-off curves.

    python -m reproduce.captioning.sweep OUT --data flickr8k --root DIR \\
        --methods psst_multinomial,st_multinomial --lambdas 0.001,0.003

Each point is appended to OUT/points.jsonl when it is done. The same command
does what is missing, and several processes may run it at once. Exit status:
0; 1 if a point failed;
2 if an option or the data are not as they should be; 130 after Ctrl-C.
"""

import sys

from reproduce.captioning.settings import SETTINGS
from reproduce.captioning.sweep_command import list_of
from reproduce.captioning.sweep_command import run_sweep
from reproduce.captioning.sweep_command import sweep_parser
from reproduce.captioning.tradeoff_sweep import LAMBDAS
from reproduce.captioning.tradeoff_sweep import tradeoff_grid
from reproduce.captioning.tradeoff_sweep import tradeoff_sweep


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
        grid = tradeoff_grid(
            options.methods,
            options.lambdas,
            options.seeds,
            options.rhos,
            options.temperatures,
        )
        return tradeoff_sweep(options.out, data, settings, grid, **told)

    return run_sweep(options, SETTINGS, open_sweep)


def _parser():
    parser = sweep_parser(
        "python -m reproduce.captioning.sweep",
        "Trains the points of trade-off curves.",
        SETTINGS,
    )
    add = parser.add_argument
    add("--methods", type=list_of(str), default=["psst_multinomial"])
    add("--lambdas", type=list_of(float), default=list(LAMBDAS))
    add("--rhos", type=list_of(float), default=[])
    add("--temperatures", type=list_of(float), default=[])
    return parser


if __name__ == "__main__":
    sys.exit(main())
