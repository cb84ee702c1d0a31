"""A folder with everything trained on one data set with one seed."""

import contextlib
import json
import os
import shutil
import time

import keras

from reproduce.locks import locked
from tfcap._io import make_folder
from tfcap._io import malformed
from tfcap._io import read_sealed
from tfcap._io import sealed
from tfcap._io import sync_folder
from tfcap._io import whole_file
from tfcap.training import Resume
from tfcap.training import from_chief
from tfcap.training import is_chief
from tfcap.training import load_network
from tfcap.training import save_network


class Study:
    """Trains networks under names, and saves them in a folder.

    Saved networks are loaded; interrupted training resumes. Under `directory`,
    each name has a folder with its networks (`speaker.keras`), its TensorBoard
    logs and, while it trains, its checkpoints.

    Networks live on the devices of the `tf.distribute` strategy in whose scope
    they are asked for. Several workers share the folder: all train, and the
    chief reads and writes.

    Args:
        directory: String or path.
        about: Dict that JSON can hold: the settings, data and seed of the
            study, and the `"digest"` of its data. Saved, and compared when the
            folder is opened again.
        seed: Integer.
        verbose: 0 for silence, 1 for progress bars, 2 for a line at every
            start and every epoch.

    Attributes:
        about: Dict, as saved in the folder.

    Raises:
        ValueError: If the folder holds a study of something else.
    """

    def __init__(self, directory, about, seed=0, verbose=1):
        self.directory = str(directory)
        self.seed = seed
        self._verbose = verbose
        self.about = self._own(about)

    @property
    def verbose(self):
        """Verbosity as given; 0 for workers that are not the chief."""
        return self._verbose if is_chief() else 0

    @property
    def bars(self):
        """1 if progress is shown by bars, else 0."""
        return int(self.verbose == 1)

    def once(self, name, train):
        """The networks of a name, trained first if necessary.

        Several processes may share a study: one trains, the others wait.

        Args:
            name: String.
            train: Callable without arguments that returns networks by role.

        Returns:
            Dict of networks by role.
        """
        lock = self.path(name, "lock")
        while not (networks := self.load(name)):
            with contextlib.ExitStack() as stack:
                held = is_chief() and stack.enter_context(locked(lock, False))
                if from_chief(bool(held)):
                    networks = self.load(name)
                    return networks or train()
            time.sleep(1.0)
        # A run may have ended before it had removed them.
        self._drop_checkpoints(name)
        return networks

    def fit(self, name, model, batches, epochs, callbacks=(), **networks):
        """Trains a model and keeps its networks.

        Args:
            name: String.
            model: Compiled `keras.Model`.
            batches: `tfcap.data.CaptionBatches`, `DialogBatches` or the like.
            epochs: Integer, those on disk included.
            callbacks: Iterable of `keras.callbacks.Callback`.
            **networks: `keras.Model`s to keep, by role.

        Returns:
            The networks.
        """
        optimizer = getattr(model, "optimizer", None)
        if optimizer is not None and not optimizer.built:
            # Left to the first step, its variables cost a second trace of it.
            optimizer.build(model.trainable_variables)
        callbacks, folder = list(callbacks), self.path(name)
        if is_chief():
            callbacks += [
                keras.callbacks.TensorBoard(folder, write_graph=False)
            ]
        Resume(self.path(name, "checkpoints")).fit(
            model,
            batches.dataset(epochs),
            epochs=epochs,
            callbacks=callbacks,
            verbose=self.verbose,
        )
        for role, network in networks.items():
            network.trainable = True
            save_network(network, self.path(name, f"{role}.keras"))
        # After them, so that it tells that all are there, whole and on the
        # disk; and only what is on the disk can do without checkpoints.
        write_json(self.path(name, "networks.json"), list(networks))
        self._drop_checkpoints(name)
        return networks

    def load(self, name):
        """The networks that were kept under a name, by role; {} if none."""
        path = self.path(name, "networks.json")
        hint = f"Move {self.path(name)} elsewhere to train it anew."
        roles = read_sealed(path, hint) if self.has(path) else ()
        return {
            role: load_network(self.path(name, f"{role}.keras"), hint=hint)
            for role in roles
        }

    def path(self, name, file=""):
        """Path of a file in the folder of a name, which is made."""
        folder = os.path.join(self.directory, name)
        make_folder(folder)
        return os.path.join(folder, file)

    def has(self, path):
        """Whether a file exists, the same for all workers."""
        return from_chief(os.path.exists(path))

    def say(self, text):
        """Prints a line unless the study is silent."""
        if self.verbose:
            print(text, flush=True)

    def _drop_checkpoints(self, name):
        """Removes the checkpoints of networks that are saved."""
        folder = os.path.join(self.directory, name)
        checkpoints = os.path.join(folder, "checkpoints")
        if is_chief() and os.path.exists(checkpoints):
            shutil.rmtree(checkpoints, ignore_errors=True)
            sync_folder(folder)

    def _own(self, about):
        """Saves what the folder is for; rejects the folder of another study."""
        path = os.path.join(self.directory, "study.json")
        make_folder(self.directory)
        # As JSON gives it back: it knows no tuples.
        about = json.loads(json.dumps(about))
        if not self.has(path):
            write_json(path, about)
            return about
        found = read_study(self.directory)
        keys = dict.fromkeys([*about, *found])
        wrong = [key for key in keys if found.get(key) != about.get(key)]
        if wrong:
            wrong = ["ids, captions or features"] * ("digest" in wrong) + [
                key for key in wrong if key != "digest"
            ]
            raise ValueError(
                "`directory` must be empty or of the same study. "
                f"Received: directory={self.directory!r}, of another study's "
                f"{' and '.join(wrong)}. Choose another one."
            )
        return found


def read_study(directory):
    """Identity of a study, read from its folder.

    Args:
        directory: String or path.

    Returns:
        Dict with `"settings"`.

    Raises:
        ValueError: If the file is not as a study wrote it.
        OSError: If there is none.
    """
    path = os.path.join(str(directory), "study.json")
    found = read_written(path)
    if not isinstance(found, dict) or "settings" not in found:
        hint = "Choose another folder."
        raise malformed(path, "", "there are no settings of a study", hint)
    return found


def write_json(path, content):
    """Writes a file that is there whole or not at all.

    Of several workers the chief writes it, and all wait for it. A dict gets a
    checksum.
    """
    if is_chief():
        content = sealed(content) if isinstance(content, dict) else content
        with whole_file(path, "w") as file:
            json.dump(content, file, indent=1)
    from_chief(None)


def read_written(path):
    """Reads what `write_json()` wrote.

    Args:
        path: String or path.

    Returns:
        The content, without its checksum.

    Raises:
        ValueError: If the file is damaged; it can be removed, and is made
            again by the command that made it.
        OSError: If there is none.
    """
    return read_sealed(path, "Move it elsewhere: it is made again.")
