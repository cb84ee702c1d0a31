"""A sweep over the rows of sequence-level learning, and seeds.

    python -m reproduce.sequence_level.sweep OUT --data flickr8k \\
        --root DIR --rows xe,sll,sll_sle --seeds 0,1,2

Each row is appended to OUT/points.jsonl when it is done. The same command
does what is missing, and several processes may run it at once. Exit status:
0; 1 if a row failed;
2 if an option or the data are not as they should be; 130 after Ctrl-C.
"""

import sys

from reproduce.captioning.sweep_command import list_of
from reproduce.captioning.sweep_command import run_sweep
from reproduce.captioning.sweep_command import sweep_parser
from reproduce.sequence_level.sequence_sweep import sequence_grid
from reproduce.sequence_level.sequence_sweep import sequence_sweep
from reproduce.sequence_level.settings import SETTINGS


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
        grid = sequence_grid(
            options.rows,
            options.seeds,
            options.alphas,
            options.rates,
            options.entropy_weights,
        )
        return sequence_sweep(options.out, data, settings, grid, **told)

    return run_sweep(options, SETTINGS, open_sweep)


def _parser():
    parser = sweep_parser(
        "python -m reproduce.sequence_level.sweep",
        "Trains speakers for rewards, a row of the papers each.",
        SETTINGS,
    )
    add = parser.add_argument
    add("--rows", type=list_of(str), default=["xe", "sll", "sll_sle"])
    add("--alphas", type=list_of(float), default=[])
    add("--rates", type=list_of(float), default=[])
    add("--entropy-weights", type=list_of(float), default=[])
    return parser


if __name__ == "__main__":
    sys.exit(main())
