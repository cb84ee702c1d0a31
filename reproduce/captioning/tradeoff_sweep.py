"""The points of trade-off curves: methods, lambda, rho and seeds."""

import os

from reproduce.captioning.methods import METHODS
from reproduce.captioning.phases import PHASES
from reproduce.captioning.study import HUMAN
from reproduce.captioning.study import CaptioningStudy
from reproduce.captioning.study_sweep import study_sweep
from reproduce.captioning.tradeoff_log import kept_report

#: The paper's lambdas.
LAMBDAS = (5e-4, 1e-3, 1.6e-3, 2.5e-3, 5e-3, 1e-2)
#: Methods that know a rho, and those that know a temperature.
WITH_RHO = (
    "psst_multinomial",
    "psst_gumbel",
    "psst_speaker",
    "gt_on_psst_listener",
)
WITH_TEMPERATURE = (
    "psst_gumbel",
    "psst_gumbel_code",
    "st_gumbel",
    "gumbel_speaker",
)
#: Points that no lambda moves.
WITHOUT_LAMBDA = (*PHASES, "g_gan", "frozen_speaker_mle")


def tradeoff_grid(methods, lambdas=LAMBDAS, seeds=(0,), rhos=(), taus=()):
    """The grid of a sweep, seed by seed.

    Args:
        methods: Iterable of strings, keys of `METHODS`, or names of points
            that no lambda moves: `"speaker_mle"`, `"speaker_cider"` and
            `"listener_gt"`. Nor does one move `"g_gan"` and
            `"frozen_speaker_mle"`; and `"gt_on_psst_listener"` is of the
            first lambda.
        lambdas: Iterable of floats. Defaults to the paper's.
        seeds: Iterable of integers.
        rhos: Iterable of floats, for methods that know a rho. Defaults to
            that of the settings.
        taus: Iterable of floats, for methods that know a temperature.

    Returns:
        List of dicts, as `reproduce.sweep.Sweep` takes.
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
        directory: String or path. Studies of the seeds are kept in it, too;
            and in `tensorboard`, each finished point for TensorBoard's
            Trade-off tab.
        data: `CaptionData`.
        settings: `CaptioningSettings`.
        grid: What `tradeoff_grid()` returns.
        verbose: As that of `study_sweep()`.
        **options: Those of `CaptioningStudy`.

    Returns:
        `reproduce.sweep.Sweep`; its `work()` does what is missing, and its
        `records()` are what curves are made of.
    """

    return study_sweep(
        CaptioningStudy,
        _find,
        directory,
        data,
        settings,
        grid,
        verbose,
        **options,
    )


def _find(study, point):
    names = ("method", "lambda", "rho", "temperature")
    found = study.result(*map(point.get, names))
    return found, kept_report(os.path.dirname(study.directory), point)
