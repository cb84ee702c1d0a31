"""A sweep over methods, lambda and seeds: the points of trade-off curves.

    python -m tfcap.recipes.captioning.sweep OUT --data flickr8k --root DIR \\
        --methods psst_multinomial,st_multinomial --lambdas 0.001,0.003

Each point is appended to OUT/points.jsonl when it is done. The same command
does what is missing, and several processes may run it at once. Exit status:
0; 1 if a point failed; 130 after Ctrl-C.
"""

import argparse
import functools
import gc
import os
import sys
from dataclasses import asdict

import keras

from tfcap.recipes.captioning.caption_data import caption_files
from tfcap.recipes.captioning.caption_data import caption_world
from tfcap.recipes.captioning.methods import METHODS
from tfcap.recipes.captioning.phases import PHASES
from tfcap.recipes.captioning.settings import SETTINGS
from tfcap.recipes.captioning.study import HUMAN
from tfcap.recipes.captioning.study import CaptioningStudy
from tfcap.training import Sweep

#: The paper's lambdas.
LAMBDAS = (5e-4, 1e-3, 1.6e-3, 2.5e-3, 5e-3, 1e-2)
#: Methods that know a rho, and those that know a temperature.
WITH_RHO = ("psst_multinomial", "psst_gumbel", "gt_on_psst_listener")
WITH_TEMPERATURE = ("psst_gumbel", "psst_gumbel_code", "st_gumbel")
#: Points that no lambda moves.
WITHOUT_LAMBDA = (*PHASES, "g_gan")


def tradeoff_grid(methods, lambdas=LAMBDAS, seeds=(0,), rhos=(), taus=()):
    """The grid of a sweep, seed by seed.

    Args:
        methods: Iterable of strings, keys of `METHODS`, or names of points
            that no lambda moves: `"speaker_mle"`, `"speaker_cider"` and
            `"listener_gt"`. Nor does one move `"g_gan"`; and
            `"gt_on_psst_listener"` is of the first lambda.
        lambdas: Iterable of floats. Defaults to the paper's.
        seeds: Iterable of integers.
        rhos: Iterable of floats, for methods that know a rho. Defaults to
            that of the settings.
        taus: Iterable of floats, for methods that know a temperature.

    Returns:
        List of dicts, as `tfcap.training.Sweep` takes.
    """
    known = [*METHODS, *PHASES, *HUMAN]
    for method in methods:
        if method not in known:
            raise ValueError(
                f"`methods` must be among {', '.join(known)}. Received: "
                f"{method!r}."
            )
    grid = []
    for seed in seeds:
        for method in methods:
            point = {"method": method, "seed": seed}
            if method not in WITHOUT_LAMBDA:
                first = 1 if method in HUMAN else None
                point["lambda"] = list(lambdas)[:first]
            if method in WITH_RHO and rhos:
                point["rho"] = list(rhos)
            if method in WITH_TEMPERATURE and taus:
                point["temperature"] = list(taus)
            grid.append(point)
    return grid


def tradeoff_sweep(directory, data, settings, grid, verbose=1, **options):
    """Trains and evaluates the points of a grid.

    Args:
        directory: String or path. Studies of the seeds are kept in it, too.
        data: `CaptionData`.
        settings: `CaptioningSettings`.
        grid: What `tradeoff_grid()` returns.
        verbose: 0, or 1 to tell of points; 2 for the progress within them.
        **options: Those of `CaptioningStudy`.

    Returns:
        `tfcap.training.Sweep`; its `work()` does what is missing, and its
        `records()` are what curves are made of.
    """

    @functools.lru_cache(maxsize=1)
    def study(seed):
        folder = os.path.join(str(directory), f"seed_{seed}")
        told = 2 if verbose > 1 else 0
        return CaptioningStudy(
            data, settings, folder, seed, verbose=told, **options
        )

    def run(point, folder):
        # Graphs of one point are of no use to the next, and large.
        keras.utils.clear_session()
        gc.collect()
        return study(point["seed"]).result(
            point["method"],
            point.get("lambda"),
            point.get("rho"),
            point.get("temperature"),
        )

    shared = {
        "data": data.name,
        "images": [len(data.train), len(data.test)],
        "settings": asdict(settings),
        "split": options.get("split", "test"),
    }
    return Sweep(directory, run, grid, shared, verbose=verbose)


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
        return tradeoff_sweep(
            options.out, data, settings, grid, 2 if options.progress else 1
        ).work()
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
