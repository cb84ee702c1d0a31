"""The file from which a run goes on, and how it is read and replaced."""

import json
import os
import weakref

from tfcap._io import load_arrays
from tfcap._io import make_folder
from tfcap._io import rename
from tfcap._io import save_arrays
from tfcap.training.frozen_weights import frozen_digests
from tfcap.training.frozen_weights import in_order
from tfcap.training.model_state import array_of
from tfcap.training.model_state import check_savable
from tfcap.training.model_state import check_state
from tfcap.training.model_state import describe
from tfcap.training.model_state import lacks_variables
from tfcap.training.model_state import set_state
from tfcap.training.model_state import variables_of
from tfcap.training.optimizer_settings import Settings
from tfcap.training.random_state import MOMENTS
from tfcap.training.random_state import check_random_arrays
from tfcap.training.random_state import random_state_of
from tfcap.training.workers import from_chief
from tfcap.training.workers import is_chief


class RunCheckpoint:
    """Keeps the whole state of a training model on disk.

    Weights, optimizer moments, iteration counts, random streams: every
    variable, and in the midst of an epoch its metrics. Of what is frozen in a
    pretrained network it keeps digests, by which it knows the network, and
    the values only where something has changed them. A file is written
    beside the last one and renamed into its place; the one before is kept, and
    used, with a word about it, if the last is not as it was written, which its
    checksum tells. Nothing in it is pickled.

    It knows variables by the attributes, classes and names of their layers,
    and refuses to set another model. A setting of an optimizer, such as its
    learning rate, that the program has changed since is kept, and told; what
    a callback made of it is state, and goes on.

    Args:
        directory: String or path, made if absent.

    Attributes:
        restored: Dict that tells what the state on disk was when it was last
            looked for: `epoch`, and in the midst of one `step`, steps done of
            the next, `steps`, of an epoch, 0 if that is not known, and `logs`;
            empty if there was none.
        arrays: Dict of the arrays beside the variables, by name; of several
            workers the first one has them.
    """

    def __init__(self, directory):
        self.directory = str(directory)
        make_folder(self.directory)
        self.path = os.path.join(self.directory, "checkpoint.npz")
        self.previous = os.path.join(self.directory, "checkpoint.previous.npz")
        self._next = os.path.join(self.directory, "checkpoint.next.npz")
        self.restored, self.arrays = {}, {}
        self._variables = self._path = self._settings = self._noted = None
        self._frozen = {}

    @property
    def epoch(self):
        """Number of epochs that are on disk, 0 where there is no file."""
        found = self._load()
        return 0 if found is None else found[0]["epoch"]

    @property
    def step(self):
        """Steps that are done of the epoch in whose midst the state was."""
        return self.restored.get("step", 0)

    def save(self, model, epoch, more=None, **about):
        """Writes the state reached after `epoch` epochs.

        Args:
            model: Compiled `keras.Model`, built.
            epoch: Integer.
            more: Dict of arrays beside the variables, by names with a letter.
            **about: What JSON can hold: `step`, `steps` and `logs` of an epoch
                in whose midst the model is; see `restored`.

        Raises:
            OSError: If the disk is full. The last checkpoint is as it was.
            FloatingPointError: If a variable holds NaN, or a trainable one is
                infinite. The last checkpoint is as it was.
        """
        if self._noted is None or self._noted() is not model:
            self.note(model)
        arrays, frozen = self._split(model)
        check_savable(model, arrays)
        arrays |= more or {}
        described = describe(model, self._settings.now) | {"frozen": frozen}
        meta = json.dumps({"epoch": epoch, **about, **described})
        save_arrays(self._next, {"meta": meta, **arrays})
        if os.path.exists(self.path):
            os.replace(self.path, self.previous)
        rename(self._next, self.path)

    def _split(self, model):
        """Arrays of variables, and digests of what is as it was, by number."""
        arrays, frozen = {}, {}
        digests = frozen_digests(model)
        for index, variable in enumerate(variables_of(model)):
            own = digests.get(id(variable))
            if own is not None and own == self._frozen.get(id(variable)):
                frozen[f"{index:05d}"] = own
            else:
                arrays[f"{index:05d}"] = array_of(variable)
        return arrays, frozen

    def note(self, model):
        """Notes how the program made a model's optimizers and frozen weights.

        Call it before a callback changes a learning rate, and after `find()`.

        Args:
            model: Compiled `keras.Model`.
        """
        self._settings = Settings(model, self.restored.get("optimizers"))
        self._noted = weakref.ref(model)
        self._frozen = frozen_digests(model)

    def find(self, model):
        """Looks for the state on disk.

        All of several workers must call it: what the first one finds counts.

        Args:
            model: Compiled `keras.Model`.

        Returns:
            Dict, `restored`.

        Raises:
            ValueError: If there are files and none can be used.
            OSError: If a file is there and cannot be read.
        """
        about, found, self._path = self._found_by_chief(model)
        found = found or {}
        # Workers that have not read the file are told all.
        self._variables = in_order(found, about) if found else []
        self.arrays = {k: v for k, v in found.items() if not k.isdigit()}
        self.restored = about or {}
        return self.restored

    def set(self, model):
        """Sets a model to the state that `find()` found.

        All of several workers must call it.

        Args:
            model: Compiled `keras.Model`, built.

        Raises:
            ValueError: If the model is not built, or the state of another.
        """
        if lacks_variables(model):
            raise ValueError(
                f"`model` must be built. Received: model={model.name!r}, of "
                "which layers have no variables yet. Call it on a batch first."
            )
        # No worker makes an optimizer's variables alone.
        variables_of(model)
        if self.restored:
            set_state(
                *(model, self.restored, self._variables, self.directory),
                self._settings,
            )
        if self._path:
            # The next one to be saved must not take the place of a good one.
            os.replace(self._path, self.path)
            self._path = None

    def restore(self, model):
        """Sets a model to the state on disk, if there is any.

        Args:
            model: Compiled `keras.Model`, built.

        Returns:
            Integer, number of epochs done.
        """
        self.find(model)
        self.note(model)
        self.set(model)
        return self.restored.get("epoch", 0)

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
        paths = [p for p in (self.path, self.previous) if os.path.exists(p)]
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
            f"{'; '.join(problems)}. Choose another folder to begin anew."
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
    frozen = about.get("frozen", {})
    texts = frozen.values() if isinstance(frozen, dict) else [None]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("its frozen weights are not described")
    check_state(about, in_order(found, about))
    for moment in MOMENTS:
        if state := random_state_of(found, moment):
            check_random_arrays(state)
    return about, found


def _is_place(about):
    """Check whether a description tells a place in the midst of an epoch."""
    step, steps = about["step"], about.get("steps")
    return (
        type(step) is type(steps) is int
        # Of data of unknown length there are 0 steps.
        and 0 < step <= (steps or step)
        and isinstance(about.get("logs"), dict)
    )
