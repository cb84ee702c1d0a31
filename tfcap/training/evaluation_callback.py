"""Evaluation of a model after epochs of its training."""

import json
import os
from collections.abc import Callable
from collections.abc import Sequence
from typing import Any

import keras

from tfcap._io import make_folder
from tfcap._io import whole_file
from tfcap._io.json_file import finite
from tfcap.training.tradeoff_logger import write_report
from tfcap.training.workers import is_chief


class EvaluationCallback(keras.callbacks.Callback):
    """Evaluates after epochs, logs the scores and keeps the reports.

    Adds the scores to the logs, under names that files can bear: `r@10` is
    logged as `val_r_10`. Put it before `keras.callbacks.TensorBoard`, which
    then draws them, and before `keras.callbacks.ModelCheckpoint`, which may
    then monitor `val_cider_d`.

    Args:
        evaluate: Callable without arguments that returns a dict of numbers,
            or a report with a `result()` that does, such as a
            `tfcap.training.SpeakerReport`, a `tfcap.metrics.RankingReport` or
            a `tfcap.metrics.RetrievalReport`. All workers call it.
        every: Integer, epochs between evaluations. Defaults to `1`.
        prefix: String before the names of scores. Defaults to `"val_"`.
        names: Strings, the scores to log; one that a report lacks is left
            out. Defaults to `None`, all.
        folder: String or path in which to keep a report an evaluation, such
            as `epoch_0007.json`: what its `save()` writes, or its numbers if
            it has none. Made if it is not there. Defaults to `None`, nothing
            is kept.
        writer: `tensorboard_plugin_tfcap.summary.TradeoffWriter`, for the
            Trade-off tab of TensorBoard; the step is the number of epochs.
            Defaults to `None`.
        images: Function from an image's row in the report to its pixels, to
            be shown there, such as `tfcap.data.Photographs`. Optional.

    Attributes:
        report: The last report, or `None`.

    Example:

    >>> report = tfcap.metrics.RankingReport()
    >>> report.add(np.array([[0.1, 0.9]]), truth=[1])
    >>> callback = tfcap.training.EvaluationCallback(lambda: report, every=2)
    >>> logs = {}
    >>> callback.on_epoch_end(1, logs)
    >>> logs["val_mrr"]
    1.0
    """

    def __init__(
        self,
        evaluate: Callable[[], Any],
        every: int = 1,
        prefix: str = "val_",
        names: Sequence[str] | None = None,
        folder: str | os.PathLike | None = None,
        writer: Any = None,
        images: Callable[[int], Any] | None = None,
    ):
        super().__init__()
        if every < 1:
            raise ValueError(
                f"`every` must be at least 1. Received: every={every}."
            )
        if isinstance(names, str):
            raise TypeError(
                "`names` must be several names. Received: "
                f"names={names!r}. Put it in a list."
            )
        self.evaluate = evaluate
        self.every = every
        self.prefix = prefix
        self.names = names
        self.folder = folder
        self.writer = writer
        self.images = images
        self.report = None

    def on_epoch_end(self, epoch, logs=None):
        if (epoch + 1) % self.every:
            return
        # All workers evaluate, since that may take all of them.
        self.report = report = self.evaluate()
        scores = report if isinstance(report, dict) else report.result()
        if self.folder is not None and is_chief(self.model):
            make_folder(self.folder)
            path = os.path.join(self.folder, f"epoch_{epoch + 1:04d}.json")
            if hasattr(report, "save"):
                report.save(path)
            else:
                _write(path, scores)
        if self.writer is not None and is_chief(self.model):
            write_report(self.writer, epoch + 1, report, self.images)
        if logs is None:
            return
        for name, value in scores.items():
            wanted = self.names is None or name in self.names
            if wanted and name != "count":
                logs[self.prefix + name.replace("@", "_")] = value

    def on_train_end(self, logs=None):
        if self.writer is not None:
            self.writer.close()


def _write(path, scores):
    """Writes numbers to a JSON file, `null` for one that is none."""
    numbers = {name: finite(value) for name, value in scores.items()}
    with whole_file(path, "w") as file:
        json.dump(numbers, file, indent=1, allow_nan=False)
