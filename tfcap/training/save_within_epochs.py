"""The callback that saves in the midst of an epoch."""

import time

import keras
import numpy as np

from tfcap.training.metric_state import metric_arrays
from tfcap.training.metric_state import set_metric_arrays
from tfcap.training.model_state import arrays_of
from tfcap.training.model_state import variables_of
from tfcap.training.workers import from_all
from tfcap.training.workers import from_chief
from tfcap.training.workers import is_chief
from tfcap.training.workers import several_workers

#: Seconds between two questions that several workers ask each other.
_ASK = 1.0
#: Seconds of work that are saved before an epoch's evaluation, which may be
#: too long to wait for.
_WORTH = 60.0


class SaveWithinEpochs(keras.callbacks.Callback):
    """Saves every so many seconds, and at SIGTERM, which then ends the run.

    Several workers agree at which step they save, about once a second. Must
    come after all other callbacks: what these do when an epoch begins, such
    as to lower a learning rate, is in a state already that was saved in its
    midst, and undone when such an epoch goes on.

    Args:
        checkpoint: `RunCheckpoint`, which has restored the model.
        termination: `Termination`, of the block in which the model trains.
        seconds: Float, between two checkpoints, those after epochs included.
        model: `keras.Model`, as it was restored.

    Attributes:
        metrics: List of arrays, those of the epoch to go on with, for the
            first of several workers.
    """

    def __init__(self, checkpoint, termination, seconds, model):
        super().__init__()
        self.checkpoint = checkpoint
        self.termination = termination
        self.seconds = seconds
        # Callbacks see an epoch begin again that is gone on with.
        self._restored = arrays_of(model) if checkpoint.step else None
        chief = checkpoint.step and is_chief(model)
        self.metrics = checkpoint.metrics if chief else []

    def on_train_begin(self, logs=None):
        self._saved = self._asked = time.monotonic()
        self._steps, self._ask_at = 0, 1

    def on_epoch_begin(self, epoch, logs=None):
        self._epoch = epoch
        if self._restored is None:
            return
        for variable, array in zip(variables_of(self.model), self._restored):
            variable.assign(array)
        set_metric_arrays(self.model, self.metrics)
        self._restored = None

    def on_train_batch_end(self, batch, logs=None):
        self._steps += 1
        last = batch + 1 >= self.params["steps"]
        waited = time.monotonic() - self._saved
        due = waited >= self.seconds or (last and waited >= _WORTH)
        stop, due = self._agreed(due, last)
        if stop or due:
            self._save(batch + 1, logs)
        if stop:
            self._stop(f"step {batch + 1} of epoch {self._epoch + 1}")

    def on_epoch_end(self, epoch, logs=None):
        # Saved by the checkpoint's own callback.
        self._saved = time.monotonic()
        if self._agreed(False, True)[0]:
            self._stop(f"epoch {epoch + 1}")

    def _agreed(self, due, now):
        """Whether to stop, and to save, for all workers alike."""
        stop = self.termination.requested
        if not several_workers(self.model):
            return stop, due
        if self._steps < self._ask_at and not now:
            return False, False
        # By the clock of the first worker alone.
        clock = time.monotonic()
        speed = self._steps / max(clock - self._asked, 1e-6)
        ahead = min(max(int(speed * _ASK), 1), 1000)
        own = [stop, due, ahead] if is_chief(self.model) else [stop, 0, 0]
        stop, due, ahead = from_all(np.array([own], np.int32), self.model).max(
            axis=0
        )
        self._asked, self._steps, self._ask_at = clock, 0, ahead
        return bool(stop), bool(due)

    def _save(self, step, logs):
        metrics = metric_arrays(self.model)
        logs = {k: np.asarray(v).tolist() for k, v in (logs or {}).items()}
        if is_chief(self.model):
            self.checkpoint.save(
                self.model,
                self._epoch,
                step=step,
                steps=self.params["steps"],
                metrics=metrics,
                logs=logs,
            )
        self._saved = time.monotonic()

    def _stop(self, place):
        # Nobody ends before the first one has written.
        from_chief(None, self.model)
        self.termination.obey(
            f"Stopped by SIGTERM after {place}, which is on the disk: "
            f"{self.checkpoint.path}. To go on exactly, run the same command "
            "again."
            if is_chief(self.model)
            else ""
        )
