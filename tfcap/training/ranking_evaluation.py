"""Ranking metrics during training."""

import keras

from tfcap.training.tradeoff_logger import write_report
from tfcap.training.workers import is_chief


class RankingEvaluation(keras.callbacks.Callback):
    """Ranks held-out candidates after epochs and adds the metrics to the logs.

    Put it before `keras.callbacks.TensorBoard`, which then draws them.

    Args:
        evaluate: Callable without arguments that returns a
            `tfcap.metrics.RankingReport` or `RetrievalReport`.
        every: Integer, epochs between evaluations. Defaults to `1`.
        prefix: String before the metrics' names. Defaults to `"val_"`.
        writer: `tensorboard_plugin_tfcap.summary.TradeoffWriter`, for the
            Trade-off tab of TensorBoard; the step is the number of epochs.
            Defaults to `None`.

    Example:

    >>> report = tfcap.metrics.RankingReport()
    >>> report.add(np.array([[0.1, 0.9]]), truth=[1])
    >>> callback = tfcap.training.RankingEvaluation(lambda: report, every=2)
    """

    def __init__(self, evaluate, every=1, prefix="val_", writer=None):
        super().__init__()
        if every < 1:
            raise ValueError(
                f"`every` must be at least 1. Received: every={every}."
            )
        self.evaluate = evaluate
        self.every = every
        self.prefix = prefix
        self.writer = writer

    def on_epoch_end(self, epoch, logs=None):
        if (epoch + 1) % self.every or (logs is None and self.writer is None):
            return
        report = self.evaluate()
        if self.writer is not None and is_chief(self.model):
            write_report(self.writer, epoch + 1, report)
        for name, value in report.result().items() if logs is not None else ():
            if name != "count":
                logs[self.prefix + name.replace("@", "_")] = value

    def on_train_end(self, logs=None):
        if self.writer is not None:
            self.writer.close()
