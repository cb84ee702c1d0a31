"""Tells how long training waits for its data."""

import collections
import time

import keras
import numpy as np


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

    `tfcap.training.fit()` watches its own data; `keras.Model.fit()` is given
    what `watch()` returns.

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
    ...     wait.watch(dataset.repeat(3)),
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
        self._arrived = collections.deque()

    def watch(self, dataset):
        """The same data set, the batches of which are seen to arrive.

        Args:
            dataset: `tf.data.Dataset`.

        Returns:
            `tf.data.Dataset`, for one `fit()`.
        """
        import tensorflow as tf

        arrived = self._arrived

        # TensorFlow keeps it until Python ends: not so the model.
        def arrive():
            arrived.append(time.perf_counter())
            return np.int32(0)

        def see(*batch):
            seen = tf.numpy_function(arrive, [], tf.int32, stateful=True)
            with tf.control_dependencies([seen]):
                batch = tf.nest.map_structure(tf.identity, batch)
            return batch if parted else batch[0]

        # What `map()` hands over in parts.
        parted = type(dataset.element_spec) is tuple
        return dataset.map(see)

    def on_train_begin(self, logs=None):
        self._arrived.clear()
        self._traced = False

    def on_epoch_begin(self, epoch, logs=None):
        self._steps, self._ended = [], None

    def on_train_batch_begin(self, batch, logs=None):
        self._begun = time.perf_counter()

    def on_train_batch_end(self, batch, logs=None):
        if not self._arrived:
            raise ValueError(
                "`DataWait` must watch the data. Received: a data set that it "
                "does not know. Train on `callback.watch(dataset)`, or by "
                "`tfcap.training.fit()`."
            )
        many = min(self.model.steps_per_execution, len(self._arrived))
        there = [self._arrived.popleft() for _ in range(many)][-1]
        # From end to end: a step may return before a device is done with it.
        now, before = time.perf_counter(), self._ended or self._begun
        self._steps.append((max(there - self._begun, 0.0), now - before))
        self._ended = now

    def on_epoch_end(self, epoch, logs=None):
        # Tracing would hide what the others wait for.
        steps = self._steps if self._traced else self._steps[1:] or self._steps
        self._traced = True
        if logs is not None:
            # An epoch that is gone on with may have had all its steps.
            waited, lasted = map(sum, zip(*steps or [(0.0, 1.0)]))
            logs[self.name] = waited / lasted
