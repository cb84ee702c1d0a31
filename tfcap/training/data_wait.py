"""Tells how long training waits for its data."""

import time
import weakref

import keras
import numpy as np
import tensorflow as tf

from tfcap.training.running_fit import running_fit


class DataWait(keras.callbacks.Callback):
    """Logs the share of the time that steps spend waiting for their batch.

    ```
    data_wait = sum over steps of max(0, batch there - step begun)
                / sum over steps of (step ended - step before ended)
    ```

    Under 0.05, the pipeline keeps the model fed; above it, prefetch, make
    batches in parallel, or keep what is computed again every epoch. It comes
    to the logs of every epoch, so put it before `keras.callbacks.TensorBoard`,
    which writes it. The first step of a fit, which is traced, does not count.

    Args:
        name: String, under which the share is logged. Defaults to
            `"data_wait"`.

    Example:

    >>> import tensorflow as tf
    >>> dataset = tf.data.Dataset.from_tensors((np.ones((2, 3)), np.ones(2)))
    >>> model = keras.Sequential([keras.layers.Dense(1)])
    >>> model.compile("sgd", "mse")
    >>> wait = tfcap.training.DataWait()
    >>> history = model.fit(
    ...     dataset.repeat(3),
    ...     shuffle=False,
    ...     callbacks=[wait],
    ...     verbose=0,
    ... )
    >>> 0 <= history.history["data_wait"][0] <= 1
    True
    """

    def __init__(self, name="data_wait"):
        super().__init__()
        self.name = name
        self._arrived, self._read = {}, 0
        self._watching = None

    def watch(self, fit):
        """Sees the batches of a `fit()` arrive.

        Args:
            fit: `tfcap.training.running_fit.RunningFit`, before its first
                step.
        """
        dataset, adapter = fit.dataset, fit.iterator.data_adapter
        fit.feed(self._seen(dataset or adapter.get_tf_dataset()))
        self._watching = weakref.ref(fit.iterator)
        self._read = 0

    def leave_out(self, count):
        """Leaves out batches that were read and not trained on.

        Args:
            count: Integer.
        """
        self._read += count

    def _seen(self, dataset):
        """The same data set, the batches of which are seen to arrive."""
        arrived = self._arrived

        # TensorFlow keeps it until Python ends: not so the model.
        def arrive(number):
            arrived[int(number)] = time.perf_counter()
            return np.int32(0)

        def see(number, batch):
            seen = tf.numpy_function(arrive, [number], tf.int32, stateful=True)
            with tf.control_dependencies([seen]):
                return tf.nest.map_structure(tf.identity, batch)

        # Batches may be made ahead: their numbers tell them apart.
        return dataset.enumerate().map(see)

    def on_train_begin(self, logs=None):
        fit = running_fit(self.model)
        if fit is None:
            raise ValueError(
                "`DataWait` must be a callback of `keras.Model.fit()`. "
                "Received: a loop of another kind that trains "
                f"{self.model.name!r}. Call `fit()` of the model."
            )
        if self._watching is None or self._watching() is not fit.iterator:
            self.watch(fit)
        self._traced = False

    def on_epoch_begin(self, epoch, logs=None):
        self._steps, self._ended = [], None
        if not self._watching().steps_per_epoch:
            # Otherwise Keras goes on with one iterator.
            self._read = 0

    def on_train_batch_begin(self, batch, logs=None):
        self._begun = time.perf_counter()

    def on_train_batch_end(self, batch, logs=None):
        self._read += self.model.steps_per_execution
        there = self._arrival()
        # From end to end: a step may return before a device is done with it.
        now, before = time.perf_counter(), self._ended or self._begun
        self._steps.append((max(there - self._begun, 0.0), now - before))
        self._ended = now

    def _arrival(self):
        """Time at which the last batch of a step was there."""
        known = self._watching().data_adapter.num_batches or self._read
        last = (self._read - 1) % known
        # The last execution of an epoch may have fewer steps.
        there = [number for number in list(self._arrived) if number <= last]
        arrival = self._arrived[max(there)]
        for number in there:
            if number < max(there):
                del self._arrived[number]
        return arrival

    def on_epoch_end(self, epoch, logs=None):
        # Tracing would hide what the others wait for.
        steps = self._steps if self._traced else self._steps[1:] or self._steps
        self._traced = True
        if logs is not None:
            # An epoch that is gone on with may have had all its steps.
            waited, lasted = map(sum, zip(*steps or [(0.0, 1.0)]))
            logs[self.name] = waited / lasted
