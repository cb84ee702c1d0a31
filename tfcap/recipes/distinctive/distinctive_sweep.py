"""The rows of distinctive captioning, over seeds."""

import os

from tfcap.recipes.captioning.study_sweep import study_sweep
from tfcap.recipes.distinctive.study import PRETRAINED
from tfcap.recipes.distinctive.study import ROWS
from tfcap.recipes.distinctive.study import DistinctiveStudy
from tfcap.recipes.distinctive.study import row_name
from tfcap.training import SpeakerReport


def distinctive_grid(rows, seeds=(0,), alphas=()):
    """The grid of a sweep, seed by seed.

    Args:
        rows: Iterable of strings, keys of `ROWS`, or `"tf"`.
        seeds: Iterable of integers.
        alphas: Iterable of floats, weights of similarity. Defaults to that of
            the settings.

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
            if row in ROWS and alphas:
                point["alpha"] = list(alphas)
            grid.append(point)
    return grid


def distinctive_sweep(directory, data, settings, grid, verbose=1, **options):
    """Trains and evaluates the rows of a grid.

    Args:
        directory: String or path. Studies of the seeds are kept in it, too;
            and in `tensorboard`, each finished point for TensorBoard's
            Trade-off tab.
        data: `tfcap.recipes.captioning.CaptionData`.
        settings: `DistinctiveSettings`.
        grid: What `distinctive_grid()` returns.
        verbose: 0, or 1 to tell of points; 2 for the progress within them.
        **options: Those of `DistinctiveStudy`.

    Returns:
        `tfcap.training.Sweep`; its `work()` does what is missing, and its
        `records()` are what tables are made of.
    """
    return study_sweep(
        DistinctiveStudy,
        _find,
        directory,
        data,
        settings,
        grid,
        verbose,
        **options,
    )


def distinctive_reports(directory, rows, seed=0):
    """The captions that a sweep keeps, with the ranks of their images.

    Args:
        directory: String or path of the sweep.
        rows: Iterable of strings, rows that are done.
        seed: Integer. Defaults to `0`.

    Returns:
        Dict of `tfcap.training.SpeakerReport` by row.
    """
    folder = os.path.join(str(directory), f"seed_{seed}")
    return {
        row: SpeakerReport.load(
            os.path.join(folder, row_name(row), "captions.json")
        )
        for row in rows
    }


def _find(study, point):
    where = point["method"], point.get("alpha")
    return study.result(*where), study.report(*where)
