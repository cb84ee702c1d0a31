"""A run that a scheduler takes away in the midst of an epoch goes on exactly.

On the devices of the strategy in whose scope it is called; see
`two_replicas_faults.py` and `two_workers.py`.
"""

import signal

import keras
import numpy as np

from tests.training.resumed import fit
from tfcap.data import DatasetBatches

EPOCHS, STEPS = 3, 12


def batch(step):
    rng = np.random.default_rng(step)
    x = rng.normal(size=(8, 3)).astype("float32")
    return x, rng.integers(0, 2, (8, 1))


class Stop(keras.callbacks.Callback):
    """SIGTERM in the second step of the second epoch, for who hears of it."""

    def __init__(self, hears):
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
        model, DatasetBatches(batch, STEPS), EPOCHS, folder, callbacks
    ).history
    return model.get_weights(), {k: v[-2:] for k, v in history.items()}


def goes_on(folder, hears=True):
    """Checks weights, and metrics, too.

    Each replica has its own sums of these in the midst of an epoch.
    """
    weights, history = train(folder / "whole")
    try:
        train(folder / "parts", Stop(hears))
        status = 0
    except SystemExit as end:
        status = end.code
    if status != 143:
        raise SystemExit(f"stopped with status {status}")
    found, again = train(folder / "parts", seed=99)
    if not all((a == b).all() for a, b in zip(weights, found)):
        raise SystemExit("weights after SIGTERM differ")
    if history != again:
        raise SystemExit(f"logs after SIGTERM: {again}, {history}")
