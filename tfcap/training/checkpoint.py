"""The checkpoint file of a run."""

import hashlib
import json
import os
import re

import keras
import numpy as np

from tfcap._io import load_arrays
from tfcap._io import make_folder
from tfcap._io import rename
from tfcap._io import save_arrays
from tfcap._ops.private_names import layers_of
from tfcap.training.backends import backend
from tfcap.training.workers import from_all
from tfcap.training.workers import from_chief
from tfcap.training.workers import is_chief
from tfcap.training.workers import worker_index

#: The counts that Keras puts behind the names of layers of one process.
_COUNT = re.compile(r"_\d+(?=[_/]|$)")
#: What tells a model's state from another's, where metrics go on, too.
_KINDS = ("optimizers", "variables", "metrics", "replicas")


class RunCheckpoint:
    """Keeps the state of a training model on disk.

    It holds every variable of the model and its optimizers, and within an
    epoch the sums of its metrics. A file is written beside the last one, which
    is kept, and used if the checksum of the newer one fails. Nothing in it is
    pickled.

    Frozen weights of a network whose attribute `pretrained` is true are left
    out, unless they differ from those that the program has loaded; their
    digests are kept.

    Args:
        directory: String or path, made if absent.

    Attributes:
        about: Dict of what was found: `epoch` and `step`, `logs` of a step
            within an epoch, and other entries; empty without a checkpoint.
        arrays: Dict of further arrays of the checkpoint, by name; of several
            workers the chief has them.
    """

    def __init__(self, directory):
        self.directory = str(directory)
        make_folder(self.directory)
        self.path = os.path.join(self.directory, "checkpoint.npz")
        self.previous = os.path.join(self.directory, "checkpoint.previous.npz")
        self._next = os.path.join(self.directory, "checkpoint.next.npz")
        self.about, self.arrays = {}, {}
        self._frozen, self._rates, self._damaged = {}, [], False

    def load(self):
        """Reads the newest valid file.

        Raises:
            ValueError: If there are files, and none is valid.
        """
        self.about, self.arrays, problems = {}, {}, []
        for path in filter(os.path.exists, (self.path, self.previous)):
            try:
                arrays = load_arrays(path, ["about"])
            except ValueError as error:
                problems.append(f"{path} cannot be used: {error}.")
                print(problems[-1], flush=True)
                continue
            if problems:
                print(f"Using the one before: {path}", flush=True)
            self.about = json.loads(str(arrays.pop("about")))
            self.arrays, self._damaged = arrays, bool(problems)
            return
        if problems:
            raise ValueError(
                f"No checkpoint in {self.directory} can be used. Received: "
                f"{' '.join(problems)} Choose another folder to begin anew."
            )

    def find(self, model):
        """Reads the chief's checkpoint on all workers, as `load()`.

        Call it before training changes weights and learning rates.
        """
        problem = ""
        if is_chief(model):
            try:
                self.load()
            except ValueError as error:
                problem = str(error)
        if problem := from_chief(problem, model):
            raise ValueError(problem)
        self.about = from_chief(self.about, model)
        self._frozen = _frozen_digests(model)
        self._rates = _learning_rates(model)

    def save(self, model, epoch, step=0, arrays=None, **about):
        """Writes the state reached after `step` steps of an epoch.

        All workers call it, and the chief writes.

        Args:
            model: Compiled `keras.Model`, built.
            epoch: Integer, number of finished epochs.
            step: Integer, finished steps of the next epoch. Defaults to `0`.
            arrays: Dict of further arrays, by name.
            **about: Entries that JSON can hold.

        Raises:
            FloatingPointError: If a variable holds NaN, or a trainable one is
                infinite. The last checkpoint is kept.
            OSError: If the disk is full. The last checkpoint is kept.
        """
        arrays = dict(arrays or {})
        if step:
            arrays |= _metric_arrays(model)
        if not is_chief(model):
            return
        variables, frozen = variables_of(model), {}
        for index, variable in enumerate(variables):
            digest = self._frozen.get(id(variable))
            if digest and digest == _digest(variable):
                frozen[str(index)] = digest
            else:
                arrays[f"variable{index:05d}"] = _finite_array(variable)
        about |= {"epoch": epoch, "step": step, "frozen": frozen}
        about |= {**_described(model, variables), "rates": self._rates}
        # Logs may be NumPy's numbers.
        arrays["about"] = json.dumps(about, default=lambda value: value.item())
        save_arrays(self._next, arrays)
        if os.path.exists(self.path) and not self._damaged:
            os.replace(self.path, self.previous)
        rename(self._next, self.path)
        self._damaged = False

    def set(self, model, with_metrics=False):
        """Sets a model to the checkpoint of `find()`; all workers call it.

        A learning rate that the program has changed since is kept.

        Args:
            model: Compiled `keras.Model`, built.
            with_metrics: Boolean, whether its metrics are set, too. Defaults
                to `False`.

        Raises:
            ValueError: If the state is of another model.
        """
        if not self.about:
            return
        variables = variables_of(model)
        problem = self._difference(model, variables, with_metrics)
        if problem := from_chief(problem, model):
            raise ValueError(
                "`directory` must hold a checkpoint of this model. Received: "
                f"directory={self.directory!r}, where {problem}. Make the same "
                "model, or choose another folder for this one."
            )
        for index, variable in enumerate(variables):
            if str(index) not in self.about["frozen"]:
                array = self.arrays.get(f"variable{index:05d}")
                variable.assign(from_chief(array, model))
        rates = zip(optimizers_of(model), self.about["rates"], self._rates)
        for optimizer, before, now in rates:
            if now != before:
                optimizer.learning_rate = now
        metrics = backend.metric_parts(model) if with_metrics else []
        for index, parts in enumerate(metrics):
            array = self.arrays.get(f"metric{index:05d}")
            first = worker_index(model) * len(parts)
            values = from_chief(array, model)[first:]
            for part, value in zip(parts, values):
                part.assign(value)

    def _difference(self, model, variables, with_metrics):
        """Reason why a model cannot take the state; empty if there is none."""
        own = _described(model, variables)
        for kind in _KINDS if with_metrics else _KINDS[:2]:
            saved, here = self.about[kind], own[kind]
            if len(saved) != len(here):
                return f"there are {len(saved)} {kind}, and {len(here)} here"
            for one, other in zip(saved, here):
                if one != other:
                    return f"its {kind} have {one}, and {other} here"
        for index, digest in self.about["frozen"].items():
            variable = variables[int(index)]
            if self._frozen.get(id(variable)) != digest:
                return (
                    f"{variable.path} is frozen and had other values, which "
                    "are not saved: load the weights that the run began with"
                )
        return ""


def optimizers_of(model):
    """The optimizers of a model, those in its attributes and what they wrap."""
    found = {}

    def add(value):
        if isinstance(value, dict):
            value = list(value.values())
        if isinstance(value, list | tuple):
            for part in value:
                add(part)
        elif isinstance(value, keras.optimizers.Optimizer):
            # One of several stands for others, which are attributes, too.
            if not isinstance(value, keras.optimizers.MultiOptimizer):
                found[id(value)] = value
            add(getattr(value, "inner_optimizer", None))

    add(dict(vars(model)))
    return list(found.values())


def variables_of(model):
    """Every variable of a model and its optimizers but those of metrics.

    The optimizer of `compile()` is built if it is not: all of several workers
    call it.
    """
    own = getattr(model, "optimizer", None)
    if own is not None and not own.built:
        with backend.scope(model):
            own.build(model.trainable_variables)
    variables = list(model.variables)
    for optimizer in optimizers_of(model):
        variables += optimizer.variables
    unique = {id(variable): variable for variable in variables}
    for variable in model.metrics_variables:
        unique.pop(id(variable), None)
    return list(unique.values())


def _described(model, variables):
    """Names, shapes and types that tell a model's state from another's."""

    def name(variable):
        return _COUNT.sub("", "/".join(variable.path.split("/")[-2:]))

    def each(variables):
        return [[name(v), list(v.shape), str(v.dtype)] for v in variables]

    strategy = backend.strategy_of(model)
    return {
        "optimizers": [type(o).__name__ for o in optimizers_of(model)],
        "variables": each(variables),
        "metrics": each(model.metrics_variables),
        "replicas": [getattr(strategy, "num_replicas_in_sync", 1)],
    }


def _finite_array(variable):
    """A variable's value in a dtype that a file can hold.

    Raises:
        FloatingPointError: If it is not finite, so that nobody can go on.
    """
    array = np.asarray(keras.ops.convert_to_numpy(variable))
    if array.dtype.kind == "V":
        # NumPy itself knows no bfloat16; float32 holds it exactly.
        array = array.astype("float32")
    if array.dtype.kind == "f" and (
        np.isnan(array).any()
        # What an optimizer keeps may well be infinite.
        or (variable.trainable and np.isinf(array).any())
    ):
        raise FloatingPointError(
            "Saved weights must be finite, and other variables must not be "
            f"NaN. Received: {variable.path!r}, which is not finite. The last "
            "checkpoint is kept. Lower the learning rate, clip the gradient, "
            "and look for inputs that are not finite."
        )
    return array


def _learning_rates(model):
    """Learning rates of the optimizers, `None` of one with a schedule."""
    rates = [getattr(o, "learning_rate", None) for o in optimizers_of(model)]
    return [
        float(rate.numpy()) if isinstance(rate, keras.Variable) else None
        for rate in rates
    ]


def _frozen_digests(model):
    """Digests of what is frozen in pretrained networks, by `id`."""
    trained = {id(variable) for variable in model.trainable_variables}
    return {
        id(weight): _digest(weight)
        for network in layers_of(model)
        if getattr(network, "pretrained", False)
        for weight in network.weights
        if id(weight) not in trained
    }


def _digest(variable):
    array = np.ascontiguousarray(keras.ops.convert_to_numpy(variable))
    content = array.reshape(-1).view(np.uint8)
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _metric_arrays(model):
    """Returns the sums of the metrics, of every replica of every worker.

    Each replica keeps its own sums, since a sum over replicas would differ in
    its last bits after resuming.
    """
    found = {}
    for index, parts in enumerate(backend.metric_parts(model)):
        own = np.stack([part.numpy() for part in parts])
        found[f"metric{index:05d}"] = from_all(own, model)
    return found
