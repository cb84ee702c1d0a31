"""Training that goes on where a folder stands."""

import errno

import tensorflow as tf

from tfcap.training.checkpoint import RunCheckpoint
from tfcap.training.data_wait import DataWait
from tfcap.training.model_state import build_on
from tfcap.training.scaffold import Scaffold
from tfcap.training.stop_at_nonfinite import StopAtNonfinite


def fit(model, batches, epochs, directory, callbacks=(), verbose="auto"):
    """Trains for a number of epochs in all, from where a folder stands.

    Args:
        model: Compiled `keras.Model`; the first batch builds it if it is not
            built.
        batches: Object with `steps_per_epoch` and `dataset(epochs,
            start_step)`, a pure function of the step, such as
            `tfcap.data.DialogBatches`.
        epochs: Integer, epochs in all, those on disk included.
        directory: String or path of the run's folder.
        callbacks: Iterable of `keras.callbacks.Callback`; a `DataWait` among
            them watches the data.
        verbose: As in `keras.Model.fit()`.

    Returns:
        `keras.callbacks.History` of the epochs trained now, or `None` where
        none was left to do.

    Raises:
        TypeError: If `batches` have no order to go on in.
        OSError: If a disk is full. The last checkpoint is whole.
        FloatingPointError: If what a model logs that Keras itself trains is
            not finite; what other models do then they are told at their making
            (`nonfinite`).
    """
    _check_size(batches, model.distribute_strategy)
    checkpoint = RunCheckpoint(directory)
    if not model.built:
        build_on(model, batches.dataset(1))
    start = checkpoint.restore(model)
    if start >= epochs:
        return None
    steps = batches.steps_per_epoch
    dataset = batches.dataset(epochs, start_step=start * steps)
    callbacks = [*callbacks]
    for callback in callbacks:
        if isinstance(callback, DataWait):
            dataset = callback.watch(dataset)
    watch = () if isinstance(model, Scaffold) else (StopAtNonfinite(),)
    try:
        return model.fit(
            dataset,
            initial_epoch=start,
            epochs=epochs,
            steps_per_epoch=steps,
            # The data set is in its order already.
            shuffle=False,
            callbacks=[*watch, *callbacks, checkpoint.callback()],
            verbose=verbose,
        )
    except tf.errors.ResourceExhaustedError as error:
        # TensorFlow's own files, such as logs; or the memory of a device.
        if "No space left" not in error.message:
            raise
        raise OSError(
            errno.ENOSPC,
            "Logs must be on a disk with room. Received: "
            f"{error.message:.200}. The last checkpoint is whole. Make room, "
            "and run the same command again.",
        ) from error


def _check_size(batches, strategy):
    """Refuses batches without an order, or that replicas cannot share."""
    for name in ("steps_per_epoch", "dataset"):
        if not hasattr(batches, name):
            raise TypeError(
                "`batches` must have `steps_per_epoch` and `dataset(epochs, "
                "start_step)`, by which a run goes on where it stopped. "
                f"Received: batches={batches!r}. Use "
                "`tfcap.data.CaptionBatches` or `DialogBatches`, or give plain "
                "data to `model.fit()`, which begins anew."
            )
    replicas = strategy.num_replicas_in_sync
    size = getattr(batches, "batch_size", replicas)
    if size % replicas:
        raise ValueError(
            "`batches` must have as many rows for each replica. Received: "
            f"batch_size={size} for {replicas} replicas. Choose a multiple of "
            f"{replicas}: it is the size for all replicas together."
        )
