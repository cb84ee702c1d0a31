"""Ranking metrics during training."""

import keras


class RankingEvaluation(keras.callbacks.Callback):
    """Ranks held-out candidates after epochs and adds the metrics to the logs.

    Put it before `keras.callbacks.TensorBoard`, which then draws them.

    Args:
        evaluate: Callable without arguments that returns a
            `tfcap.metrics.RankingReport` or `RetrievalReport`.
        every: Integer, epochs between evaluations. Defaults to `1`.
        prefix: String before the metrics' names. Defaults to `"val_"`.

    Example:

    >>> report = tfcap.metrics.RankingReport()
    >>> report.add(np.array([[0.1, 0.9]]), truth=[1])
    >>> callback = tfcap.training.RankingEvaluation(lambda: report, every=2)
    """

    def __init__(self, evaluate, every=1, prefix="val_"):
        super().__init__()
        if every < 1:
            raise ValueError(
                f"`every` must be at least 1. Received: every={every}."
            )
        self.evaluate = evaluate
        self.every = every
        self.prefix = prefix

    def on_epoch_end(self, epoch, logs=None):
        if logs is None or (epoch + 1) % self.every:
            return
        for name, value in self.evaluate().result().items():
            if name != "count":
                logs[self.prefix + name.replace("@", "_")] = value
