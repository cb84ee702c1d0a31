"""The callback by which a run goes on where it stopped."""

import time

import keras
import numpy as np

from tfcap.training.agreement import Agreement
from tfcap.training.callback_memory import give_back
from tfcap.training.callback_memory import history_of
from tfcap.training.callback_memory import memory_of
from tfcap.training.callback_memory import set_history
from tfcap.training.checkpoint import RunCheckpoint
from tfcap.training.data_order import DataOrder
from tfcap.training.draws import tell_draws
from tfcap.training.joint_training import JointTraining
from tfcap.training.metric_state import metric_arrays
from tfcap.training.metric_state import set_metric_arrays
from tfcap.training.model_state import build_on
from tfcap.training.model_state import lacks_variables
from tfcap.training.random_state import arrays_from_chief
from tfcap.training.random_state import named
from tfcap.training.random_state import random_arrays
from tfcap.training.random_state import random_state_of
from tfcap.training.random_state import set_random_arrays
from tfcap.training.resume_checks import check_finite
from tfcap.training.resume_checks import check_place
from tfcap.training.resume_checks import check_size
from tfcap.training.resume_checks import told_of_disk
from tfcap.training.run_lock import RunLock
from tfcap.training.running_fit import running_fit
from tfcap.training.termination import Termination
from tfcap.training.workers import from_chief
from tfcap.training.workers import is_chief

#: Seconds of work that are saved before an epoch's evaluation, which may be
#: too long to wait for.
_WORTH = 60.0
#: Hooks of callbacks that write logs.
_WRITING = (
    *("on_train_begin", "on_epoch_begin", "on_train_batch_begin"),
    *("on_train_batch_end", "on_test_begin", "on_test_end"),
    *("on_epoch_end", "on_train_end"),
)


class Resume(keras.callbacks.Callback):
    """Makes a `fit()` go on where it stopped, exactly.

    ```
    model.fit(
        dataset, epochs=10, callbacks=[tfcap.training.Resume("runs/psst")]
    )
    ```

    The same lines again go on from the folder, and end in the weights, logs
    and history of a run that was never stopped; when nothing is left to do,
    `fit()` returns at once, with the model as it was at the end. It serves
    `JointTraining` and any model of Keras. `epochs` counts
    all epochs of the run, and may be raised later: from the averages where
    `SwapEMAWeights(swap_on_epoch=True)` has kept nothing else at the end.

    The state is saved after every epoch, in the midst of one after
    `save_every` seconds, and at SIGTERM, by which schedulers say that they
    take a machine away; then the process ends with status 143 and a sentence.
    Saved is every variable of model and optimizer, the metrics and logs of
    the epoch, the history, the global random generators of Python, NumPy and
    Keras, `tf.random.get_global_generator()`, and the memory of
    `EarlyStopping`, `ReduceLROnPlateau`, `ModelCheckpoint`, `SwapEMAWeights`
    and of callbacks with `get_state()` and `set_state(state)`; what others
    remember by themselves begins anew. Callbacks see an epoch that is gone on
    with begin, and of its steps those that are left. It is called as the last
    of the callbacks, wherever it stands among them.

    The state of `tf.random.normal()` and its kind in a graph, and of generators
    outside the model, is not saved: where the graph of a step draws from these,
    it warns before the first one. Keras' layers go on exactly.

    Weights that are frozen in a pretrained network, one whose attribute
    `pretrained` is true as that of `CausalLMSpeaker` and `CLIPListener`, are
    not saved: with LoRA, a checkpoint holds adapters and the state of their
    optimizer. The program loads the network again; a run does not go on with
    another one, which digests of the weights tell.

    The data may be arrays, a `keras.utils.PyDataset` or a `tf.data.Dataset`,
    with `steps_per_epoch` or without, in an order that the same program makes
    again: shuffled with a seed, or after `keras.utils.set_random_seed()`.
    Otherwise it warns. Batches of the interrupted epoch are read again, and
    those of epochs before where the order depends on their reading, as with
    `steps_per_epoch` or an unknown length; a data set of
    `tfcap.data.CaptionBatches`, `DialogBatches` or `DatasetBatches` begins at
    any step without.

    Args:
        directory: String or path of the run's folder, made if absent.
        save_every: Float, seconds. Defaults to `600.0`.

    Raises:
        ValueError: If `save_every` is not positive; in `fit()`, if the folder
            is of another model, metrics or number of steps, or another process
            trains in it.
        SystemExit: In `fit()`, after SIGTERM.
        OSError: If a disk is full. The last checkpoint is whole.
        FloatingPointError: If what is to be saved holds NaN, or what a model
            logs that Keras itself trains is not finite; what other models do
            then they are told at their making (`nonfinite`).

    Example:

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> for _ in range(2):
    ...     keras.utils.set_random_seed(1)
    ...     model = keras.Sequential([keras.layers.Dense(1)])
    ...     model.compile("adam", "mse")
    ...     history = model.fit(
    ...         *(np.ones((4, 2)), np.ones(4)),
    ...         epochs=2,
    ...         callbacks=[tfcap.training.Resume(folder)],
    ...         verbose=0,
    ...     )
    ...     print(history.epoch, int(model.optimizer.iterations.numpy()))
    [0, 1] 2
    [0, 1] 2
    """

    #: Epochs that this process has ended a `fit()` with, by folder.
    _ended_with = {}

    def __init__(self, directory, save_every=600.0):
        super().__init__()
        if not save_every > 0:
            raise ValueError(
                "`save_every` must be positive, a number of seconds. Received:"
                f" save_every={save_every}. Use `float('inf')` to save after "
                "epochs alone."
            )
        self.save_every = save_every
        self._checkpoint = RunCheckpoint(directory)
        self._fit = None

    def set_params(self, params):
        # Before any callback sees the training begin.
        super().set_params(params)
        self._fit = None
        self._begin()

    def on_train_begin(self, logs=None):
        if self._fit is None and not self._begin():
            raise ValueError(
                "`Resume` must be a callback of `keras.Model.fit()`. Received: "
                f"a loop of another kind that trains {self.model.name!r}. Call "
                "`fit()` of the model."
            )
        about = self._checkpoint.restored
        if about:
            self._give_back(about)
            set_history(self._fit.callbacks._history, about.get("history"))
        self._termination = Termination(self._fit.runs_in())
        self._termination.__enter__()
        self._agreement = Agreement(self.model)
        self._saved = time.monotonic()

    def on_epoch_begin(self, epoch, logs=None):
        self._epoch = epoch
        # No later `fit()` is to begin there without this callback.
        self.model._initial_epoch = None

    def on_train_batch_end(self, batch, logs=None):
        if not isinstance(self.model, JointTraining):
            check_finite(logs, batch)
        self._order.watch()
        steps = self._fit.num_steps
        # The last of several steps of an execution may not be there.
        step = min(batch + 1, steps or batch + 1)
        last = step == steps
        waited = time.monotonic() - self._saved
        due = waited >= self.save_every or (last and waited >= _WORTH)
        stop, due = self._agreed(due, last)
        if stop or due:
            self._save_step(step, steps or 0, logs)
        if stop:
            self._stop(f"step {step} of epoch {self._epoch + 1}")

    def on_epoch_end(self, epoch, logs=None):
        about = {"ended": self._fit.epochs} if self.model.stop_training else {}
        self._save(epoch + 1, {}, **about)
        self._reached = epoch + 1
        if self._agreed(False, True)[0]:
            self._stop(f"epoch {epoch + 1}")

    def on_train_end(self, logs=None):
        self.model._initial_epoch = None
        self._ended_with[self._checkpoint.directory] = self._reached
        self._lock.release()
        self._fit = None
        self._termination.__exit__(None, None, None)

    # How a run begins ---------------------------------------------------------

    def _begin(self):
        """Finds the place to go on from. Returns whether a fit is running."""
        fit = running_fit(self.model)
        if fit is None:
            return False
        self._fit, model, checkpoint = fit, self.model, self._checkpoint
        check_size(fit)
        self._lock = RunLock(checkpoint.directory, model)
        self._call_last(fit.callbacks)
        about = checkpoint.find(model)
        checkpoint.note(model)
        done = about.get("step", 0)
        check_place(about, fit, checkpoint.path)
        self._order = DataOrder(fit)
        self._draws = tell_draws(model, self._order.python)
        self._going_on = bool(about)
        self._epoch_random = None
        start = self._start = about.get("epoch", fit.initial_epoch)
        self._reached = min(start, fit.epochs)
        self._began, self._fit_random = self._of_this_fit(about)
        if about and max(start, about.get("ended", 0)) >= fit.epochs:
            # Nothing is left: the loop over the epochs is empty.
            start, done = max(start, fit.epochs), 0
            if self._order.read_again:
                self._order.leave_unread()
            else:
                # A `fit()` that follows finds the data as this one left it.
                self._order.pass_epochs(fit.epochs - fit.initial_epoch, None)
            if lacks_variables(model):
                build_on(model, self._order.any_batch())
        else:
            self._order.warn()
            self._tell(self._order.compare(about))
            self._find_data(start, done)
            if about and not done and lacks_variables(model):
                build_on(model, self._order.any_batch())
        fit.replace_steps(self._steps_of_epoch)
        if about:
            model._initial_epoch = start
            if not lacks_variables(model):
                checkpoint.set(model)
            # In the midst of the first epoch, what is read builds the model.
        return True

    def _call_last(self, callbacks):
        """Comes after all other callbacks, and has their errors told."""
        others = [c for c in callbacks.callbacks if c is not self]
        if any(isinstance(callback, Resume) for callback in others):
            raise ValueError(
                "`callbacks` must have one `Resume`. Received: several. Leave "
                "the others out."
            )
        callbacks.callbacks = [*others, self]
        for hook in _WRITING:
            setattr(callbacks, hook, told_of_disk()(getattr(callbacks, hook)))

    def _of_this_fit(self, about):
        """The first epoch of this `fit()`, and the random state at it."""
        known = self._ended_with.get(self._checkpoint.directory)
        if not about or (known == about["epoch"] and "step" not in about):
            # The program calls `fit()` again, with data as for the first time.
            return self._start, random_arrays()
        state = random_state_of(self._checkpoint.arrays, "fit")
        return about.get("began", 0), arrays_from_chief(state, self.model)

    def _find_data(self, start, done):
        steps = self._fit.iterator.steps_per_epoch or 0
        sought = self._order.seek(start * steps + done)
        if sought:
            return
        count = start - self._began
        if count and self._order.read_again:
            self._tell(f"reading the data of {count} epochs again.")
        self._order.pass_epochs(count, self._fit_random)

    def _tell(self, sentence):
        """Prints a sentence once, if there is any."""
        if sentence and is_chief(self.model):
            print(f"{self._checkpoint.directory}: {sentence}", flush=True)

    # How an epoch begins in its midst -----------------------------------------

    def _steps_of_epoch(self):
        """Generator of the steps of an epoch, in Keras' place."""
        going_on, self._going_on = self._going_on, False
        if not going_on:
            self._epoch_random = random_arrays()
            yield from self._fit.steps()
            return
        about = self._checkpoint.restored
        done, arrays = about.get("step", 0), self._checkpoint.arrays
        begun = random_state_of(arrays, "epoch")
        begun = arrays_from_chief(begun, self.model)
        if begun and self._order.python:
            set_random_arrays(begun)
        self._epoch_random = begun or random_arrays()
        steps = self._fit.steps()
        first = self._order.pass_steps(steps, done)
        if done:
            self._set_midst(about)
            # Data of unknown length may end before there are other logs.
            yield from self._fit.no_step(about["logs"])
        if about.get("stopped"):
            # It was to end there: Keras ends an epoch that has no more steps.
            self.model.stop_training = True
        elif first is not None:
            yield first
            yield from steps

    def _set_midst(self, about):
        """Undoes what callbacks did when the epoch began again."""
        model, arrays = self.model, self._checkpoint.arrays
        if lacks_variables(model):
            build_on(model, self._order.any_batch())
        self._checkpoint.set(model)
        metrics = [arrays[k] for k in sorted(arrays) if k.startswith("metric")]
        # Under a strategy Keras has built them.
        alone = model.distribute_strategy.num_replicas_in_sync == 1
        if alone and len(model.metrics_variables) < len(metrics):
            batch = self._order.any_batch()
            model.test_on_batch(*keras.utils.unpack_x_y_sample_weight(batch))
            self._checkpoint.set(model)
        set_metric_arrays(model, metrics)
        self._give_back(about)

    # What is kept beside the variables ----------------------------------------

    def _others(self):
        """The callbacks that remember by themselves."""
        return [c for c in self._fit.callbacks.callbacks if c is not self]

    def _give_back(self, about):
        model, arrays = self.model, self._checkpoint.arrays
        drawn = arrays_from_chief(random_state_of(arrays, "now"), model)
        if drawn:
            # What Python's own data have drawn since they have drawn again.
            host = not (self._order.python and "step" in about)
            set_random_arrays(drawn, host)
        kept = [arrays[k] for k in sorted(arrays) if k.startswith("memory")]
        parts = range(from_chief(len(kept), model))
        kept = [from_chief(kept[i] if kept else None, model) for i in parts]
        told = give_back(self._others(), about.get("memory", []), kept)
        self._tell(told if "memory" in about else "")

    def _save_step(self, step, steps, logs):
        logs = {k: np.asarray(v).tolist() for k, v in (logs or {}).items()}
        metrics = {
            f"metric{index:05d}": array
            for index, array in enumerate(metric_arrays(self.model))
        }
        if self._order.python:
            metrics |= named(self._epoch_random, "epoch")
        place = {"step": step, "steps": steps, "logs": logs}
        place["stopped"] = bool(self.model.stop_training)
        self._save(self._epoch, metrics, **place)

    def _save(self, epoch, arrays, **about):
        memory, more = memory_of(self._others())
        arrays |= {f"memory{i:05d}": array for i, array in enumerate(more)}
        arrays |= named(random_arrays(), "now")
        if self._order.python:
            arrays |= named(self._fit_random, "fit")
        history = self._fit.callbacks._history
        if is_chief(self.model):
            self._checkpoint.save(
                *(self.model, epoch, arrays),
                **about,
                began=self._began,
                **self._order.about,
                memory=memory,
                history=history_of(history),
            )
        self._saved = time.monotonic()

    # When to save, and to stop ------------------------------------------------

    def _agreed(self, due, now):
        """Whether to stop, and to save, for all workers alike."""
        return self._agreement.reached(self._termination.requested, due, now)

    def _stop(self, place):
        # Nobody ends before the first one has written.
        from_chief(None, self.model)
        self._lock.release()
        how = " exactly" if self._order.exact and not self._draws else ""
        self._termination.obey(
            f"Stopped by SIGTERM after {place}, which is on the disk: "
            f"{self._checkpoint.path}. To go on{how}, run the same command "
            "again."
            if is_chief(self.model)
            else ""
        )
