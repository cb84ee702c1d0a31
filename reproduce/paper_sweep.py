"""Points of a paper: an experiment a seed, each point done once."""

import functools
import gc
import os
from dataclasses import asdict

import keras
import tensorflow as tf

from reproduce.experiment import TRUTH
from reproduce.experiment import Experiment
from reproduce.experiment import score_of
from reproduce.point_log import log_point
from reproduce.sweep import Sweep
from tfcap.training import is_chief

#: The folder of a sweep that TensorBoard reads.
LOGS = "tensorboard"
#: Scores that are printed first when a point is done.
_HEADLINE = (
    *("cider_d", "strangers_r@10", "bleu_4", "r@1", "r@5", "r@10"),
    "fixed_r@10",
)


def paper_sweep(
    paper, directory, data, settings, grid, verbose=1, measures=(), **options
):
    """Trains and evaluates the points of a grid.

    Args:
        directory: String or path. Experiments of the seeds are kept in it,
            too; and in `tensorboard`, each finished point for TensorBoard's
            Trade-off tab.
        grid: As of `Sweep`, of points of the paper.
        verbose: 0 for silence; 1 for lines: points, what is trained, every
            epoch.
        measures: Names of scores that records must have, beside `metrics`.
            Points that lack one are evaluated again. Defaults to `()`.
        **options: Those of `Experiment`. As `pretrained` the folder of another
            sweep may be given, too: each experiment takes that of its seed.
    """
    directory = str(directory)

    @functools.lru_cache(maxsize=1)
    def experiment(seed):
        folder = os.path.join(directory, f"seed_{seed}")
        more = {**options, "verbose": 2 * verbose}
        if more.get("pretrained") is not None:
            more["pretrained"] = _of_seed(more["pretrained"], seed)
        return Experiment(paper, data, settings, folder, seed, **more)

    def run(point, folder):
        # Graphs of one point are of no use to the next, and large. The scope
        # of a strategy would not outlive them: the next points would train on
        # one device.
        if not tf.distribute.has_strategy():
            keras.utils.clear_session()
        gc.collect()
        numbers = dict(point)
        row, seed = numbers.pop("method"), numbers.pop("seed")
        made = experiment(seed)
        result = made.result(row, **numbers)
        if is_chief():
            logs = os.path.join(directory, LOGS)
            if paper.compare:
                paper.compare(os.path.join(logs, "comparison"), data.name)
            report = made.report(row, **numbers)
            asked = data.truth is not None and TRUTH in result
            truth = data.truth(made.split) if asked else None
            log_point(logs, point, result, report, data.test_images, truth)
        first = {name: result[name] for name in _HEADLINE if name in result}
        return first | result

    # Not the defaults: settings that come later do not make another sweep.
    usual = asdict(type(settings)())
    changed = {k: v for k, v in asdict(settings).items() if v != usual[k]}
    shared = {
        "data": data.name,
        "images": [len(data.train), len(data.test)],
        "digest": data.digest,
        "settings": changed,
        "split": options.get("split", "test"),
    }
    measures = [*map(score_of, options.get("metrics", ())), *measures]
    sweep = Sweep(directory, run, grid, shared, measures, verbose)
    _check_kept(paper, directory, sweep.incomplete())
    return sweep


def _check_kept(paper, directory, points):
    """Rejects points whose metrics are incomplete and whose networks are gone.

    Their records would mix the scores of two trainings.
    """
    for point in points:
        numbers = dict(point)
        row, seed = numbers.pop("method"), numbers.pop("seed")
        name = os.path.join(f"seed_{seed}", paper.place(row, numbers))
        if not os.path.exists(os.path.join(directory, name, "result.json")):
            raise ValueError(
                "`directory` must hold the networks of finished points, to "
                "add metrics to them. "
                f"Received: directory={directory!r}, without {name}. Use a new "
                "folder."
            )


def _of_seed(folder, seed):
    """The experiment of a seed in a sweep's folder; or the folder itself."""
    inner = os.path.join(str(folder), f"seed_{seed}")
    return inner if os.path.isdir(inner) else folder
