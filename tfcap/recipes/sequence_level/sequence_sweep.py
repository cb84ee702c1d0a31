"""The rows of sequence-level learning, over seeds."""

import os

from tfcap.recipes.captioning.study_sweep import study_sweep
from tfcap.recipes.sequence_level.study import PRETRAINED
from tfcap.recipes.sequence_level.study import ROWS
from tfcap.recipes.sequence_level.study import WITH_ALPHA
from tfcap.recipes.sequence_level.study import SequenceLevelStudy
from tfcap.recipes.sequence_level.study import row_name
from tfcap.recipes.study import read_json


def sequence_grid(rows, seeds=(0,), alphas=(), rates=()):
    """The grid of a sweep, seed by seed.

    Args:
        rows: Iterable of strings, keys of `ROWS`, or among `PRETRAINED`.
        seeds: Iterable of integers.
        alphas: Iterable of floats, for rows that know an alpha. Defaults to
            that of the settings.
        rates: Iterable of floats, learning rates of rows that are trained for
            a reward. Defaults to that of the settings.

    Returns:
        List of dicts, as `tfcap.training.Sweep` takes.
    """
    known = [*PRETRAINED, *ROWS]
    grid = []
    for seed in seeds:
        for row in rows:
            if row not in known:
                raise ValueError(
                    f"`rows` must be among {', '.join(known)}. Received: "
                    f"{row!r}."
                )
            point = {"method": row, "seed": seed}
            if row in WITH_ALPHA and alphas:
                point["alpha"] = list(alphas)
            if row in ROWS and rates:
                point["rate"] = list(rates)
            grid.append(point)
    return grid


def sequence_sweep(directory, data, settings, grid, verbose=1, **options):
    """Trains and evaluates the rows of a grid.

    Args:
        directory: String or path. Studies of the seeds are kept in it, too;
            and in `tensorboard`, each finished point for TensorBoard's
            Trade-off tab.
        data: `tfcap.recipes.captioning.CaptionData`.
        settings: `SequenceLevelSettings`.
        grid: What `sequence_grid()` returns.
        verbose: 0, or 1 to tell of points; 2 for the progress within them.
        **options: Those of `SequenceLevelStudy`.

    Returns:
        `tfcap.training.Sweep`; its `work()` does what is missing, and its
        `records()` are what tables are made of.
    """

    return study_sweep(
        SequenceLevelStudy,
        _find,
        directory,
        data,
        settings,
        grid,
        verbose,
        **options,
    )


def _find(study, point):
    where = point["method"], point.get("alpha"), point.get("rate")
    return study.result(*where), study.report(*where)


def several_captions(directory, rows, seed=0, decoder="rs"):
    """The several captions of every image that a sweep keeps.

    Args:
        directory: String or path of the sweep.
        rows: Iterable of strings, rows that are done.
        seed: Integer. Defaults to `0`.
        decoder: `"rs"`, random samples, or `"bs"`, beams. Defaults to `"rs"`.

    Returns:
        Dict of lists of lists of strings by row.
    """
    folder = os.path.join(str(directory), f"seed_{seed}")
    paths = {r: os.path.join(folder, row_name(r), "several.json") for r in rows}
    return {row: read_json(path)[decoder] for row, path in paths.items()}
