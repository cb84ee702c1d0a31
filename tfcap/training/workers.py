"""Several processes, or machines, that train as one.

They all run the same program. Under the scope of their strategy, variables are
made and models trained by all of them together, so that each must come to the
same points in the same order; `from_chief()` lets one of them decide where
what is on disk decides.
"""

import io
import json
import os
import sys

import numpy as np


def open_strategy():
    """The `tf.distribute.Strategy` that the environment asks for.

    With `TF_CONFIG`, as `python -m tfcap.launch` sets it,
    `tfcap.training.MultiWorkerStrategy`; otherwise that of all GPUs that there
    are, and of the one device where there are not several. Models are built
    under its `scope()`, and batches are global: more devices train the same
    model faster. Call it before anything else of TensorFlow.

    With `TF_CONFIG` TensorFlow opens a server that asks nobody who they are:
    whoever reaches its port reads and writes files as this user. The launcher
    hides it in a network namespace, or says that it does not; in a job that
    sets `TF_CONFIG` itself, close the port to all but the workers.

    Returns:
        `tf.distribute.Strategy`.

    Example:

    >>> with tfcap.training.open_strategy().scope():
    ...     network = keras.Sequential([keras.layers.Dense(2)])
    """
    import tensorflow as tf

    from tfcap.training.multi_worker_strategy import MultiWorkerStrategy

    if os.environ.get("TF_CONFIG"):
        return MultiWorkerStrategy()
    if len(tf.config.list_logical_devices("GPU")) > 1:
        return tf.distribute.MirroredStrategy()
    return tf.distribute.get_strategy()


def is_chief(model=None):
    """Check whether this process writes what all workers have found.

    Args:
        model: `keras.Model` that the workers train. Defaults to `None`: the
            workers are those of the scope.

    Returns:
        Boolean, `True` where there are not several workers.

    Example:

    >>> tfcap.training.is_chief()
    True
    """
    strategy = _strategy(model)
    return strategy is None or strategy.extended.should_save_summary


def from_chief(value, model=None):
    """Broadcasts what the chief says to all workers.

    All workers must call it; each waits for the others.

    Args:
        value: NumPy array, or anything that JSON can hold. That of the chief
            counts.
        model: As that of `is_chief()`.

    Returns:
        The chief's value, as JSON gives it back; `value` itself where there
        are not several workers.

    Example:

    >>> tfcap.training.from_chief({"epoch": 3})
    {'epoch': 3}
    """
    strategy = _of_workers(model)
    if strategy is None:
        return value
    content = _packed(value) if is_chief(model) else b""
    shared = strategy.share(np.frombuffer(content, np.uint8))
    array = np.load(io.BytesIO(shared.tobytes()), allow_pickle=False)
    return json.loads(str(array[0])) if array.dtype.kind == "U" else array


def from_all(array, model=None) -> np.ndarray:
    """Arrays of all workers, one after the other along their first axis.

    All workers must call it; each waits for the others.

    Args:
        array: NumPy array of numbers, of the same dtype and shape for all.

    Example:

    >>> from tfcap.training.workers import from_all
    >>> from_all(np.array([3]))
    array([3])
    """
    strategy = _of_workers(model)
    if strategy is None:
        return array
    content = np.frombuffer(array.tobytes(), np.uint8)
    shared = strategy.share(content).tobytes()
    shape = (-1, *array.shape[1:])
    return np.frombuffer(shared, array.dtype).reshape(shape)


def worker_index(model=None) -> int:
    """Number of this worker among all, from 0, as `from_all()` counts them."""
    strategy = _of_workers(model)
    return 0 if strategy is None else strategy.cluster_resolver.task_id


def several_workers(model=None) -> bool:
    """Check whether a strategy of several workers is in scope.

    Args:
        model: `keras.Model` whose strategy is asked for. Defaults to `None`,
            that of the scope.

    Returns:
        Boolean.

    Example:

    >>> from tfcap.training.workers import several_workers
    >>> several_workers()
    False
    """
    return _of_workers(model) is not None


def _strategy(model=None):
    """The strategy of a model, or of the scope."""
    if "tensorflow" not in sys.modules:
        # A sweep may be of other things than networks.
        return None
    import tensorflow as tf

    strategy = getattr(model, "distribute_strategy", None)
    return strategy or tf.distribute.get_strategy()


def _of_workers(model=None):
    """The strategy, if it is one of several workers, or `None`."""
    strategy = _strategy(model)
    if strategy is None:
        return None
    from tfcap.training.multi_worker_strategy import MultiWorkerStrategy

    return strategy if isinstance(strategy, MultiWorkerStrategy) else None


def _packed(value):
    """An array, or JSON in an array of one string, as bytes."""
    if not isinstance(value, np.ndarray):
        value = np.array([json.dumps(value)])
    file = io.BytesIO()
    np.save(file, value, allow_pickle=False)
    return file.getvalue()
