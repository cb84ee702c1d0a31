"""The rows of sequence-level learning, over seeds."""

import os

from reproduce.captioning.reward_study import row_name
from reproduce.captioning.row_sweep import row_grid
from reproduce.captioning.row_sweep import row_sweep
from reproduce.sequence_level.study import ROWS
from reproduce.sequence_level.study import SequenceLevelStudy
from reproduce.study import read_written
from tfcap.io import is_there


def sequence_grid(rows, seeds=(0,), alphas=(), rates=(), entropy_weights=()):
    """The grid of a sweep, seed by seed.

    Args:
        rows: Iterable of strings, keys of `ROWS`, or `"xe"` or `"mle"`.
        seeds: Iterable of integers.
        alphas: Iterable of floats, for `"sll_sle"`. Defaults to that of the
            settings.
        rates: Iterable of floats, learning rates of rows that are trained for
            a reward. Defaults to that of the settings.
        entropy_weights: Iterable of floats, for `"sll_me"`. Defaults to that
            of the settings.

    Returns:
        List of dicts, as `reproduce.sweep.Sweep` takes.
    """
    axes = {
        "alpha": (alphas, ("sll_sle",)),
        "rate": (rates, ROWS),
        "entropy_weight": (entropy_weights, ("sll_me",)),
    }
    return row_grid(SequenceLevelStudy, rows, seeds, **axes)


def sequence_sweep(directory, data, settings, grid, verbose=1, **options):
    """Trains and evaluates the rows of a grid.

    Args:
        directory: String or path. Studies of the seeds are kept in it, too;
            and in `tensorboard`, each finished point for TensorBoard's
            Trade-off tab.
        data: `reproduce.captioning.CaptionData`.
        settings: `SequenceLevelSettings`.
        grid: What `sequence_grid()` returns.
        verbose: As that of `study_sweep()`.
        **options: Those of `SequenceLevelStudy`.

    Returns:
        `reproduce.sweep.Sweep`; its `work()` does what is missing, and its
        `records()` are what tables are made of.
    """
    about = directory, data, settings, grid, verbose
    return row_sweep(SequenceLevelStudy, *about, **options)


def several_captions(directory, rows, seed=0, decoder="rs", **point):
    """The several captions of every image that a sweep keeps.

    Args:
        directory: String or path of the sweep.
        rows: Iterable of strings; those that are not done are left out.
        seed: Integer. Defaults to `0`.
        decoder: `"rs"`, random samples, or `"bs"`, beams. Defaults to `"rs"`.
        **point: Settings of the point that are not the study's.

    Returns:
        Dict of lists of lists of strings by row.
    """
    folder = os.path.join(str(directory), f"seed_{seed}")
    paths = {
        row: os.path.join(folder, row_name(row, **point), "several.json")
        for row in rows
    }
    there = {row: path for row, path in paths.items() if is_there(path)}
    return {row: read_written(path)[decoder] for row, path in there.items()}
