"""CPU time of a training, kept beside what was trained."""

import os
import time

import keras

from reproduce.study import read_written
from reproduce.study import write_json

#: The file in the folder of a point.
COST = "cost.json"


class CPUSeconds(keras.callbacks.Callback):
    """Counts the CPU seconds of a training, over all of its interruptions.

    All threads of the process count, and nothing that other processes do: on a
    busy machine it is the number that an idle one has. Graphs that are traced,
    and what is done between epochs, are within the whole, and not within a
    step.

    Args:
        directory: String, in which `cost.json` is written at the end.
    """

    def __init__(self, directory):
        super().__init__()
        self.path = os.path.join(directory, COST)
        self.seconds, self.step_seconds, self.steps = 0.0, 0.0, 0
        self._last, self._untraced = None, 1

    def prepared(self, prepare):
        """A function that counts what is done before the first step, too."""

        def run():
            start = time.process_time()
            prepare()
            self.seconds += time.process_time() - start

        return prepare and run

    def get_state(self):
        return {
            "seconds": self.seconds,
            "step_seconds": self.step_seconds,
            "steps": self.steps,
        }

    def set_state(self, state):
        self.__dict__.update(state)

    def on_train_begin(self, logs=None):
        self._last = time.process_time()
        # Learners who take turns have a graph for each.
        self._untraced = getattr(self.model, "period", 1)

    def on_train_batch_begin(self, batch, logs=None):
        self._spend()

    def on_train_batch_end(self, batch, logs=None):
        spent = self._spend()
        if self._untraced:
            self._untraced -= 1
            return
        self.step_seconds += spent
        self.steps += 1

    def on_train_end(self, logs=None):
        self._spend()
        write_json(self.path, self.get_state())

    def _spend(self):
        now = time.process_time()
        spent, self._last = now - self._last, now
        self.seconds += spent
        return spent


def cost_scores(directory) -> dict:
    """CPU seconds of a kept training, and milliseconds of a step of it."""
    path = os.path.join(directory, COST)
    if not os.path.exists(path):
        return {}
    found = read_written(path)
    scores = {"cpu_seconds": found["seconds"]}
    if found["steps"]:
        step = found["step_seconds"] / found["steps"]
        scores["cpu_ms_a_step"] = 1000.0 * step
    return scores
