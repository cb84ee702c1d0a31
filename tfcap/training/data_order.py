"""The order of the data of a `fit()`, and how a run finds its place in it.

Keras draws an iterator of its data for every epoch, and one more at its end,
unless the data end before it expects them to, as those of unknown length do;
with `steps_per_epoch` it goes on with one. What these give was found by trial
(TensorFlow 2.21, Keras 3.15):

- `tf.data` draws the seed of a shuffle when an iterator is made, from a stream
  that the data set holds. Made as often, iterators give the same; only where
  a `repeat()` or a `cache()` comes after must they be read as well.
- The state of random operations in functions of a data set begins anew with
  every iterator, with it the order in which Keras shuffles arrays.
- `keras.utils.PyDataset`s are shuffled by Python's `random`, when an epoch is
  first read.

So an epoch that is over is passed over as Keras would pass through it, read
only where its reading counts; then the steps that are done of the next.
"""

import itertools
import random
import warnings
import weakref

import numpy as np
import tensorflow as tf

from tfcap.training.draws import calls_python
from tfcap.training.draws import changes_others
from tfcap.training.draws import drawing
from tfcap.training.draws import operations
from tfcap.training.draws import python_state
from tfcap.training.model_state import lacks_variables
from tfcap.training.random_state import set_random_arrays

#: Transformations that hold or repeat what a shuffle before them drew.
_HOLDING = "Repeat", "Cache"
_RANDOM = (random.Random, np.random.Generator, np.random.RandomState)
_SHUFFLED = (
    "Data whose order is drawn anew by every process cannot be resumed "
    "exactly: {}. Rows of an epoch that is interrupted may be seen twice or "
    "not at all. {}"
)
#: Data of a `fit()` that had nothing left to do, and would have read them.
_UNREAD = weakref.WeakSet()


class DataOrder:
    """Finds the place in the data of a `fit()`.

    Attributes:
        seeds: List of lists of integers, what the order depends on that a
            program that is started again must have again.
        about: Dict that JSON can hold, the seeds and what is known of the data
            by the names to tell.
        python: Boolean, whether Python makes the batches, or `tf.data` calls
            it for them, and may draw from its generators.
        exact: Boolean, whether no problem with the order has been told.
        batch: The last batch that was passed over; `None` if none was.
        passed: Integer, batches that the iterator of the epoch has read.
    """

    def __init__(self, fit):
        self.fit = fit
        self.batch, self.passed, self.exact = None, 0, True
        adapter = fit.iterator.data_adapter
        self._nodes = [] if fit.dataset is None else _nodes(fit.dataset)
        self._py_dataset = getattr(adapter, "py_dataset", None)
        self._arrays = type(adapter).__name__ == "ArrayDataAdapter"
        self._shuffled = self._arrays and bool(adapter._shuffle)
        self._iterable = not self._nodes and not self._arrays
        calls = [n for n in self._nodes if any(map(calls_python, _graphs(n)))]
        self.python = self._iterable or bool(calls)
        self._parallel = any("Parallel" in type(n).__name__ for n in calls)
        self._python_state = None
        # Keras notes a number when an epoch is over; another may have others.
        self._unknown = fit.iterator.num_batches is None
        self.seeds = _seeds(self._nodes)
        if self._shuffled:
            self.seeds = [[tf.compat.v1.get_seed(0)[0]]]
        self.about = {"seeds": self.seeds, "data": _description(self)}
        self._sought = False

    def warn(self):
        """Warns of an order that no program can have again."""
        for problem, cure in self._problems():
            self.exact = False
            warnings.warn(_SHUFFLED.format(problem, cure), stacklevel=2)

    def watch(self):
        """Warns, after a batch, once Python has drawn for several at a time."""
        if not self._parallel:
            return
        before, self._python_state = self._python_state, python_state()
        if before not in (None, self._python_state):
            self._parallel = self.exact = False
            cure = "Call one function at a time, or draw in none of them."
            problem = (
                "`map(num_parallel_calls=...)` calls functions of Python, and "
                "`random` or `numpy.random` draws meanwhile"
            )
            warnings.warn(_SHUFFLED.format(problem, cure), stacklevel=2)

    def compare(self, before: dict) -> str:
        """Compares seeds and data with those of the run so far."""
        seeds, known = before.get("seeds"), before.get("data", {})
        if seeds not in (None, self.seeds):
            return (
                f"the data are shuffled with the seeds {self.seeds} now, and "
                f"were with {seeds}: the run goes on, with rows of this epoch "
                "in another order. Call `keras.utils.set_random_seed()` with "
                "the seed of before to go on exactly."
            )
        other = [
            f"{name} {now} now, and {known[name]} before"
            for name, now in self.about["data"].items()
            if now is not None and known.get(name) not in (None, now)
        ]
        if not other:
            return ""
        return (
            f"the data are others than those of the run so far, with "
            f"{'; '.join(other)}: the run goes on with them. Use the data, "
            "batch size and steps of before to go on exactly, or another "
            "folder for a run on these."
        )

    def seek(self, step: int) -> bool:
        """Goes to a global step, where the data set knows how."""
        begin = getattr(self.fit.dataset, "from_step", None)
        self._sought = begin is not None and bool(
            self.fit.iterator.steps_per_epoch
        )
        if self._sought:
            dataset = begin(step)
            self.fit.iterator.data_adapter._dataset = dataset
            self.fit.feed(dataset)
        return self._sought

    def leave_unread(self):
        """Notes that a `fit()` with nothing left has not read its data."""
        if self.seeds or self.python:
            _UNREAD.add(self._source)

    @property
    def _source(self):
        """The data as they were given to `fit()`, if they are an object."""
        for data in (self._py_dataset, self.fit.dataset):
            if data is not None:
                return data
        return self

    def pass_epochs(self, count: int, state):
        """Passes over epochs that are done."""
        made = self._nodes and self.seeds
        if self._sought or not (made or self.read_again):
            # What the epochs were leaves no trace in the next one.
            return
        if self.python and state:
            set_random_arrays(state)
        for _ in range(count):
            with warnings.catch_warnings():
                # Keras warns at the end of data of unknown length.
                warnings.simplefilter("ignore")
                self._pass_epoch()

    def pass_steps(self, steps, done: int):
        """Passes over the steps that are done of an epoch.

        Returns:
            The first step that is left, as the generator gave it; `None` if
            none is.

        Raises:
            ValueError: If the data end before.
        """
        if not self.fit.iterator.steps_per_epoch:
            self.passed = 0
        for step in steps:
            if step[0] >= done:
                return step
            if not self._sought and not self._read(step[2]):
                raise ValueError(
                    "The data must have the steps of the epoch that the run "
                    f"was stopped in. Received: data that end at step {step[0]}"
                    f", and a checkpoint of step {done}. Use the same data."
                )
        return None

    def any_batch(self):
        """A batch that was passed over, or the first one of the data."""
        if self.batch is None:
            self.batch = next(iter(self.fit.batches))
        return self.batch

    @property
    def read_again(self):
        """Whether epochs that are over must be read to pass over them."""
        if self.fit.iterator.steps_per_epoch or self._unknown:
            return True
        if self._nodes:
            kinds = "".join(type(node).__name__ for node in self._nodes)
            return bool(self.seeds) and any(k in kinds for k in _HOLDING)
        if self._py_dataset is not None:
            return _remembers(self._py_dataset)
        return not self._arrays

    def _pass_epoch(self):
        read = self.read_again
        # A batch to build a model on must not draw one more iterator.
        build = lacks_variables(self.fit.model)
        with self.fit.iterator.catch_stop_iteration():
            for _, _, source in self.fit.steps():
                needed = read or (build and self.batch is None)
                if needed and not self._read(source):
                    raise StopIteration

    def _read(self, source):
        """Reads what one step reads. Returns whether there was any."""
        some = False
        for _ in range(self.fit.iterator.steps_per_execution):
            try:
                self.batch = next(source)
            except (StopIteration, tf.errors.OutOfRangeError):
                break
            self.passed += 1
            some = True
        return some

    def _problems(self):
        """Pairs of what nobody can have again, and what to do."""
        call = "Call `keras.utils.set_random_seed()` before the data are made."
        if any(not any(seeds) for seeds in self.seeds if len(seeds) > 1):
            yield "`shuffle()` has no seed", f"Give it one. {call}"
        if self._shuffled and tf.compat.v1.get_seed(0) == _unseeded():
            yield "Keras shuffles arrays and TensorFlow has no seed", call
        if self._iterable and self._py_dataset is None:
            kind = type(self.fit.iterator.data_adapter).__name__
            yield (
                f"a Python iterable ({kind}) may give others when it is made "
                "again",
                "Use a `tf.data.Dataset`, a `keras.utils.PyDataset`, or "
                "`tfcap.data.DatasetBatches`.",
            )
        if self._source in _UNREAD:
            # What it draws next depends on the iterators that are alive, too.
            yield (
                "a `fit()` before, with nothing left to do, has not read the "
                "same data",
                "Make the data set anew for each `fit()`, or use "
                "`tfcap.data.DatasetBatches`.",
            )
        for node in self._nodes:
            if node.options().deterministic is False or _is_unordered(node):
                yield "`deterministic` is off", "Leave it on."
                return
            for graph in _graphs(node):
                yield from _draws(graph, "Parallel" in type(node).__name__)


def _description(order):
    """Description of the data by Keras and tf.data; `None` where unknown."""
    fit, adapter = order.fit, order.fit.iterator.data_adapter
    size, count, rows = adapter.batch_size, adapter.num_batches, None
    if order._arrays:
        rows = size * count - (-(adapter.partial_batch_size or 0) % size)
    # One that begins at any step tells of the epochs that are asked for.
    nodes = [] if hasattr(fit.dataset, "from_step") else order._nodes
    repeats = [i for i, n in enumerate(nodes) if "Repeat" in type(n).__name__]
    below = nodes[max(repeats, default=-1) + 1 :]
    counts = [int(node.cardinality()) for node in below]
    alone = fit.model.distribute_strategy.num_replicas_in_sync == 1
    return {
        "steps of an epoch": fit.num_steps,
        "rows of a batch": size,
        "rows": rows,
        # Where one comes after another of as many, as after `map()`, once.
        "batches and rows": [n for n, _ in itertools.groupby(counts)] or None,
        "elements": str(fit.batches.element_spec) if alone else None,
    }


def _nodes(dataset):
    """A data set and all that it is made of."""
    nodes = [dataset]
    for part in dataset._inputs():
        nodes += _nodes(part)
    return nodes


def _seeds(nodes):
    """The seeds of the shuffles of a data set."""
    pairs = [
        (getattr(n, "_seed", None), getattr(n, "_seed2", 0)) for n in nodes
    ]
    return [[int(one), int(two)] for one, two in pairs if one is not None]


def _unseeded():
    """Seeds that TensorFlow gives for 0 where it has none of its own."""
    return 87654321, 0


def _graphs(node):
    """The graphs of the functions of a data set."""
    return [wrapped.function.graph for wrapped in node._functions()]


def _is_unordered(node):
    """Check whether `map()` or `batch()` was told `deterministic=False`."""
    inside = (n for graph in _graphs(node) for n in operations(graph))
    return getattr(node, "_deterministic", None) == "false" or any(
        n.attr["deterministic"].s == b"false" for n in inside
    )


def _draws(graph, parallel):
    """Problems of a function of a data set that draws."""
    stateless = "Draw with `tf.random.stateless_*` and a seed in the data"
    kinds = drawing(graph)
    if parallel and kinds:
        yield (
            "`map(num_parallel_calls=...)` draws in an order that differs from "
            "run to run",
            f"{stateless}, or from one call at a time.",
        )
    elif not all(kinds.values()):
        names = ", ".join(sorted(kinds))
        yield (
            f"a function of theirs draws without a seed ({names})",
            f"{stateless}, or call `keras.utils.set_random_seed()` before the "
            "data are made.",
        )
    if changes_others(graph):
        yield (
            "a function of theirs draws from a generator or changes a variable",
            f"{stateless}, or put the layer that draws into the model.",
        )


def _remembers(py_dataset):
    """Check whether the batches may depend on those that were read before."""
    base = next(
        kind
        for kind in type(py_dataset).__mro__
        if kind.__module__.startswith("keras.")
    )
    hooks = "on_epoch_begin", "on_epoch_end"
    overridden = any(
        getattr(type(py_dataset), hook) is not getattr(base, hook)
        for hook in hooks
    )
    own = vars(py_dataset).values()
    return overridden or any(isinstance(value, _RANDOM) for value in own)
