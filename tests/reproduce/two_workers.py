"""A study on two workers, of which one is killed the first time.

Run by a test as two processes that are started again. What they leave is
compared with what one process leaves.
"""

import json
import os
import pathlib
import signal
import sys

import keras

from tests.reproduce.visdial.tiny_study import study
from tfcap.training import open_strategy
from tfcap.training.network_file import save_network


class Killed(keras.callbacks.Callback):
    """The second worker dies once, in its second epoch."""

    def __init__(self, mark):
        super().__init__()
        self.mark = pathlib.Path(mark)

    def on_epoch_begin(self, epoch, logs=None):
        task = json.loads(os.environ["TF_CONFIG"])["task"]
        self.dies = epoch and task["index"] and not self.mark.exists()

    def on_train_batch_end(self, batch, logs=None):
        if self.dies:
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    strategy = open_strategy()
    # Graphs of two workers are trained in `tests/training`.
    keras.Model.run_eagerly = property(lambda _: True, lambda *_: None)
    made = study(sys.argv[1], generator_epochs=2, verbose=1)
    made._validation = lambda *_: [Killed(sys.argv[1] + "/killed")]
    with strategy.scope():
        made.result("lf_g")
        # Its optimizer is saved with it.
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        model.compile("adam", "mse")
        save_network(model, sys.argv[1] + "/compiled.keras")
