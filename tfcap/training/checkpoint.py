"""Checkpoints from which a run continues exactly."""

import json
import os
import weakref

import keras

from tfcap.io import is_there
from tfcap.io import load_arrays
from tfcap.io import make_folder
from tfcap.io import rename
from tfcap.io import save_arrays
from tfcap.io.durable import replace
from tfcap.training.model_state import arrays_of
from tfcap.training.model_state import check_state
from tfcap.training.model_state import describe
from tfcap.training.model_state import lacks_variables
from tfcap.training.model_state import set_state
from tfcap.training.model_state import variables_of
from tfcap.training.optimizer_settings import Settings
from tfcap.training.workers import from_chief
from tfcap.training.workers import is_chief

#: Name of an array that is no variable of the model.
_METRIC = "metric"


class RunCheckpoint:
    """Keeps the whole state of a training model on disk.

    Weights, optimizer moments, iteration counts, random streams, annealed
    temperatures: every variable, and in the midst of an epoch its metrics, so
    that a run that was stopped ends as one that was not. A file is written
    beside the last one and renamed into its place; the one before is kept, and
    used, with a word about it, if the last is not as it was written, which its
    checksum tells. Nothing in it is pickled.

    It knows variables by the attributes, classes and names of their layers,
    and refuses to set another model. A setting of an optimizer, such as its
    learning rate, that the program has changed since is kept, and told; what
    a callback made of it is state, and goes on.

    The order of a data set is the program's own: one that `tf.data` shuffles
    begins its first epoch anew in `keras.Model.fit()`, so that such a run ends
    in other weights. `tfcap.data.DatasetBatches` goes on with it.

    Args:
        directory: String or path, made if absent.

    Example:

    >>> import tempfile
    >>> checkpoint = tfcap.training.RunCheckpoint(tempfile.mkdtemp())
    >>> checkpoint.epoch
    0

    Attributes:
        restored: Dict that tells what the state was that `restore()` has set:
            `epoch`, and in the midst of one `step`, steps done of the next,
            `steps`, of an epoch, and `logs`; empty if there was none.
    """

    def __init__(self, directory):
        self.directory = str(directory)
        make_folder(self.directory)
        self.path = os.path.join(self.directory, "checkpoint.npz")
        self.previous = os.path.join(self.directory, "checkpoint.previous.npz")
        self._next = os.path.join(self.directory, "checkpoint.next.npz")
        # With what settings a program made the optimizers of a model.
        self._settings = weakref.WeakKeyDictionary()
        self.restored = {}

    @property
    def epoch(self):
        """Number of epochs that are on disk, 0 where there is no file."""
        found = self._load()
        return 0 if found is None else found[0]["epoch"]

    @property
    def step(self):
        """Steps that are done of the epoch in whose midst the state was."""
        return self.restored.get("step", 0)

    @property
    def metrics(self):
        """Metrics of the epoch in whose midst the state on disk is, arrays."""
        found = load_arrays(self.path)
        return [found[key] for key in sorted(found) if key.startswith(_METRIC)]

    def save(self, model, epoch, metrics=(), **place):
        """Writes the state reached after `epoch` epochs.

        Args:
            model: Compiled `keras.Model`, built.
            epoch: Integer.
            metrics: List of arrays, of the epoch in whose midst the model is.
            **place: `step`, `steps` and `logs` of that epoch; see `restored`.

        Raises:
            OSError: If the disk is full. The last checkpoint is as it was.
        """
        arrays = {
            f"{index:05d}": array
            for index, array in enumerate(arrays_of(model))
        }
        for index, array in enumerate(metrics):
            arrays[f"{_METRIC}{index:05d}"] = array
        about = describe(model, self._made(model))
        meta = json.dumps({"epoch": epoch, **place, **about})
        save_arrays(self._next, {"meta": meta, **arrays})
        if is_there(self.path):
            replace(self.path, self.previous)
        rename(self._next, self.path)

    def restore(self, model):
        """Sets a model to the state on disk, if there is any.

        All of several workers must call it: what the first one finds counts.

        Args:
            model: Compiled `keras.Model`, built.

        Returns:
            Integer, number of epochs done; `step` tells how many steps of the
            next are done, too, of a run of `fit()` that was stopped in its
            midst.

        Raises:
            ValueError: If the model is not built, if the state is of another
                model, or if there are files and none can be used.
            OSError: If a file is there and cannot be read.
        """
        if lacks_variables(model):
            raise ValueError(
                f"`model` must be built. Received: model={model.name!r}, of "
                "which layers have no variables yet. Call it on a batch first."
            )
        # No worker makes an optimizer's variables alone.
        variables_of(model)
        about, arrays, path = self._found_by_chief(model)
        if about is None:
            self._made(model)
            return 0
        made = set_state(model, about, arrays, self.directory)
        self._settings[model] = made
        if path:
            # The next one to be saved must not take the place of a good one.
            replace(path, self.path)
        self.restored = about
        return about["epoch"]

    def callback(self):
        """A `keras.callbacks.Callback` that saves after every epoch."""
        return _SaveEveryEpoch(self)

    def _made(self, model):
        """The settings with which a model's optimizers were made."""
        if model not in self._settings:
            self._settings[model] = Settings(model).now
        return self._settings[model]

    def _found_by_chief(self, model):
        """As `_load()`, the description for all workers."""
        found, problem = None, ""
        if is_chief(model):
            try:
                found = self._load()
            except ValueError as error:
                problem = str(error)
        problem = from_chief(problem, model)
        if problem:
            raise ValueError(problem)
        about, arrays, path = found or (None, None, None)
        return from_chief(about, model), arrays, path

    def _load(self):
        """Description, arrays and path of the last one that can be used."""
        paths = [p for p in (self.path, self.previous) if is_there(p)]
        if not paths:
            return None
        problems = []
        for path in paths:
            try:
                about, arrays = _read(path)
            except ValueError as error:
                print(f"{path} cannot be used: {error}.", flush=True)
                problems.append(f"{os.path.basename(path)}: {error}")
                continue
            if path == self.previous:
                place = f"epoch {about['epoch']}"
                if "step" in about:
                    place += f" and step {about['step']} of the next"
                print(f"Using the one before, of {place}: {path}")
            return about, arrays, path
        raise ValueError(
            f"No checkpoint in {self.directory} can be used. Received: "
            f"{'; '.join(problems)}. Remove the folder to begin anew."
        )


def _read(path):
    """Description and arrays of a file; a ValueError is a clause."""
    found = load_arrays(path, ["meta"])
    about = json.loads(str(found.pop("meta")))
    epoch = about.get("epoch") if isinstance(about, dict) else None
    if type(epoch) is not int or epoch < 0:
        raise ValueError(f"its number of epochs is {epoch!r:.40}")
    if "step" in about and not _is_place(about):
        raise ValueError("the step that it is of is none of an epoch")
    arrays = [found[key] for key in sorted(found) if key.isdigit()]
    check_state(about, arrays)
    return about, arrays


def _is_place(about):
    """Check whether a description tells a place in the midst of an epoch."""
    step, steps = about["step"], about.get("steps")
    return (
        type(step) is type(steps) is int
        and 0 < step <= steps
        and isinstance(about.get("logs"), dict)
    )


class _SaveEveryEpoch(keras.callbacks.Callback):
    def __init__(self, checkpoint):
        super().__init__()
        self.checkpoint = checkpoint

    def on_train_begin(self, logs=None):
        # Before another callback changes a learning rate.
        self.checkpoint._made(self.model)

    def on_epoch_end(self, epoch, logs=None):
        if is_chief(self.model):
            self.checkpoint.save(self.model, epoch + 1)
