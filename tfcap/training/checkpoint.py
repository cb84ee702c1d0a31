"""Checkpoints from which a run continues exactly."""

import json
import os
import zipfile

import keras
import numpy as np

from tfcap.training.data_wait import DataWait

_UNREADABLE = (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile)


class RunCheckpoint:
    """Keeps the whole state of a training model on disk.

    Weights, optimizer moments, iteration counts, random streams, annealed
    temperatures: every variable but the metrics of an epoch, so that a run
    that was stopped ends as one that was not. A file is written beside the
    last one and renamed into its place; the one before is kept, and used, with
    a word about it, if the last cannot be read. Nothing in it is pickled.

    Args:
        directory: String or path, made if absent.

    Example:

    >>> import tempfile
    >>> checkpoint = tfcap.training.RunCheckpoint(tempfile.mkdtemp())
    >>> checkpoint.epoch
    0
    """

    def __init__(self, directory):
        self.directory = str(directory)
        os.makedirs(self.directory, exist_ok=True)
        self.path = os.path.join(self.directory, "checkpoint.npz")
        self.previous = os.path.join(self.directory, "checkpoint.previous.npz")

    @property
    def epoch(self):
        """Number of epochs that are on disk, 0 where there is no file."""
        found = self._load()
        return 0 if found is None else found[0]

    def save(self, model, epoch):
        """Writes the state reached after `epoch` epochs."""
        arrays = {
            f"{index:05d}": _array(variable)
            for index, variable in enumerate(_variables(model))
        }
        paths = [variable.path for variable in _variables(model)]
        meta = json.dumps({"epoch": epoch, "paths": paths})
        partial = self.path + ".partial"
        with open(partial, "wb") as file:
            np.savez(file, meta=np.array(meta), **arrays)
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(self.path):
            os.replace(self.path, self.previous)
        os.replace(partial, self.path)

    def restore(self, model):
        """Sets a model to the state on disk, if there is any.

        Returns:
            Integer, number of epochs done.

        Raises:
            ValueError: If the state is of another model, or there are files
                and none can be read.
        """
        found = self._load()
        if found is None:
            return 0
        epoch, values = found
        variables = _variables(model)
        wrong = len(values) != len(variables) or any(
            tuple(variable.shape) != value.shape
            for variable, value in zip(variables, values)
        )
        if wrong:
            raise ValueError(
                f"The checkpoint in {self.directory} is of another model. "
                "Received: a model whose variables differ in number or shape. "
                "Run with the settings it was made with, or remove the folder."
            )
        for variable, value in zip(variables, values):
            variable.assign(value)
        return epoch

    def callback(self):
        """A `keras.callbacks.Callback` that saves after every epoch."""
        return _SaveEveryEpoch(self)

    def _load(self):
        paths = [p for p in (self.path, self.previous) if os.path.exists(p)]
        if not paths:
            return None
        for path in paths:
            try:
                with np.load(path, allow_pickle=False) as file:
                    meta = json.loads(str(file["meta"]))
                    values = [file[key] for key in sorted(file.files[1:])]
                return meta["epoch"], values
            except _UNREADABLE as error:
                print(f"{path} cannot be read ({error}); using the one before.")
        raise ValueError(
            f"No checkpoint in {self.directory} can be read. Received: "
            f"{', '.join(map(os.path.basename, paths))}. Remove the folder to "
            "begin anew."
        )


class _SaveEveryEpoch(keras.callbacks.Callback):
    def __init__(self, checkpoint):
        super().__init__()
        self.checkpoint = checkpoint

    def on_epoch_end(self, epoch, logs=None):
        self.checkpoint.save(self.model, epoch + 1)


def _array(variable):
    """A variable's value in a dtype that a file can hold."""
    array = np.asarray(keras.ops.convert_to_numpy(variable))
    # NumPy itself knows no bfloat16; float32 holds it exactly.
    return array.astype("float32") if array.dtype.kind == "V" else array


def _variables(model):
    """Every variable of a model and of its optimizers, in a fixed order."""
    optimizers = [*getattr(model, "optimizers", ())]
    if getattr(model, "optimizer", None) is not None:
        if not model.optimizer.built:
            model.optimizer.build(model.trainable_variables)
        optimizers.append(model.optimizer)
    variables = list(model.variables)
    for optimizer in optimizers:
        variables += optimizer.variables
    unique = {id(variable): variable for variable in variables}
    return list(unique.values())


def fit(model, batches, epochs, directory, callbacks=(), verbose="auto"):
    """Trains for a number of epochs in all, from where a folder stands.

    Args:
        model: Compiled `keras.Model`, built.
        batches: Object with `steps_per_epoch` and `dataset(epochs,
            start_step)`, a pure function of the step, such as
            `tfcap.data.DialogBatches`.
        epochs: Integer, epochs in all, those on disk included.
        directory: String or path of the run's folder.
        callbacks: List of `keras.callbacks.Callback`; a `DataWait` among them
            watches the data.
        verbose: As in `keras.Model.fit()`.

    Returns:
        `keras.callbacks.History` of the epochs trained now, or `None` where
        none was left to do.
    """
    checkpoint = RunCheckpoint(directory)
    start = checkpoint.restore(model)
    if start >= epochs:
        return None
    steps = batches.steps_per_epoch
    dataset = batches.dataset(epochs, start_step=start * steps)
    for callback in callbacks:
        if isinstance(callback, DataWait):
            dataset = callback.watch(dataset)
    return model.fit(
        dataset,
        initial_epoch=start,
        epochs=epochs,
        steps_per_epoch=steps,
        # The data set is in its order already.
        shuffle=False,
        callbacks=[*callbacks, checkpoint.callback()],
        verbose=verbose,
    )
