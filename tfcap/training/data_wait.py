"""Tells how long training waits for its data."""

import collections
import time

import keras
import numpy as np


class DataWait(keras.callbacks.Callback):
    """Logs the share of the time that steps spend waiting for their batch.

    ```
    data_wait = sum over steps of max(0, batch there - step begun)
                / sum over steps of (step ended - step begun)
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
        self._watched = False

    def watch(self, dataset):
        """The same data set, the batches of which are seen to arrive.

        Args:
            dataset: `tf.data.Dataset`.

        Returns:
            `tf.data.Dataset`, for one `fit()`.
        """
        import tensorflow as tf

        self._watched = True

        def arrive():
            self._arrived.append(time.perf_counter())
            return np.int32(0)

        def see(*batch):
            seen = tf.numpy_function(arrive, [], tf.int32, stateful=True)
            with tf.control_dependencies([seen]):
                batch = tf.nest.map_structure(tf.identity, batch)
            return batch if len(batch) > 1 else batch[0]

        return dataset.map(see)

    def on_train_begin(self, logs=None):
        if not self._watched:
            raise ValueError(
                "`DataWait` must watch the data. Received: a data set that it "
                "does not know. Train on `callback.watch(dataset)`, or by "
                "`tfcap.training.fit()`."
            )
        self._arrived.clear()
        self._traced = False

    def on_epoch_begin(self, epoch, logs=None):
        self._waited = self._lasted = 0.0

    def on_train_batch_begin(self, batch, logs=None):
        self._begun = time.perf_counter()

    def on_train_batch_end(self, batch, logs=None):
        there = self._begun
        for _ in range(self.model.steps_per_execution):
            there = self._arrived.popleft() if self._arrived else there
        if self._traced:
            self._waited += max(there - self._begun, 0.0)
            self._lasted += time.perf_counter() - self._begun
        self._traced = True

    def on_epoch_end(self, epoch, logs=None):
        if logs is not None and self._lasted:
            logs[self.name] = self._waited / self._lasted
