"""Captions and their scores during training."""

import os

import keras

from tfcap.io.durable import make_folder
from tfcap.training.tradeoff_logger import write_report
from tfcap.training.workers import is_chief


class SpeakerEvaluation(keras.callbacks.Callback):
    """Evaluates a speaker after epochs, and keeps what it said.

    Adds the scores to the logs, under names that files can bear: `r@10` is
    logged as `val_r_10`. Put it before `keras.callbacks.TensorBoard`, which
    then draws them, and before `keras.callbacks.ModelCheckpoint`, which may
    then monitor `val_cider_d`.

    Args:
        evaluate: Callable without arguments that returns a `SpeakerReport`,
            such as a `SpeakerEvaluator`, made once for the run.
        every: Integer, epochs between evaluations. Defaults to `1`.
        prefix: String before the names of scores. Defaults to `"val_"`.
        names: Strings, the scores to log, as `SpeakerReport.result()` names
            them; one that a report lacks is left out. Defaults to `None`, all.
        folder: String or path in which to keep a report an evaluation, with
            the captions: `epoch_0007.json`. Made if it is not there. Defaults
            to `None`, nothing is kept.
        writer: `tensorboard_plugin_tfcap.summary.TradeoffWriter`, for the
            Trade-off tab of TensorBoard; the step is the number of epochs.
            Defaults to `None`.
        images: Function from an image's row in the report to its pixels, to
            be shown there. Optional.

    Attributes:
        report: The last `SpeakerReport`, or `None`.

    Example:

    >>> callback = tfcap.training.SpeakerEvaluation(
    ...     lambda: tfcap.training.evaluate_speaker(speaker, listener, batches),
    ...     every=2,
    ...     names=["cider_d", "r@10", "repeat_rate"],
    ... )
    """

    def __init__(
        self,
        evaluate,
        every=1,
        prefix="val_",
        names=None,
        folder=None,
        writer=None,
        images=None,
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
        self.report = self.evaluate()
        if self.folder is not None and is_chief(self.model):
            make_folder(self.folder)
            name = f"epoch_{epoch + 1:04d}.json"
            self.report.save(os.path.join(self.folder, name))
        if self.writer is not None and is_chief(self.model):
            write_report(self.writer, epoch + 1, self.report, self.images)
        if logs is None:
            return
        for name, value in self.report.result().items():
            if self.names is None or name in self.names:
                logs[self.prefix + name.replace("@", "_")] = value

    def on_train_end(self, logs=None):
        if self.writer is not None:
            self.writer.close()
