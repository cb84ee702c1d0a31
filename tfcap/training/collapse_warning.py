"""Tells when a retrieval network has given up."""

import warnings

import keras


class CollapseWarning(keras.callbacks.Callback):
    """Warns when a collapse ratio stays at 1.

    A listener that embeds everything in one point has a hinge loss of exactly
    `2 * margin * B`, and hardly ever leaves it. Reads what
    `tfcap.metrics.CollapseRatio` and `tfcap.rewards.Retrieval` log, and warns
    once for each time that a ratio has been near 1 for some epochs in a row.

    Args:
        patience: Integer, number of epochs. Defaults to `3`.
        low: Float, lowest ratio that counts as 1. Defaults to `0.95`.
        high: Float, highest. Defaults to `1.05`.
        monitor: String or tuple of strings, names of the ratios in the logs.
            Defaults to `None`, all whose name ends with `"collapse_ratio"`.

    Example:

    >>> callback = tfcap.training.CollapseWarning(patience=2)
    """

    def __init__(self, patience=3, low=0.95, high=1.05, monitor=None):
        super().__init__()
        if patience < 1:
            raise ValueError(
                f"`patience` must be at least 1. Received: patience={patience}."
            )
        if not low < 1 < high:
            raise ValueError(
                "`low` must be less than 1, and `high` more. Received: "
                f"low={low}, high={high}."
            )
        self.patience = patience
        self.low = low
        self.high = high
        self.monitor = (monitor,) if isinstance(monitor, str) else monitor
        self._epochs = {}

    def on_train_begin(self, logs=None):
        self._epochs = {}

    def on_epoch_end(self, epoch, logs=None):
        for name in self._monitored(logs or {}):
            ratio = float(logs[name])
            near = self.low <= ratio <= self.high
            self._epochs[name] = self._epochs.get(name, 0) + 1 if near else 0
            if self._epochs[name] == self.patience:
                warnings.warn(
                    f"`{name}` has been near 1 for {self.patience} epochs "
                    f"(now {ratio:.3f}): the listener seems to embed all "
                    "images and texts alike. Begin with summed negatives and "
                    "bring in the hardest later, lower the learning rate, or "
                    "enlarge the batch.",
                    RuntimeWarning,
                    stacklevel=2,
                )

    def _monitored(self, logs):
        if self.monitor is None:
            return [name for name in logs if name.endswith("collapse_ratio")]
        absent = [name for name in self.monitor if name not in logs]
        if absent:
            raise ValueError(
                "`monitor` must name what is logged. Received: "
                f"monitor={self.monitor}, and logs of {sorted(logs)}."
            )
        return self.monitor
