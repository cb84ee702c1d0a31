"""A folder that holds what was trained of one data set, with one seed."""

import json
import os
import shutil
import time

import keras

from tfcap.training import DataWait
from tfcap.training import fit
from tfcap.training.claims import Claims


class Study:
    """Trains networks under names, and keeps them in a folder.

    What is on disk is loaded; what was interrupted goes on where it stopped.
    Under `directory`, each name has a folder with its networks
    (`speaker.keras`), its TensorBoard logs, and its checkpoints for as long
    as it trains.

    Args:
        directory: String or path.
        about: Dict that JSON can hold: the settings, data and seed of the
            study. Written down, and compared when the folder is opened again.
        seed: Integer.
        verbose: 1 for progress, 0 for silence.

    Raises:
        ValueError: If the folder holds a study of something else.
    """

    def __init__(self, directory, about, seed=0, verbose=1):
        self.directory = str(directory)
        self.seed = seed
        self.verbose = verbose
        self._own(about)
        self._claims = Claims(os.path.join(self.directory, "claims"))

    def once(self, name, train):
        """The networks of a name; trained now, unless they were or are.

        Several processes may share a study: one trains, the others wait.

        Args:
            name: String.
            train: Callable without arguments that returns networks by role.

        Returns:
            Dict of networks by role.
        """
        while not (networks := self.load(name)):
            claim = self._claims.take(f"{name.replace('/', '_')}.json")
            if claim is None:
                time.sleep(1.0)
                continue
            with claim:
                networks = self.load(name)
                return networks or train()
        return networks

    def fit(self, name, model, batches, epochs, callbacks=(), **networks):
        """Trains a model and keeps its networks.

        Args:
            name: String.
            model: Compiled `keras.Model`.
            batches: As `tfcap.training.fit()` takes them.
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
        board = keras.callbacks.TensorBoard(self.path(name), write_graph=False)
        checkpoints = self.path(name, "checkpoints")
        fit(
            model,
            batches,
            epochs,
            checkpoints,
            callbacks=[*callbacks, DataWait(), board],
            verbose=self.verbose,
        )
        for role, network in networks.items():
            network.trainable = True
            network.save(self.path(name, f"{role}.keras"))
        # Last, so that it tells that all are there, and whole.
        write_json(self.path(name, "networks.json"), list(networks))
        shutil.rmtree(checkpoints, ignore_errors=True)
        return networks

    def load(self, name):
        """The networks that were kept under a name, by role; {} if none."""
        path = self.path(name, "networks.json")
        roles = read_json(path) if os.path.exists(path) else ()
        return {
            role: keras.saving.load_model(self.path(name, f"{role}.keras"))
            for role in roles
        }

    def path(self, name, file=""):
        """Path of a file in the folder of a name, which is made."""
        folder = os.path.join(self.directory, name)
        os.makedirs(folder, exist_ok=True)
        return os.path.join(folder, file)

    def say(self, text):
        """Prints a line, if the study is not silent."""
        if self.verbose:
            print(text, flush=True)

    def _own(self, about):
        """Writes down what the folder is for; refuses another study's."""
        path = os.path.join(self.directory, "study.json")
        if not os.path.exists(path):
            os.makedirs(self.directory, exist_ok=True)
            write_json(path, about)
            return
        found = read_json(path)
        # As JSON gives it back: it knows no tuples.
        about = json.loads(json.dumps(about))
        # Settings that came later were not there to differ.
        found["settings"] = {**about["settings"], **found["settings"]}
        keys = dict.fromkeys([*about, *found])
        wrong = [key for key in keys if found.get(key) != about.get(key)]
        if wrong:
            raise ValueError(
                "`directory` must be empty or of the same study. "
                f"Received: directory={self.directory!r}, of another study's "
                f"{' and '.join(wrong)}. Choose another one, or remove it."
            )


def read_json(path):
    """What a JSON file holds."""
    with open(path) as file:
        return json.load(file)


def write_json(path, content):
    """Writes a file that is there whole or not at all."""
    partial = f"{path}.{os.getpid()}.partial"
    with open(partial, "w") as file:
        json.dump(content, file, indent=1)
    os.replace(partial, path)
