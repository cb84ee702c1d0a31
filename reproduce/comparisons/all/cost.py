"""CPU time of a training, saved beside its networks."""

import os
import time

import keras

from reproduce.study import read_written
from reproduce.study import write_json

#: The file in the folder of a point.
COST = "cost.json"


class CPUSeconds(keras.callbacks.Callback):
    """Counts the CPU seconds of a training, over all interruptions.

    All threads of the process count, and other processes do not, so that a busy
    machine measures the same as an idle one. Tracing counts.

    Args:
        directory: String, in which `cost.json` is written at the end.
    """

    def __init__(self, directory):
        super().__init__()
        self.path = os.path.join(directory, COST)
        self.seconds, self._last = 0.0, None

    def prepared(self, prepare):
        """A function that also counts work before the first step."""

        def run():
            start = time.process_time()
            prepare()
            self.seconds += time.process_time() - start

        return prepare and run

    def get_state(self):
        self._spend()
        return {"seconds": self.seconds}

    def set_state(self, state):
        self.seconds = state["seconds"]

    def on_train_begin(self, logs=None):
        self._last = time.process_time()

    def on_train_end(self, logs=None):
        write_json(self.path, self.get_state())

    def _spend(self):
        now = time.process_time()
        if self._last is not None:
            self.seconds += now - self._last
        self._last = now


def cpu_seconds(directory) -> dict:
    """CPU seconds of a finished training, if they are known."""
    path = os.path.join(directory, COST)
    if not os.path.exists(path):
        return {}
    return {"cpu_seconds": read_written(path)["seconds"]}
