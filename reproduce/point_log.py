"""Points of a sweep, for the Trade-off tab of TensorBoard."""

import os

from reproduce.judged_samples import judged_sample
from reproduce.psst_figures import method_title
from tensorboard_plugin_tfcap.summary import TradeoffWriter
from tfcap.training import SpeakerReport

#: Metrics that the tab does not know.
_METRICS = (
    {
        "name": "cpu_seconds",
        "title": "CPU seconds of training",
        "better": "lower",
        "role": "other",
    },
)


def log_point(
    directory,
    settings,
    result,
    report: SpeakerReport | None = None,
    images=None,
    truth=None,
):
    """Writes a finished point.

    Args:
        truth: `reproduce.world.truth.Truth` of what the report's captions are
            of: their claims are written, too. Defaults to `None`.

    Example:

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> settings = {"method": "luo2018", "lambda": 0.001, "seed": 0}
    >>> reproduce.point_log.log_point(
    ...     folder, settings, {"cider_d": 1.1, "r@10": 60.0}
    ... )
    >>> os.listdir(os.path.join(folder, "luo2018"))
    ['lambda=0.001,seed=0']
    """
    params = {
        name: value
        for name, value in settings.items()
        if name not in ("method", "seed") and value is not None
    }
    method, seed = settings["method"], settings.get("seed")
    named = {**params, "seed": seed}
    folder = ",".join(f"{k}={v}" for k, v in named.items() if v is not None)
    path = os.path.join(str(directory), method, folder or "point")
    numbers = {k: v for k, v in result.items() if isinstance(v, int | float)}
    title = method_title(method)
    known = [metric for metric in _METRICS if metric["name"] in numbers]
    with TradeoffWriter(
        path, method, params, seed, known, title=title
    ) as writer:
        writer.point(0, numbers)
        if report is not None:
            samples = report.samples(images)
            if truth is not None:
                samples = [
                    judged_sample(sample, truth, row)
                    for row, sample in enumerate(samples)
                ]
            writer.samples(0, samples)


def log_sweep(directory, paper, sweeps, images=None):
    """Writes the points of sweeps that were made before.

    Args:
        sweeps: Dict of records by folder of a sweep, as of
            `reproduce.load_records()`; captions that are kept there are
            written, too.
    """
    if paper.compare:
        paper.compare(os.path.join(str(directory), "comparison"))
    names = ("method", "seed", *paper.axes)
    for folder, records in sweeps.items():
        for record in records:
            settings = {k: record[k] for k in names if k in record}
            scores = {k: v for k, v in record.items() if k not in settings}
            report = kept_report(folder, paper, settings)
            log_point(directory, settings, scores, report, images)


def kept_report(directory, paper, settings):
    """The captions that a sweep keeps of a point, or `None`."""
    path = kept_file(directory, paper, settings, "captions.json")
    return SpeakerReport.load(path) if os.path.exists(path) else None


def kept_file(directory, paper, settings, file):
    """Path of a file that a sweep may keep of a point."""
    numbers = {k: v for k, v in settings.items() if v is not None}
    row, seed = numbers.pop("method"), numbers.pop("seed")
    place = paper.place(row, numbers)
    return os.path.join(str(directory), f"seed_{seed}", place, file)
