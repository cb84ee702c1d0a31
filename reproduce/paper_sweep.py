"""Points of a paper: an experiment a seed, each point done once."""

import functools
import gc
import os
from dataclasses import asdict

import keras
import tensorflow as tf

from reproduce.experiment import Experiment
from reproduce.point_log import log_point
from reproduce.scores import TRUTH
from reproduce.scores import score_of
from reproduce.sweep import Sweep
from reproduce.sweep_records import PANEL
from reproduce.sweep_records import SAME_PANEL
from tfcap.training import is_chief

#: The folder of a sweep that TensorBoard reads.
LOGS = "tensorboard"
#: Scores that are printed first when a point is done.
_HEADLINE = (
    *("cider_d", "strangers_r@10", "bleu_4", "r@1", "r@5", "r@10"),
    "fixed_r@10",
)


def paper_sweep(
    paper,
    directory,
    data,
    settings,
    grid: list[dict],
    verbose=1,
    evaluate_again=False,
    measures=(),
    **options,
):
    """Trains and evaluates the points of a grid.

    Args:
        directory: String or path. Experiments of the seeds are kept in it,
            too; and in `tensorboard`, each finished point for TensorBoard's
            Trade-off tab.
        verbose: 0 for silence; 1 for lines: points, what is trained, every
            epoch; 2 for progress bars within points.
        evaluate_again: Boolean, whether points of before the paper's
            `measures` were known are evaluated again, by what is kept of them.
            Defaults to `False`.
        measures: Names of scores that records are to have, beside `metrics`.
            Points that lack one are evaluated again. Defaults to `()`.
        **options: Those of `Experiment`. As `pretrained` the folder of another
            sweep may be given, too: each experiment takes that of its seed.
    """

    @functools.lru_cache(maxsize=1)
    def experiment(seed):
        folder = os.path.join(str(directory), f"seed_{seed}")
        progress = {0: 0, 1: 2}.get(verbose, 1)
        more = {**options, "verbose": progress}
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
            logs = os.path.join(str(directory), LOGS)
            if paper.compare:
                paper.compare(os.path.join(logs, "comparison"), data.name)
            report = made.report(row, **numbers)
            asked = data.truth is not None and TRUTH in result
            truth = data.truth(made.split) if asked else None
            log_point(logs, point, result, report, data.test_images, truth)
        return result

    # Not the defaults: settings that come later do not make another sweep.
    usual = asdict(type(settings)())
    changed = {k: v for k, v in asdict(settings).items() if v != usual[k]}
    shared = {
        "data": data.name,
        "images": [len(data.train), len(data.test)],
        "settings": changed,
        "split": options.get("split", "test"),
    }
    if options.get("given"):
        shared["given"] = options["given"].get("name")
    asked = map(score_of, options.get("metrics", ()))
    measures = [*asked, *measures]
    measures += paper.measures if evaluate_again else []
    sweep = Sweep(
        directory,
        run,
        grid,
        shared,
        measures,
        verbose=verbose,
        digest=data.digest,
        headline=_HEADLINE,
    )
    _check_kept(paper, str(directory), sweep.incomplete())
    if options.get("strangers"):
        check_panel(str(directory), sweep.records(), options["strangers"])
    return sweep


def _check_kept(paper, directory, points):
    """Refuses to train anew what is only to be evaluated by more.

    The record would mix the scores of two trainings.
    """
    for point in points:
        numbers = dict(point)
        row, seed = numbers.pop("method"), numbers.pop("seed")
        name = os.path.join(f"seed_{seed}", paper.place(row, numbers))
        if not os.path.exists(os.path.join(directory, name, "result.json")):
            raise ValueError(
                "`directory` must hold the networks of points that are done, "
                "for `evaluate_again` and for metrics that they lack. "
                f"Received: directory={directory!r}, without {name}. Sweep "
                "into a folder of its own."
            )


def check_panel(directory: str, records: list[dict], strangers):
    """Refuses to add to points that another panel of strangers has heard."""
    heard = {r[PANEL] for r in records if r.get(PANEL) is not None}
    own = strangers.human_scores()[PANEL] if heard else None
    others = sorted(x for x in heard if abs(x - own) > SAME_PANEL)
    if others:
        raise ValueError(
            "`--strangers` must be the panel that has heard the sweep's other "
            "points. Received: one that finds by human captions "
            f"{own:.3f} % of the images, for {directory}, whose points were "
            f"heard by one that finds {others[0]:.3f} %. Name its folder and "
            "seed, or another --out."
        )


def _of_seed(folder, seed):
    """The experiment of a seed in a sweep's folder; or the folder itself."""
    inner = os.path.join(str(folder), f"seed_{seed}")
    return inner if os.path.isdir(inner) else folder
