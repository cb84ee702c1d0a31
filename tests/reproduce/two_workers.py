"""A study on two workers, which a test compares with that of one process."""

import sys

import keras
import numpy as np

from reproduce.study import Study
from tfcap.data import DatasetBatches
from tfcap.training import open_strategy


def batch(step):
    x = np.random.default_rng(step).normal(size=(4, 3)).astype("float32")
    return x, x[:, :1]


def train(folder):
    """The network of a study, trained now unless it was."""
    study = Study(folder, {"settings": {}}, verbose=2)

    def fit():
        study.say("training")
        layer = keras.layers.Dense(1, kernel_initializer="ones")
        model = keras.Sequential([keras.Input((3,)), layer])
        # Graphs of two workers are trained in `tests/training`.
        model.compile("adam", "mse", run_eagerly=True)
        batches = DatasetBatches(batch, 2)
        return study.fit("model", model, batches, 2, network=model)

    return study.once("model", fit)["network"]


if __name__ == "__main__":
    with open_strategy().scope():
        train(sys.argv[1])
        # Both load what is there, and nothing is trained again.
        train(sys.argv[1])
