"""Training that goes on where a folder stands."""

import contextlib
import errno
import os

import keras
import tensorflow as tf

from tfcap.training.checkpoint import RunCheckpoint
from tfcap.training.data_wait import DataWait
from tfcap.training.model_state import build_on
from tfcap.training.model_state import lacks_variables
from tfcap.training.save_within_epochs import SaveWithinEpochs
from tfcap.training.scaffold import Scaffold
from tfcap.training.skipped_steps import CallbacksAfter
from tfcap.training.skipped_steps import skipped_steps
from tfcap.training.stop_at_nonfinite import StopAtNonfinite
from tfcap.training.termination import Termination

#: What a disk under TensorFlow's own files must be, and what to do.
_ROOM = "with room", "Make room"
_THERE = "that answers", "Look at the disk or the network"
_OPEN = "that can be written to", "Choose another folder or change permissions"
_CURES = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), _ROOM),
    **dict.fromkeys((errno.EIO, errno.ESTALE, errno.ETIMEDOUT), _THERE),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), _OPEN),
}


def fit(
    model,
    batches,
    epochs,
    directory,
    callbacks=(),
    verbose="auto",
    save_every=600.0,
):
    """Trains for a number of epochs in all, from where a folder stands.

    The state is saved after every epoch, in the midst of one after
    `save_every` seconds, and at SIGTERM, by which schedulers say that they
    take a machine away; then the process ends with status 143 and a sentence.
    A run that goes on ends in the weights, logs and history of one that was
    never stopped: callbacks see an epoch that it goes on with begin, and of
    its steps those that are left. What a callback remembers by itself, such as
    the patience of `keras.callbacks.EarlyStopping`, begins anew.

    Args:
        model: Compiled `keras.Model`; the first batch builds it if it is not
            built.
        batches: Object with `steps_per_epoch` and `dataset(epochs,
            start_step)`, a pure function of the step, such as
            `tfcap.data.DialogBatches`, or `tfcap.data.DatasetBatches` for a
            data set of one's own.
        epochs: Integer, epochs in all, those on disk included.
        directory: String or path of the run's folder.
        callbacks: Iterable of `keras.callbacks.Callback`; a `DataWait` among
            them watches the data.
        verbose: As in `keras.Model.fit()`.
        save_every: Float, seconds. Defaults to `600.0`.

    Returns:
        `keras.callbacks.History` of the epochs trained now, or `None` where
        none was left to do.

    Raises:
        TypeError: If `batches` have no order to go on in.
        ValueError: If `batches` have another number of steps than those in
            the midst of whose epoch a run was stopped.
        SystemExit: After SIGTERM.
        OSError: If a disk is full. The last checkpoint is whole.
        FloatingPointError: If what a model logs that Keras itself trains is
            not finite; what other models do then they are told at their making
            (`nonfinite`).
    """
    _check_size(batches, model.distribute_strategy)
    if not save_every > 0:
        raise ValueError(
            "`save_every` must be positive, a number of seconds. Received: "
            f"save_every={save_every}. Use `float('inf')` to save after "
            "epochs alone."
        )
    checkpoint = RunCheckpoint(directory)
    if lacks_variables(model):
        build_on(model, batches.dataset(1))
    start = checkpoint.restore(model)
    if start >= epochs:
        _finalize(model)
        return None
    steps, done = batches.steps_per_epoch, checkpoint.step
    _check_steps(checkpoint, steps)
    dataset = batches.dataset(epochs, start_step=start * steps + done)
    given = [*callbacks]
    for callback in given:
        if isinstance(callback, DataWait):
            dataset = callback.watch(dataset)
    watch = () if isinstance(model, Scaffold) else (StopAtNonfinite(),)
    with (
        Termination() as termination,
        _told_of_disk(),
        contextlib.ExitStack() as going_on,
    ):
        save = SaveWithinEpochs(checkpoint, termination, save_every, model)
        callbacks = [*watch, *given, checkpoint.callback(), save]
        if done:
            _build_metrics(model, batches, len(save.metrics))
            # Keras counts the steps that it is to skip as read.
            dataset = dataset.repeat()
            callbacks = CallbacksAfter(
                done, callbacks, model, epochs, steps, verbose
            )
            logs = checkpoint.restored["logs"]
            going_on.enter_context(skipped_steps(model, done, logs))
        return model.fit(
            dataset,
            initial_epoch=start,
            epochs=epochs,
            steps_per_epoch=steps,
            # The data set is in its order already.
            shuffle=False,
            callbacks=callbacks,
            verbose=verbose,
        )


@contextlib.contextmanager
def _told_of_disk():
    """Says of a disk that fails TensorFlow, as under its logs, what to do."""
    try:
        yield
    except tf.errors.OpError as error:
        # TensorFlow tells a code of the system by its text alone. What is
        # exhausted may be the memory of a device, too.
        codes = [c for c in _CURES if f"; {os.strerror(c)}" in error.message]
        if not codes:
            raise
        wanted, hint = _CURES[codes[0]]
        raise OSError(
            codes[0],
            f"Logs must be on a disk {wanted}. Received: {error.message:.200}."
            f" The last checkpoint is whole. {hint}, and run the same command "
            "again.",
        ) from error


def _finalize(model):
    """Ends the training of a model whose last epoch is on the disk.

    With `use_ema=True` an optimizer leaves the moving averages of the weights;
    in the checkpoint are the weights themselves.
    """
    if isinstance(model, Scaffold):
        model.finalize_weights()
    elif model.optimizer is not None:
        model.optimizer.finalize_variable_values(model.trainable_variables)


def _check_steps(checkpoint, steps):
    """Refuses to go on with an epoch of another number of steps."""
    found = checkpoint.restored.get("steps", steps)
    if found != steps:
        raise ValueError(
            "`batches` must have as many steps per epoch as those that the "
            f"run was stopped in the midst of. Received: {steps} steps, and "
            f"{found} in {checkpoint.path}. Use the same data and batch size."
        )


def _build_metrics(model, batches, count):
    """Makes the variables of metrics, where Keras leaves it to a step."""
    # Under a strategy it does not.
    alone = model.distribute_strategy.num_replicas_in_sync == 1
    if not alone or len(model.metrics_variables) >= count:
        return
    for batch in batches.dataset(1).take(1):
        inputs, wanted, weights = keras.utils.unpack_x_y_sample_weight(batch)
        model.test_on_batch(inputs, wanted, weights)


def _check_size(batches, strategy):
    """Refuses batches without an order, or that replicas cannot share."""
    for name in ("steps_per_epoch", "dataset"):
        if not hasattr(batches, name):
            raise TypeError(
                "`batches` must have `steps_per_epoch` and `dataset(epochs, "
                "start_step)`, by which a run goes on where it stopped. "
                f"Received: batches={batches!r}. Use "
                "`tfcap.data.CaptionBatches` or `DialogBatches`, or "
                "`DatasetBatches` for a data set of one's own; plain data go "
                "to `model.fit()`, which begins anew."
            )
    replicas = strategy.num_replicas_in_sync
    size = getattr(batches, "batch_size", replicas)
    if size % replicas:
        raise ValueError(
            "`batches` must have as many rows for each replica. Received: "
            f"batch_size={size} for {replicas} replicas. Choose a multiple of "
            f"{replicas}: it is the size for all replicas together."
        )
