"""Ctrl-C in the midst of training."""

import keras


class Interruption(keras.callbacks.Callback):
    """Breaks off in the second epoch."""

    def on_train_batch_begin(self, batch, logs=None):
        if self.model.optimizers[0].iterations > self.params["steps"]:
            raise KeyboardInterrupt
