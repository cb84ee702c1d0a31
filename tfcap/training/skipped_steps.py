"""Epochs of `keras.Model.fit()` that begin in their midst."""

import contextlib

import keras


class CallbacksAfter(keras.callbacks.CallbackList):
    """Callbacks of a `fit()` that see nothing of the first steps.

    Args:
        skipped: Integer, steps of the first epoch that were done before.
        callbacks: List of `keras.callbacks.Callback`.
        model: `keras.Model`.
        epochs: Integer, as of `fit()`.
        steps: Integer, steps of an epoch.
        verbose: As of `fit()`.
    """

    def __init__(self, skipped, callbacks, model, epochs, steps, verbose):
        super().__init__(
            callbacks,
            add_history=True,
            add_progbar=verbose != 0,
            model=model,
            epochs=epochs,
            steps=steps,
            verbose=verbose,
        )
        self._skipped = skipped

    def on_train_batch_begin(self, batch, logs=None):
        if batch >= self._skipped:
            super().on_train_batch_begin(batch, logs)

    def on_train_batch_end(self, batch, logs=None):
        if batch >= self._skipped:
            super().on_train_batch_end(batch, logs)

    def on_epoch_end(self, epoch, logs=None):
        self._skipped = 0
        super().on_epoch_end(epoch, logs)


@contextlib.contextmanager
def skipped_steps(model, steps, logs):
    """Lets the first steps of a `fit()` pass without data or training.

    Keras has no way to begin an epoch in its midst: it counts these steps,
    which so keep their numbers, and does nothing for them.

    Args:
        model: Compiled `keras.Model`.
        steps: Integer.
        logs: Dict, what such a step is to have logged.
    """
    model.make_train_function()
    train, left = model.train_function, steps

    def step(iterator):
        nonlocal left
        if left > 0:
            left -= getattr(model, "steps_per_execution", 1)
            return logs
        return train(iterator)

    model.train_function = step
    try:
        yield
    finally:
        model.train_function = train
