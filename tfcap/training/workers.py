"""Training on several processes or machines.

They all run the same program. Under the scope of their strategy, they create
variables and train models together, so that each must reach the same calls in
the same order; `from_chief()` lets the chief decide by what it has on disk.
"""

import hashlib
import io
import json
import os

import numpy as np
import tensorflow as tf

_POLICY = tf.data.experimental.AutoShardPolicy


class MultiWorkerStrategy(tf.distribute.MultiWorkerMirroredStrategy):
    """`tf.distribute.MultiWorkerMirroredStrategy` for Keras 3.

    Keras needs two means that TensorFlow's strategy of several workers does
    not compute: of a whole batch, a nest of tensors, to build a model, and of
    a scalar to log, along an axis. Without them `fit()` fails. `reduce()`
    computes both here; Keras is unchanged.

    All workers get the same data set of global batches, and each reads its
    rows of every batch. A data set that differs between workers, such as by
    its shuffling, is rejected, since it would repeat some examples and leave
    out others. The last batch, too, must have a row for every replica. A data
    set with an `auto_shard_policy` other than `AUTO` and `DATA` is not
    changed.

    Make it before anything else of TensorFlow, with `TF_CONFIG` in the
    environment; `tfcap.training.open_strategy()` does.

    Args:
        cluster_resolver: As TensorFlow's. Defaults to `None`, one that reads
            `TF_CONFIG`.
        communication_options: As TensorFlow's.

    Example:

    >>> strategy = tfcap.training.MultiWorkerStrategy()
    >>> strategy.num_replicas_in_sync
    1
    """

    def reduce(self, reduce_op, value, axis):
        if tf.nest.is_nested(value):
            # A batch, of which the shapes are wanted. Its parts may differ in
            # number of rows, and then have no mean.
            return tf.nest.map_structure(self._local, value)
        if axis is not None and self._local(value).shape.rank == 0:
            axis = None
        return super().reduce(reduce_op, value, axis)

    def experimental_distribute_dataset(self, dataset, options=None):
        policy = dataset.options().experimental_distribute.auto_shard_policy
        if policy == _POLICY.AUTO:
            # It would try to share out files, of which some may be longer.
            policy, changed = _POLICY.DATA, tf.data.Options()
            changed.experimental_distribute.auto_shard_policy = policy
            dataset = dataset.with_options(changed)
        if policy == _POLICY.DATA:
            self._check_same(dataset)
        return super().experimental_distribute_dataset(dataset, options)

    def share(self, array):
        """Returns the arrays of all workers, concatenated.

        Args:
            array: 1-D NumPy array of 8-bit integers, of any length.

        Returns:
            1-D NumPy array.
        """

        def part(context):
            first = context.replica_id_in_sync_group % len(local) == 0
            return tf.constant(array if first else array[:0], tf.int32)

        local = self.extended.worker_devices
        parts = self.experimental_distribute_values_from_function(part)
        return self.gather(parts, axis=0).numpy().astype(np.uint8)

    def _local(self, value):
        """Returns the value of the first replica of this worker."""
        return self.experimental_local_results(value)[0]

    def _check_same(self, dataset):
        """Rejects a data set that differs between workers."""
        marks = self.share(np.frombuffer(_mark(dataset), np.uint8))
        marks = marks.reshape(-1, hashlib.sha256().digest_size)
        if (marks != marks[0]).any():
            raise ValueError(
                "`dataset` must be the same on all workers: each reads its "
                "rows of every batch. Received: one whose number of batches "
                "or first batch differs from that of another worker. Read "
                "the same files everywhere, in the same order, and shuffle "
                "with the same `seed`; for arrays that `fit()` shuffles, call "
                "`keras.utils.set_random_seed()` first."
            )


def open_strategy():
    """Returns the `tf.distribute.Strategy` for the devices and environment.

    With `TF_CONFIG`, as `python -m tfcap.launch` sets it,
    `tfcap.training.MultiWorkerStrategy`; otherwise a strategy of all GPUs, or
    of the single device. Models are built under its `scope()`, and batches are
    global: more devices train the same model faster. Call it before anything
    else of TensorFlow.

    With `TF_CONFIG`, TensorFlow opens a server without authentication: anyone
    who reaches its port reads and writes files as this user. The launcher
    hides it in a network namespace, or warns if it cannot; in a job that sets
    `TF_CONFIG` itself, close the port to all except the workers.

    Returns:
        `tf.distribute.Strategy`.

    Example:

    >>> with tfcap.training.open_strategy().scope():
    ...     network = keras.Sequential([keras.layers.Dense(2)])
    """
    if os.environ.get("TF_CONFIG"):
        return MultiWorkerStrategy()
    if len(tf.config.list_logical_devices("GPU")) > 1:
        return tf.distribute.MirroredStrategy()
    return tf.distribute.get_strategy()


def is_chief(model=None):
    """Returns whether this process is the chief, which writes files.

    Args:
        model: `keras.Model` that the workers train. Defaults to `None`: the
            workers are those of the scope.

    Returns:
        Boolean, `True` without several workers.

    Example:

    >>> tfcap.training.is_chief()
    True
    """
    return _strategy(model).extended.should_save_summary


def from_chief(value, model=None):
    """Broadcasts a value from the chief to all workers.

    All workers must call it; each waits for the others.

    Args:
        value: NumPy array, or a value that JSON can hold.
        model: As in `is_chief()`.

    Returns:
        The chief's value, as decoded by JSON; `value` itself without several
        workers.

    Example:

    >>> tfcap.training.from_chief({"epoch": 3})
    {'epoch': 3}
    """
    strategy = of_workers(model)
    if strategy is None:
        return value
    content = _packed(value) if is_chief(model) else b""
    shared = strategy.share(np.frombuffer(content, np.uint8))
    array = np.load(io.BytesIO(shared.tobytes()), allow_pickle=False)
    return json.loads(str(array[0])) if array.dtype.kind == "U" else array


def from_all(array, model=None) -> np.ndarray:
    """Returns the arrays of all workers, concatenated on the first axis.

    All workers must call it; each waits for the others.

    Args:
        array: NumPy array of numbers, of the same dtype and shape for all.

    Example:

    >>> from tfcap.training.workers import from_all
    >>> from_all(np.array([3]))
    array([3])
    """
    strategy = of_workers(model)
    if strategy is None:
        return array
    content = np.frombuffer(array.tobytes(), np.uint8)
    shared = strategy.share(content).tobytes()
    shape = (-1, *array.shape[1:])
    return np.frombuffer(shared, array.dtype).reshape(shape)


def worker_index(model=None) -> int:
    """Returns the number of this worker from 0, as `from_all()` orders them."""
    strategy = of_workers(model)
    return 0 if strategy is None else strategy.cluster_resolver.task_id


def _strategy(model=None):
    """Returns the strategy of a model, or of the scope."""
    own = getattr(model, "distribute_strategy", None)
    return own or tf.distribute.get_strategy()


def of_workers(model=None) -> MultiWorkerStrategy | None:
    """Returns the strategy of a model or the scope, if it has several workers.

    Example:

    >>> from tfcap.training.workers import of_workers
    >>> of_workers() is None
    True
    """
    strategy = _strategy(model)
    return strategy if isinstance(strategy, MultiWorkerStrategy) else None


def _packed(value):
    """Encodes an array, or JSON, as bytes."""
    if not isinstance(value, np.ndarray):
        value = np.array([json.dumps(value)])
    file = io.BytesIO()
    np.save(file, value, allow_pickle=False)
    return file.getvalue()


def _mark(dataset):
    """Returns a hash of a data set's length and first batch."""
    mark = hashlib.sha256(dataset.cardinality().numpy().tobytes())
    for batch in dataset.take(1):
        for part in tf.nest.flatten(batch, expand_composites=True):
            mark.update(tf.io.serialize_tensor(part).numpy())
    return mark.digest()
