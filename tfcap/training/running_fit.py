"""The `fit()` of Keras that is running, as one of its callbacks finds it.

Keras gives a callback the model and the numbers of epochs and steps, and keeps
to itself the iterator of the epochs and the list of the callbacks. A run that
goes on needs both: the iterator, to find the place in the data and to begin an
epoch in its midst; the list, to be the last one that is called.
"""

import dataclasses
import sys
import weakref
from typing import Any

import keras
import tensorflow as tf


@dataclasses.dataclass
class RunningFit:
    """Model, callbacks and iterator of a running `fit()` of Keras.

    Args:
        iterator: Keras' iterator of epochs and their steps.
    """

    model: Any
    callbacks: Any
    iterator: Any
    initial_epoch: int
    epochs: int

    @property
    def dataset(self):
        """The `tf.data.Dataset` given to `fit()`; `None` if none was."""
        dataset = getattr(self.iterator.data_adapter, "_dataset", None)
        return dataset if isinstance(dataset, tf.data.Dataset) else None

    @property
    def num_steps(self):
        """Steps of an epoch; `None` as long as they are not known."""
        return self.iterator.num_batches

    @property
    def batches(self):
        """The batches of an epoch, shared out to the replicas."""
        return self.iterator._distributed_dataset

    def feed(self, dataset: tf.data.Dataset):
        """Trains on another data set of the same elements."""
        strategy = self.model.distribute_strategy
        shared = strategy.experimental_distribute_dataset(dataset)
        self.iterator._distributed_dataset = shared

    def steps(self):
        """Generator of the steps of the next epoch, as Keras makes them."""
        return type(self.iterator)._enumerate_iterator(self.iterator)

    def no_step(self, logs: dict):
        """Generator of a step that does nothing, with the logs of another.

        An end that was asked for before comes with the next step, as in an
        epoch that begins: the callbacks are not there in this one.
        """
        model, callbacks = self.model, self.callbacks
        kept, callbacks.callbacks = callbacks.callbacks, []
        train, model.train_function = model.train_function, lambda _: logs
        stop, model.stop_training = model.stop_training, False
        try:
            yield 0, 0, None
        finally:
            callbacks.callbacks, model.train_function = kept, train
            model.stop_training = stop

    def replace_steps(self, steps):
        """Has every epoch take its steps from another generator."""
        self.iterator._enumerate_iterator = steps

    def runs_in(self):
        """Returns a test of whether a frame is of this `fit()`."""
        own = weakref.ref(self.iterator)

        def runs(frame):
            iterator = own()
            while iterator is not None and frame is not None:
                if frame.f_locals.get("epoch_iterator") is iterator:
                    return True
                frame = frame.f_back
            return False

        return runs


def running_fit(model: keras.Model):
    """Finds the `fit()` of Keras that calls the callback that asks.

    Returns:
        `RunningFit`, or `None` where no `fit()` of this model is running.
    """
    frame, callbacks = sys._getframe(1), None
    while frame is not None:
        names = frame.f_locals
        own = names.get("self")
        if callbacks is None and isinstance(own, keras.callbacks.CallbackList):
            callbacks = own
        if own is model and "epoch_iterator" in names and "epochs" in names:
            return RunningFit(
                model,
                callbacks,
                names["epoch_iterator"],
                names["initial_epoch"],
                names["epochs"],
            )
        frame = frame.f_back
    return None
