"""The one private name of Keras that a run goes on by."""

import keras


def begin_at(model: keras.Model, epoch: int | None) -> None:
    """Has the `fit()` that calls a callback begin at an epoch.

    `keras.callbacks.BackupAndRestore` sets the same attribute; Keras has no
    public one. It stays, also for the next `fit()`, until it is `None`.

    Args:
        model: `keras.Model`, in `on_train_begin()`.
        epoch: Integer, or `None`.
    """
    model._initial_epoch = epoch
