"""Progress as lines, for logs and for commands without bars."""

import sys
import time

import keras


class ProgressLines(keras.callbacks.Callback):
    """Tells of training in whole lines: every epoch, and every minute.

    A line an epoch with its losses and its time, and one whenever nothing was
    told for `every` seconds. Unlike a bar, they can be read in a file.

    Args:
        name: String, what is trained, which begins every line.
        every: Float, seconds. Defaults to `60.0`.
        tell: Function of a string. Defaults to printing it.

    Example:

    >>> model = keras.Sequential([keras.layers.Dense(1)])
    >>> model.compile("sgd", "mse")
    >>> lines = tfcap.training.ProgressLines(
    ...     "model", tell=lambda line: print(line.split(",")[0])
    ... )
    >>> _ = model.fit(
    ...     np.ones((4, 2)),
    ...     np.ones(4),
    ...     epochs=2,
    ...     callbacks=[lines],
    ...     verbose=0,
    ... )
    model: epoch 1 of 2
    model: epoch 2 of 2
    """

    def __init__(self, name, every=60.0, tell=None):
        super().__init__()
        if every <= 0:
            raise ValueError(
                f"`every` must be positive. Received: every={every}."
            )
        self.name = name
        self.every = every
        self.tell = tell or _print

    def on_epoch_begin(self, epoch, logs=None):
        self._epoch = epoch + 1
        self._begun = self._told = time.monotonic()

    def on_train_batch_end(self, batch, logs=None):
        now = time.monotonic()
        if now - self._told >= self.every:
            self._told = now
            steps = self.params.get("steps")
            of = f" of {steps}" if steps else ""
            self._line(f"step {batch + 1}{of}", logs)

    def on_epoch_end(self, epoch, logs=None):
        self._line(f"{time.monotonic() - self._begun:.0f} s", logs)

    def _line(self, what, logs):
        epochs = self.params.get("epochs")
        losses = [
            f"{name} {float(value):.4g}"
            for name, value in (logs or {}).items()
            if name.endswith("loss")
        ]
        of = f" of {epochs}" if epochs else ""
        head = f"{self.name}: epoch {self._epoch}{of}"
        self.tell(", ".join([head, what, *losses]))


def _print(line):
    # In one write, so that lines of several processes stay whole.
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
