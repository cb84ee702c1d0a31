"""A sweep over methods, lambda and seeds: the points of trade-off curves.

    python -m tfcap.recipes.captioning.sweep OUT --data flickr8k --root DIR \\
        --methods psst_multinomial,st_multinomial --lambdas 0.001,0.003

Each point is appended to OUT/points.jsonl when it is done. The same command
does what is missing, and several processes may run it at once. Exit status:
0; 1 if a point failed; 130 after Ctrl-C.
"""

import argparse
import sys

from tfcap.recipes.captioning.caption_data import caption_files
from tfcap.recipes.captioning.caption_data import caption_world
from tfcap.recipes.captioning.settings import SETTINGS
from tfcap.recipes.captioning.tradeoff_sweep import LAMBDAS
from tfcap.recipes.captioning.tradeoff_sweep import tradeoff_grid
from tfcap.recipes.captioning.tradeoff_sweep import tradeoff_sweep


def main(arguments=None):
    """Runs the command.

    Args:
        arguments: List of strings, optional. Defaults to those of the
            process.

    Returns:
        Integer, the exit status.
    """
    options = _parser().parse_args(arguments)
    settings = SETTINGS[options.settings or options.data]
    try:
        if options.data == "world":
            data = caption_world(settings, options.root)
        else:
            data = caption_files(settings, options.root)
        grid = tradeoff_grid(
            options.methods,
            options.lambdas,
            options.seeds,
            options.rhos,
            options.temperatures,
        )
        sweep = tradeoff_sweep(
            options.out,
            data,
            settings,
            grid,
            2 if options.progress else 1,
            metrics=options.metrics,
        )
        return sweep.work()
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nStopped. What is done is kept; the same command goes on.")
        return 130


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m tfcap.recipes.captioning.sweep",
        description="Trains the points of trade-off curves.",
    )
    add = parser.add_argument
    add("out", help="folder of the sweep")
    add("--data", choices=("world", "flickr8k", "published"), default="world")
    add("--root", help="folder of the data, or of built worlds")
    add("--settings", choices=SETTINGS, help="default: those of the data")
    add("--methods", type=_list(str), default=["psst_multinomial"])
    add("--lambdas", type=_list(float), default=list(LAMBDAS))
    add("--seeds", type=_list(int), default=[0])
    add("--rhos", type=_list(float), default=[])
    add("--temperatures", type=_list(float), default=[])
    add(
        "--metrics",
        type=_list(str),
        default=[],
        help="scores to add: meteor, spice",
    )
    add("--progress", action="store_true", help="progress within a point")
    return parser


def _list(kind):
    """A list with commas."""

    def read(text):
        return [kind(part) for part in text.split(",")]

    read.__name__ = f"{kind.__name__} list"
    return read


if __name__ == "__main__":
    sys.exit(main())
