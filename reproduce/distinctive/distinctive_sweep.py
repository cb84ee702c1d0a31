"""The rows of distinctive captioning, over seeds."""

import os

from reproduce.captioning.reward_study import row_name
from reproduce.captioning.row_sweep import row_grid
from reproduce.captioning.row_sweep import row_sweep
from reproduce.distinctive.study import ROWS
from reproduce.distinctive.study import DistinctiveStudy
from tfcap.io import is_there
from tfcap.training import SpeakerReport

#: Rows that weigh similarity against no discriminator.
WITHOUT_ALPHA = ("scst_grammar",)


def distinctive_grid(rows, seeds=(0,), alphas=(), rates=(), shifts=()):
    """The grid of a sweep, seed by seed.

    Args:
        rows: Iterable of strings, keys of `ROWS`, or `"tf"`.
        seeds: Iterable of integers.
        alphas: Iterable of floats, weights of similarity, for rows that know
            one. Defaults to that of the settings.
        rates: Iterable of floats, learning rates of rows that are trained for
            a reward. Defaults to that of the settings.
        shifts: Iterable of floats, constants that are added to the reward of
            the same rows as `alphas`. Defaults to that of the settings.

    Returns:
        List of dicts, as `reproduce.sweep.Sweep` takes.
    """
    movable = [row for row in ROWS if row not in WITHOUT_ALPHA]
    axes = {
        "alpha": (alphas, movable),
        "rate": (rates, ROWS),
        "reward_shift": (shifts, movable),
    }
    return row_grid(DistinctiveStudy, rows, seeds, **axes)


def distinctive_sweep(directory, data, settings, grid, verbose=1, **options):
    """Trains and evaluates the rows of a grid.

    Args:
        directory: String or path. Studies of the seeds are kept in it, too;
            and in `tensorboard`, each finished point for TensorBoard's
            Trade-off tab.
        data: `reproduce.captioning.CaptionData`.
        settings: `DistinctiveSettings`.
        grid: What `distinctive_grid()` returns.
        verbose: As that of `study_sweep()`.
        **options: Those of `DistinctiveStudy`.

    Returns:
        `reproduce.sweep.Sweep`; its `work()` does what is missing, and its
        `records()` are what tables are made of.
    """
    about = directory, data, settings, grid, verbose
    return row_sweep(DistinctiveStudy, *about, **options)


def distinctive_reports(directory, rows, seed=0, **point):
    """The captions that a sweep keeps, with the ranks of their images.

    Args:
        directory: String or path of the sweep.
        rows: Iterable of strings; those that are not done are left out.
        seed: Integer. Defaults to `0`.
        **point: Settings of the point that are not the study's.

    Returns:
        Dict of `tfcap.training.SpeakerReport` by row.
    """
    folder = os.path.join(str(directory), f"seed_{seed}")
    paths = {
        row: os.path.join(folder, row_name(row, **point), "captions.json")
        for row in rows
    }
    there = {row: path for row, path in paths.items() if is_there(path)}
    return {row: SpeakerReport.load(path) for row, path in there.items()}
