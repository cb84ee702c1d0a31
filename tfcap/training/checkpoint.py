"""Checkpoints from which a run continues exactly."""

import json
import os

import keras

from tfcap.text.array_file import load_arrays
from tfcap.text.array_file import save_arrays
from tfcap.text.durable import make_folder
from tfcap.text.durable import rename
from tfcap.training.model_state import array_of
from tfcap.training.model_state import arrays_of
from tfcap.training.model_state import describe
from tfcap.training.model_state import set_state
from tfcap.training.model_state import variables_of
from tfcap.training.workers import from_chief
from tfcap.training.workers import is_chief


class RunCheckpoint:
    """Keeps the whole state of a training model on disk.

    Weights, optimizer moments, iteration counts, random streams, annealed
    temperatures: every variable but the metrics of an epoch, so that a run
    that was stopped ends as one that was not. A file is written beside the
    last one and renamed into its place; the one before is kept, and used, with
    a word about it, if the last is not as it was written, which its checksum
    tells. Nothing in it is pickled.

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
        make_folder(self.directory)
        self.path = os.path.join(self.directory, "checkpoint.npz")
        self.previous = os.path.join(self.directory, "checkpoint.previous.npz")
        self._next = os.path.join(self.directory, "checkpoint.next.npz")

    @property
    def epoch(self):
        """Number of epochs that are on disk, 0 where there is no file."""
        found = self._load()
        return 0 if found is None else found[0]["epoch"]

    def save(self, model, epoch):
        """Writes the state reached after `epoch` epochs.

        Raises:
            OSError: If the disk is full. The last checkpoint is as it was.
        """
        arrays = {
            f"{index:05d}": array
            for index, array in enumerate(arrays_of(model))
        }
        meta = json.dumps({"epoch": epoch, **describe(model)})
        save_arrays(self._next, {"meta": meta, **arrays})
        if os.path.exists(self.path):
            os.replace(self.path, self.previous)
        rename(self._next, self.path)

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
        about, arrays, path = found
        set_state(model, about, arrays, self.directory)
        # The next one to be saved must not take the place of a good one.
        os.replace(path, self.path)
        return about["epoch"]

    def callback(self):
        """A `keras.callbacks.Callback` that saves after every epoch."""
        return _SaveEveryEpoch(self)

    def _load(self):
        """Description, arrays and path of the last one that is whole."""
        paths = [p for p in (self.path, self.previous) if os.path.exists(p)]
        if not paths:
            return None
        for path in paths:
            try:
                arrays = load_arrays(path, ["meta"])
                about = json.loads(str(arrays.pop("meta")))
                epoch = about["epoch"]
                values = [arrays[key] for key in sorted(arrays)]
            except (OSError, ValueError, KeyError, TypeError) as error:
                print(f"{path} cannot be read: {error}.")
                continue
            if path == self.previous:
                print(f"Using the one before, of epoch {epoch}: {path}")
            return about, values, path
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
        if is_chief(self.model):
            self.checkpoint.save(self.model, epoch + 1)


def restore_all(checkpoint, model):
    """Sets all workers to what the chief finds on its disk.

    Args:
        checkpoint: `RunCheckpoint`.
        model: `keras.Model`.

    Returns:
        Integer, number of epochs done.
    """
    start = checkpoint.restore(model) if is_chief(model) else 0
    start = from_chief(start, model)
    if start and model.distribute_strategy.num_replicas_in_sync > 1:
        for variable in variables_of(model):
            variable.assign(from_chief(array_of(variable), model))
    return start
