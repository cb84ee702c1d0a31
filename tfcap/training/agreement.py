"""Agreement of several workers to save and stop, all at the same step."""

import time

import numpy as np

from tfcap.training.workers import from_all
from tfcap.training.workers import is_chief
from tfcap.training.workers import several_workers

#: Seconds between two questions that several workers ask each other.
_ASK = 1.0


class Agreement:
    """Decides for all workers alike, about once a second.

    Args:
        model: `keras.Model` that the workers train.
    """

    def __init__(self, model):
        self._model = model
        self._asked = time.monotonic()
        self._steps, self._ask_at = 0, 1

    def reached(self, stop: bool, due: bool, now: bool) -> tuple[bool, bool]:
        """Decides whether all stop, and whether all save."""
        if not several_workers(self._model):
            return stop, due
        self._steps += 1
        if self._steps < self._ask_at and not now:
            return False, False
        clock = time.monotonic()
        speed = self._steps / max(clock - self._asked, 1e-6)
        ahead = min(max(int(speed * _ASK), 1), 1000)
        own = [stop, due, ahead] if is_chief(self._model) else [stop, 0, 0]
        own = np.array([own], np.int32)
        stop, due, ahead = from_all(own, self._model).max(axis=0)
        self._asked, self._steps, self._ask_at = clock, 0, ahead
        return bool(stop), bool(due)
