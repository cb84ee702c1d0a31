"""The callback that checkpoints and resumes a run."""

import contextlib
import functools
import inspect
import json
import os
import signal
import sys
import threading
import time
import warnings

import keras
import numpy as np

from tfcap.data import DatasetBatches
from tfcap.training.backends import backend
from tfcap.training.checkpoint import RunCheckpoint
from tfcap.training.dataset_inputs import is_tf_dataset
from tfcap.training.workers import from_all
from tfcap.training.workers import from_chief
from tfcap.training.workers import is_chief
from tfcap.training.workers import of_workers

try:
    import fcntl
except ImportError:
    fcntl = None

#: Of what these keep, a run that goes on gets back what training has changed.
_REMEMBER = (
    keras.callbacks.EarlyStopping,
    keras.callbacks.ReduceLROnPlateau,
    keras.callbacks.ModelCheckpoint,
    keras.callbacks.SwapEMAWeights,
)
_EXACT = "resumes exactly, also within an epoch"
_BY_EPOCHS = (
    "resumes at the start of an epoch, since the data are not indexed by the "
    "step: see `tfcap.data.Epochs` and `DatasetBatches`"
)


class Resume(keras.callbacks.Callback):
    """Checkpoints `fit()` and resumes it exactly.

    ```
    training.fit(
        batches.dataset(epochs=10),
        epochs=10,
        callbacks=[tfcap.training.Resume("runs/psst")],
    )
    ```

    The same program resumes from the folder, and ends with the weights, logs
    and history of an uninterrupted run; a finished run returns at once, with
    the final model. `epochs` counts all epochs of the run, and may be raised
    later.

    A run is a function of the seed and the step, and so must its data be:

    - Arrays, and data sets of `dataset()` of `tfcap.data.CaptionBatches`,
      `DialogBatches`, `DatasetBatches` or `Epochs`, begin at any step: the run
      resumes exactly, also within an epoch. The order of arrays is drawn from
      a seed in the checkpoint.
    - Other data resume at the start of an epoch: exactly for a
      `tf.data.Dataset` that shuffles with a seed, or in a constant order. With
      `steps_per_epoch`, batches of earlier epochs are read again.

    `fit()` prints which of the two applies, unless `verbose=0`. It is the
    callback of a `tfcap.training.JointTraining`. Other Keras models are
    trained by `fit()` of this class:

    ```
    resume.fit(model, x, y, batch_size=50, epochs=10)
    ```

    It saves every variable of the model and its optimizers, the history,
    within an epoch its metrics and logs, and the state of `EarlyStopping`,
    `ReduceLROnPlateau`, `ModelCheckpoint`, `SwapEMAWeights` and of callbacks
    with `get_state()` and `set_state(state)`, whose state is made of JSON and
    NumPy values. Seed generators of Keras and of this package that are
    attributes of the model are among its variables; other generators start
    again.

    It saves after every epoch; with indexed data also after `save_every`
    seconds, and at SIGTERM, after which the process ends with status 143, and
    at Ctrl-C; a second signal acts at once. It is called after all other
    callbacks.

    Frozen weights of a pretrained network, whose attribute `pretrained` is
    true as in `CausalLMSpeaker` and `CLIPListener`, are not saved: the program
    loads the network again, and digests verify it. Networks of an objective
    that are not trained, such as a frozen listener, are not saved either.

    Args:
        directory: String or path of the run's folder, made if absent.
        save_every: Float, seconds, or `float("inf")` to save only after
            epochs. Defaults to `600.0`.

    Raises:
        ValueError: In `fit()`, if the folder belongs to another model, other
            metrics or another number of steps, or another process trains in
            it, or it is a callback of another Keras model.
        SystemExit: In `fit()`, after SIGTERM.
        OSError: If a disk is full. The last checkpoint is complete.
        FloatingPointError: If a variable holds NaN.

    Example:

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> for _ in range(2):
    ...     model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    ...     model.compile("adam", "mse")
    ...     resume = tfcap.training.Resume(folder)
    ...     data = np.ones((4, 2)), np.ones(4)
    ...     history = resume.fit(model, *data, epochs=2, verbose=0)
    ...     print(history.epoch, int(model.optimizer.iterations.numpy()))
    [0, 1] 2
    [0, 1] 2
    """

    def __init__(self, directory, save_every=600.0):
        super().__init__()
        self.save_every = save_every
        self._checkpoint = RunCheckpoint(directory)
        self._directory = self._checkpoint.directory
        self._others, self._data = [], None
        self._signal, self._train = None, None

    def fit(self, model, *args, callbacks=None, **kwargs):
        """Trains a Keras model, and resumes its run.

        Args:
            model: Compiled `keras.Model`.
            *args, callbacks, **kwargs: As in `keras.Model.fit()`.

        Returns:
            `keras.callbacks.History`.
        """
        callbacks = [*keras.tree.flatten(callbacks or []), self]
        return run_fit(model.fit, *args, callbacks=callbacks, **kwargs)

    # How a run begins --------------------------------------------------------

    def run(self, fit, arguments, others):
        """Calls `fit()` with data and callbacks from where the run stopped.

        Args:
            fit: The bound method of the model.
            arguments: Dict of all its arguments.
            others: List of the callbacks beside this one.

        Returns:
            What `fit()` returns.
        """
        model, self._others = fit.__self__, others
        with self._lock(model):
            self._checkpoint.find(model)
            arguments = self._placed(model, arguments)
            try:
                with self._noted_signals():
                    return fit(**arguments)
            finally:
                self._data = None
                if self._train is not None:
                    # An error may have come before the steps that are left.
                    model.train_function, self._train = self._train, None

    def _placed(self, model, arguments):
        """Arguments of `fit()` that begin where the run stopped."""
        about, verbose = self._checkpoint.about, arguments["verbose"]
        # Drawn in any case: what a program draws after this run stays the same.
        drawn = from_chief(int(np.random.randint(1 << 31)), model)
        self._seed = about.get("seed", drawn)
        first, epochs = arguments["initial_epoch"], arguments["epochs"]
        arguments, data_from, self._indexed = _by_step(arguments, self._seed)
        self._find_place(first, epochs, arguments["steps_per_epoch"])
        passed = self._start - first if self._start < epochs else 0
        self._data = data_from(passed, self._done)
        if verbose and is_chief(model):
            how = _EXACT if self._indexed else _BY_EPOCHS
            place = _place(self._start, self._done)
            place = f"goes on after {place}, and " if about else ""
            print(f"{self._directory}: {place}{how}.", flush=True)
        callbacks = _Callbacks(
            # What others add to the logs is in the history, and that is saved.
            [*self._others, keras.callbacks.History(), self],
            add_progbar=verbose != 0,
            model=model,
            verbose=verbose,
            epochs=epochs,
            steps=self._steps,
        )
        callbacks.done = self._done
        place = {"x": self._data, "initial_epoch": self._start}
        return {**arguments, **place, "callbacks": callbacks}

    def _find_place(self, first, epochs, steps):
        """Finds epoch and step to go on at, and rejects data without it."""
        about = self._checkpoint.about
        self._steps = steps
        self._start = about.get("epoch", first)
        self._done = about.get("step", 0)
        if max(self._start, about.get("ended", 0)) >= epochs:
            # Nothing is left.
            self._start, self._done = max(self._start, epochs), 0
        before = about.get("steps")
        if None not in (before, steps) and before != steps:
            raise ValueError(
                "The data must have as many steps per epoch as in the "
                f"checkpoint. Received: {steps} steps, and {before} in the "
                f"checkpoint in {self._directory!r}. Use the same data and "
                "batch size, or another folder for a run on these data."
            )
        if self._done and not self._indexed:
            raise ValueError(
                "The data must be indexed by the step, as in the checkpoint. "
                f"Received: other data, and a checkpoint after {self._done} "
                f"steps of an epoch in {self._directory!r}. Use the same data."
            )

    def on_train_begin(self, logs=None):
        model, about = self.model, self._checkpoint.about
        if self._data is None:
            raise ValueError(
                "`model` must be a `tfcap.training.JointTraining` to have "
                f"`Resume` as a callback. Received: {type(model).__name__}. "
                "Train it by `resume.fit(model, x, y, ...)`."
            )
        self._noted = {id(c): dict(vars(c)) for c in self._others}
        if about:
            model.history.epoch = list(about["history"]["epoch"])
            model.history.history = dict(about["history"]["logs"])
            self._give_back()
        if self._done:
            self._train, self._passed = model.train_function, 0
            model.train_function = functools.partial(self._pass_step, model)
        # On JAX, `self.model` takes time: it has its variables' values then.
        self._several = of_workers(model) is not None
        self._saved, self._asked = time.monotonic(), 0

    def _pass_step(self, model, *given):
        """Skips finished steps of an epoch, which on JAX are given a state."""
        self._passed += model.steps_per_execution
        if self._passed >= self._done:
            model.train_function, self._train = self._train, None
        logs = dict(self._checkpoint.about["logs"])
        *state, _ = given
        return (logs, *state) if state else logs

    def _give_back(self):
        """Sets model and callbacks to the checkpoint."""
        model, about = self.model, self._checkpoint.about
        if not model.built:
            model(_first_batch(self._data)[0])
        if self._done and len(model.metrics_variables) < len(about["metrics"]):
            # Keras builds metrics at the first step.
            model.test_on_batch(*_first_batch(self._data))
        self._checkpoint.set(model, with_metrics=self._done > 0)
        arrays = self._checkpoint.arrays
        kept = [
            from_chief(arrays.get(f"memory{index:05d}"), model)
            for index in range(about.get("memory_arrays", 0))
        ]
        callbacks, memory = self._remembering(), about.get("memory", [])
        names = [type(callback).__name__ for callback in callbacks]
        if names != [name for name, _ in memory]:
            if is_chief(model):
                print(
                    f"{self._directory}: the callbacks {names} begin anew, "
                    f"since the run had {[name for name, _ in memory]}.",
                    flush=True,
                )
            return
        for callback, (_, state) in zip(callbacks, memory):
            state = _unpacked(state, kept)
            if hasattr(callback, "set_state"):
                callback.set_state(state)
            else:
                vars(callback).update(state)

    def _remembering(self):
        """Returns the callbacks whose state is saved."""
        return [
            callback
            for callback in self._others
            if isinstance(callback, _REMEMBER) or hasattr(callback, "get_state")
        ]

    # While it runs ------------------------------------------------------------

    def on_epoch_begin(self, epoch, logs=None):
        self._epoch = epoch
        if self._train is not None:
            # Once more, after what callbacks did when the epoch began.
            self._give_back()

    def on_train_batch_end(self, batch, logs=None):
        # The last of several steps of an execution may not be there.
        step = min(batch + 1, self._steps or batch + 1)
        waited = time.monotonic() - self._saved
        due = self._indexed and waited >= self.save_every
        stop, due = self._agreed(due, step == self._steps)
        if due or (stop and self._indexed):
            self._save(self._epoch, step, logs=logs or {})
        if stop:
            self._stop(stop, self._epoch, step if self._indexed else 0)

    def on_epoch_end(self, epoch, logs=None):
        ended = self.params["epochs"] if self.model.stop_training else 0
        self._save(epoch + 1, 0, ended=ended)
        stop, _ = self._agreed(False, True)
        if stop:
            self._stop(stop, epoch + 1, 0)

    def _save(self, epoch, step, **about):
        """Saves the run, at a place that all workers have agreed on."""
        memory, arrays, history = [], [], self.model.history
        for callback in self._remembering():
            if hasattr(callback, "get_state"):
                state = callback.get_state()
            else:
                state = _changed(callback, self._noted[id(callback)])
            memory.append([type(callback).__name__, _packed(state, arrays)])
        self._checkpoint.save(
            *(self.model, epoch, step),
            {f"memory{i:05d}": array for i, array in enumerate(arrays)},
            **about,
            history={"epoch": history.epoch, "logs": history.history},
            memory=memory,
            memory_arrays=len(arrays),
            seed=self._seed,
            steps=self._steps,
        )
        self._saved = time.monotonic()

    # When to save, and to stop ------------------------------------------------

    def _agreed(self, due, now):
        """Returns the signal to stop, and whether to save, for all workers.

        They agree every ten steps, and at the end of an epoch.
        """
        stop = self._signal or 0
        if not self._several:
            return stop, due
        self._asked += 1
        if self._asked % 10 and not now:
            return 0, False
        own = np.array([[stop, due and is_chief(self.model)]], np.int32)
        stop, due = from_all(own, self.model).max(axis=0)
        return int(stop), bool(due)

    def _stop(self, number, epoch, step):
        """Ends the process after a signal, when all is on disk."""
        # Nobody ends before the chief has written.
        from_chief(None, self.model)
        name = signal.Signals(number).name
        if is_chief(self.model):
            print(
                f"\nStopped by {name}. Saved in {self._directory}: "
                f"{_place(epoch, step)}. To resume, run the same command.",
                file=sys.stderr,
                flush=True,
            )
        self._obeyed = True
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(128 + number)

    @contextlib.contextmanager
    def _noted_signals(self):
        """Notes SIGTERM and Ctrl-C, to stop the run after its step.

        A second one acts at once. The program's own handler takes over when
        the run has stopped. Signals are only noted in the main thread, where
        Python receives them.
        """
        self._signal, self._obeyed, before = None, False, {}

        def give_back():
            for number, handler in before.items():
                signal.signal(number, handler)

        def note(number, frame):
            if self._signal is not None:
                give_back()
                signal.raise_signal(number)
            self._signal = number

        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                # One that is ignored stays so, and so does one of C.
                if signal.getsignal(number) not in (signal.SIG_IGN, None):
                    before[number] = signal.signal(number, note)
        try:
            yield
        finally:
            give_back()
            number, self._signal = self._signal, None
            own = before.get(number)
            own = callable(own) and own is not signal.default_int_handler
            if number in before and (own or not self._obeyed):
                signal.raise_signal(number)

    @contextlib.contextmanager
    def _lock(self, model):
        """Keeps other processes from training in the folder.

        The system releases the lock when the process ends. Of several workers
        the chief has it.
        """
        folder, taken = None, False
        if fcntl is not None and is_chief(model):
            folder = os.open(self._directory, os.O_RDONLY)
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                # A disk without locks keeps nobody.
                taken = isinstance(error, BlockingIOError)
        try:
            if from_chief(taken, model):
                raise ValueError(
                    "`directory` must be used by one run at a time. Received: "
                    f"directory={self._directory!r}, in which another process "
                    "trains. Wait for it, or choose another folder."
                )
            yield
        finally:
            if folder is not None:
                os.close(folder)


class _Callbacks(keras.callbacks.CallbackList):
    """Callbacks without the finished steps of the first epoch.

    Attributes:
        done: Integer, number of finished steps.
    """

    done = 0

    def on_train_batch_begin(self, batch, logs=None):
        if batch >= self.done:
            self.done = 0
            super().on_train_batch_begin(batch, logs)

    def on_train_batch_end(self, batch, logs=None):
        if not self.done:
            super().on_train_batch_end(batch, logs)

    def on_epoch_end(self, epoch, logs=None):
        self.done = 0
        super().on_epoch_end(epoch, logs)


def run_fit(fit, *args, **kwargs):
    """Calls `fit()` of a model, through the `Resume` among its callbacks.

    A data set of several epochs that is indexed by the step determines
    `steps_per_epoch` and the order.

    Args:
        fit: The method of a model.
        *args, **kwargs: Its arguments, those of `keras.Model.fit()`.

    Returns:
        What `fit()` returns.
    """
    bound = inspect.signature(keras.Model.fit).bind(None, *args, **kwargs)
    bound.apply_defaults()
    arguments = dict(bound.arguments)
    del arguments["self"]
    x, steps = arguments["x"], arguments["steps_per_epoch"]
    several = arguments["epochs"] - arguments["initial_epoch"] > 1
    arrays = all(hasattr(leaf, "shape") for leaf in keras.tree.flatten(x))
    indexed = hasattr(x, "from_step")
    if not arrays and (indexed or not isinstance(x, keras.utils.PyDataset)):
        # It has an order of its own, of which Keras would warn.
        arguments["shuffle"] = False
    if indexed and several and steps is None:
        arguments["steps_per_epoch"] = x.steps_per_epoch
    callbacks = keras.tree.flatten(arguments["callbacks"] or [])
    found = [c for c in callbacks if isinstance(c, Resume)]
    others = [c for c in callbacks if c not in found[:1]]
    with warnings.catch_warnings():
        if arguments["steps_per_epoch"] is None:
            # So ends an epoch of a generator, whose length Keras cannot know.
            warnings.filterwarnings("ignore", "Your input ran out of data")
        if not found:
            return fit(**arguments)
        return found[0].run(fit, arguments, others)


def _by_step(arguments, seed):
    """Returns data of a `fit()` that begin at another step.

    Returns:
        Triple: the arguments of `fit()`; a function from the numbers of
        finished epochs and of finished steps of the next to the data `x`; and
        whether these may begin within an epoch.
    """
    x, steps = arguments["x"], arguments["steps_per_epoch"]
    first, epochs = arguments["initial_epoch"], arguments["epochs"]
    parts = x, arguments["y"], arguments["sample_weight"]
    split = arguments["validation_split"]
    arrays = all(
        isinstance(leaf, np.ndarray | None) or keras.ops.is_tensor(leaf)
        for leaf in keras.tree.flatten(parts)
    )
    if steps is None and not split and arrays:
        parts = keras.utils.pack_x_y_sample_weight(*parts)
        batches = DatasetBatches.from_arrays(
            keras.tree.map_structure(_as_keras_does, parts),
            arguments["batch_size"] or 32,
            seed,
            bool(arguments["shuffle"]),
        )
        steps = batches.steps_per_epoch
        x = batches.dataset(epochs, first * steps)
        without = dict.fromkeys(("y", "sample_weight", "batch_size"))
        arguments = {**arguments, **without}
    indexed = hasattr(x, "from_step")
    if not (indexed or is_tf_dataset(x)):
        return arguments, lambda epochs, done: x, False
    count = len(x) if indexed else int(x.cardinality())
    anew = steps is None and count > 0 and not indexed
    if steps is None:
        steps = count if count > 0 else getattr(x, "steps_per_epoch", None)

    def begin(passed, done):
        if indexed:
            # One that is empty would build no model.
            last = max((epochs - first) * steps - 1, 0)
            left = x.from_step(min(passed * steps + done, last))
            # Keras counts the steps that are done, too.
            return backend.endless(left)
        if not anew:
            return x.skip(passed * (steps or 0))
        for _ in range(passed):
            # Whenever it is read, the seeds of its order are drawn.
            iter(x)
        import tensorflow as tf

        return tf.data.Dataset.range(epochs - first).flat_map(lambda _: x)

    options = {"steps_per_epoch": steps, "shuffle": False}
    return {**arguments, **options}, begin, indexed


def _as_keras_does(array):
    """Converts an array to the type that Keras gives it."""
    array = np.asarray(array)
    double = array.dtype == "float64"
    return array.astype(keras.config.floatx()) if double else array


def _first_batch(data):
    return keras.utils.unpack_x_y_sample_weight(next(iter(data)))


def _place(epoch, step):
    epochs, steps = "s" * (epoch != 1), "s" * (step != 1)
    place = f"{epoch} epoch{epochs}"
    return f"{place} and {step} step{steps} of the next" if step else place


def _changed(callback, before):
    """Returns the attributes of a callback that training has changed."""
    settings = inspect.signature(type(callback)).parameters

    return {
        name: value
        for name, value in vars(callback).items()
        if name not in settings
        and not callable(value)
        and value is not before.get(name)
    }


def _packed(state, arrays):
    """Returns a state as text; its arrays are put into a list."""

    def put(value):
        if isinstance(value, np.generic):
            return value.item()
        arrays.append(np.asarray(value))
        return {"array": len(arrays) - 1}

    return json.dumps(state, default=put)


def _unpacked(text, arrays):
    def take(value):
        return arrays[value["array"]] if "array" in value else value

    return json.loads(text, object_hook=take)
