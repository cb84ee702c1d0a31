"""Two workers of which a scheduler takes one away in the midst of an epoch.

Run by a test as two processes, which train a whole run and a part of another,
and end with 143; those of `two_workers.py` go on, and what both have left must
be the same.
"""

import json
import os
import pathlib
import signal
import sys

import keras
import numpy as np

from tests.training.resumed import fit
from tfcap.data import DatasetBatches
from tfcap.training import open_strategy

EPOCHS, STEPS = 3, 12


def batch(step):
    rng = np.random.default_rng(step)
    x = rng.normal(size=(4, 3)).astype("float32")
    return x, rng.integers(0, 2, (4, 1))


class Stop(keras.callbacks.Callback):
    """SIGTERM in the second step of the second epoch, for who hears of it."""

    def __init__(self, hears=True):
        super().__init__()
        self.hears = hears

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch

    def on_train_batch_end(self, batch, logs=None):
        if self.hears and (self.epoch, batch) == (1, 1):
            signal.raise_signal(signal.SIGTERM)


def train(folder, *callbacks, seed=1):
    keras.utils.set_random_seed(seed)
    model = keras.Sequential(
        [
            keras.Input((3,)),
            keras.layers.Dense(5),
            keras.layers.Dropout(0.5),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile("adam", "binary_crossentropy", metrics=["mae"])
    history = fit(
        *(model, DatasetBatches(batch, STEPS), EPOCHS, folder),
        callbacks=callbacks,
        verbose=0,
    ).history
    return model.get_weights(), {k: v[-2:] for k, v in history.items()}


def go_on(root, task):
    """What the first run has left half done ends as what it did whole."""
    weights, history = train(root / "parts", seed=99)
    with np.load(root / f"whole{task}.npz") as whole:
        for number, array in enumerate(weights):
            np.testing.assert_array_equal(whole[f"arr_{number}"], array)
        for name, values in history.items():
            np.testing.assert_array_equal(whole[name], values, name)
    print("THE SAME", flush=True)


if __name__ == "__main__":
    strategy = open_strategy()
    task = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
    root = pathlib.Path(sys.argv[1])
    with strategy.scope():
        weights, history = train(root / "whole")
        np.savez(root / f"whole{task}.npz", *weights, **history)
        # All must stop, at one step.
        train(root / "parts", Stop(hears=task == 1))
    raise SystemExit("WRONG: not stopped")
