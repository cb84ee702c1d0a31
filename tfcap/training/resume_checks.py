"""Checks that stop a run, at its beginning or later, and their messages."""

import contextlib
import errno
import os

import numpy as np
import tensorflow as tf

#: What a disk under TensorFlow's own files must be, and what to do.
_ROOM = "with room", "Make room"
_THERE = "that answers", "Look at the disk or the network"
_OPEN = "that can be written to", "Choose another folder or change permissions"
_CURES = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), _ROOM),
    **dict.fromkeys((errno.EIO, errno.ESTALE, errno.ETIMEDOUT), _THERE),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), _OPEN),
}


@contextlib.contextmanager
def told_of_disk():
    """Says of a disk that fails TensorFlow, as under its logs, what to do."""
    try:
        yield
    except tf.errors.OpError as error:
        # TensorFlow tells a code of the system by its text alone. What is
        # exhausted may be the memory of a device, too.
        codes = [c for c in _CURES if f"; {os.strerror(c)}" in error.message]
        if not codes:
            raise
        wanted, cure = _CURES[codes[0]]
        raise OSError(
            codes[0],
            f"Logs must be on a disk {wanted}. Received: {error.message:.200}."
            f" The last checkpoint is whole. {cure}, and run the same command "
            "again.",
        ) from error


def check_finite(logs, batch):
    """Stops a model that Keras trains where what it logs is not finite.

    Its weights have moved by then, which those of `JointTraining` never do; no
    checkpoint is written of them.

    Args:
        logs: Dict of numbers and of arrays of them, or `None`.
        batch: Integer, the step.

    Raises:
        FloatingPointError: Names the loss or metric.
    """
    wrong = [
        f"`{name}` is {np.asarray(value).tolist()}"
        for name, value in (logs or {}).items()
        if not np.isfinite(value).all()
    ]
    if wrong:
        raise FloatingPointError(
            "Losses and metrics must be finite. Received: "
            f"{', '.join(wrong)}, at step {batch} of the epoch. What is on "
            "disk is from before it. See what is named, lower the learning "
            "rate, or clip the gradient with `global_clipnorm`."
        )


def check_size(fit):
    """Refuses batches that replicas cannot share.

    Args:
        fit: `tfcap.training.running_fit.RunningFit`.
    """
    replicas = fit.model.distribute_strategy.num_replicas_in_sync
    size = fit.iterator.data_adapter.batch_size or replicas
    if size % replicas:
        raise ValueError(
            "Batches must have as many rows for each replica. Received: "
            f"batches of {size} for {replicas} replicas. Choose a multiple of "
            f"{replicas}: it is the size for all replicas together."
        )


def check_place(about, fit, path):
    """Refuses a place in an epoch that this `fit()` has not.

    Args:
        about: Dict that tells the state on disk, empty if there is none.
        fit: `tfcap.training.running_fit.RunningFit`.
        path: String, the checkpoint.
    """
    if not about:
        return
    if fit.initial_epoch > about["epoch"]:
        raise ValueError(
            "`initial_epoch` must not be after the epochs that are done. "
            f"Received: initial_epoch={fit.initial_epoch}, and "
            f"{about['epoch']} epochs in {path}. Leave it out."
        )
    done, before = about.get("step", 0), about.get("steps")
    steps, together = fit.num_steps, fit.iterator.steps_per_execution
    if done and before and steps and before != steps:
        raise ValueError(
            "The data must have as many steps per epoch as those that the run "
            f"was stopped in the midst of. Received: {steps} steps, and "
            f"{before} in {path}. Use the same data and batch size."
        )
    if done % together and done != before:
        raise ValueError(
            "`steps_per_execution` must divide the steps that are done. "
            f"Received: steps_per_execution={together}, and step {done} in "
            f"{path}. Compile the model as it was."
        )
