"""Callbacks that warn of training runs that fail."""

import warnings

import keras

from tfcap._ops.arguments import checked_integer


class CollapseWarning(keras.callbacks.Callback):
    """Warns when a collapse ratio stays at 1.

    A listener that embeds everything in one point has a hinge loss of exactly
    `2 * margin * B`, and rarely recovers. The callback reads the
    `"collapse_ratio"` logs of `tfcap.metrics.CollapseRatio` and
    `tfcap.rewards.Retrieval`, and warns when a ratio has been between 0.95 and
    1.05 for some consecutive epochs.

    Args:
        patience: Integer, number of epochs. Defaults to `3`.

    Example:

    >>> callback = tfcap.training.CollapseWarning(patience=2)
    """

    def __init__(self, patience: int = 3):
        super().__init__()
        self.patience = checked_integer(patience, "patience")

    def on_train_begin(self, logs=None):
        self._epochs = {}

    def on_epoch_end(self, epoch, logs=None):
        for name, ratio in (logs or {}).items():
            if not name.endswith("collapse_ratio"):
                continue
            near = 0.95 <= ratio <= 1.05
            self._epochs[name] = self._epochs.get(name, 0) + 1 if near else 0
            if self._epochs[name] == self.patience:
                warnings.warn(
                    f"`{name}` has been near 1 for {self.patience} epochs "
                    f"(now {ratio:.3f}): the listener seems to embed all "
                    "images and texts in one point. Start with summed "
                    "negatives and use the hardest later, lower the learning "
                    "rate, or enlarge the batch.",
                    RuntimeWarning,
                    stacklevel=2,
                )


class FallingScoreWarning(keras.callbacks.Callback):
    """Warns when the score of greedy captions keeps falling.

    A speaker that is reinforced too early, or in too large steps, soon
    generates worse captions without any reward, and does not recover. Put the
    callback after `tfcap.training.Evaluator`, whose logs it reads. It warns
    when consecutive evaluations were each worse than the one before; with
    `start`, also when they stay below it. Epochs without the score are
    skipped.

    Its counts are not part of a checkpoint: a resumed run starts from zero.

    Args:
        monitor: String, name of the score in the logs, better when higher.
            Defaults to `"val_cider_d"`.
        patience: Integer, number of evaluations in a row. Defaults to `3`.
        start: Float, the score before training. Defaults to `None`, unknown.

    Example:

    >>> callback = tfcap.training.FallingScoreWarning(patience=2, start=0.9)
    """

    def __init__(
        self,
        monitor: str = "val_cider_d",
        patience: int = 3,
        start: float | None = None,
    ):
        super().__init__()
        self.monitor = monitor
        self.patience = checked_integer(patience, "patience")
        self.start = start

    def on_train_begin(self, logs=None):
        self._scores, self._worse, self._names = [], 0, ()

    def on_epoch_end(self, epoch, logs=None):
        self._names = sorted(logs or {})
        if self.monitor not in self._names:
            return
        score = float(logs[self.monitor])
        known = [] if self.start is None else [float(self.start)]
        before = [*known, *(self._scores or known)[-1:]]
        worse = any(score < other for other in before)
        self._worse = self._worse + 1 if worse else 0
        self._scores.append(score)
        if self._worse != self.patience:
            return
        last = [*known, *self._scores][-self.patience - 1 :]
        values = ", ".join(f"{score:.4g}" for score in last)
        if self.start is not None:
            values += f"; {self.start:.4g} before training"
        warnings.warn(
            f"`{self.monitor}` has been falling, or below its start, for "
            f"{self.patience} evaluations ({values}): the speaker seems to "
            "forget what it had learned. Train it longer by maximum likelihood "
            "first, lower the learning rate, enlarge the batch, draw more "
            "samples, or add a term of TeacherForcing or a reward of "
            "KLPenalty.",
            RuntimeWarning,
            stacklevel=2,
        )

    def on_train_end(self, logs=None):
        if self._names and not self._scores:
            warnings.warn(
                f"`{self.monitor}` was never logged. Received: logs of "
                f"{self._names}. Put the callback that evaluates before this "
                "one, or pass another `monitor`.",
                RuntimeWarning,
                stacklevel=2,
            )
