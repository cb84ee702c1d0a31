"""Training on several processes or machines.

They all run the same program. Under the scope of their strategy, they create
variables and train models together, so that each must reach the same calls in
the same order; `from_chief()` lets the chief decide by what it has on disk.
"""

import io
import json

import numpy as np

from tfcap.training.backends import backend


def open_strategy(cluster_resolver=None):
    """Returns the strategy for the devices and the environment.

    On TensorFlow, with `TF_CONFIG` as `python -m tfcap.launch` sets it, or
    with a resolver, a `tf.distribute.MultiWorkerMirroredStrategy` that Keras 3
    can train under; otherwise the strategy of all GPUs, and of the one device
    where there are not several. On JAX, a `keras.distribution.DataParallel` of
    all devices. Models are built under its `scope()`, and batches are global:
    more devices train the same model faster. Call it before anything else of
    TensorFlow.

    With `TF_CONFIG` TensorFlow opens a server that authenticates nobody:
    whoever reaches its port reads and writes files as this user. The launcher
    hides it in a network namespace, or says that it does not; in a job that
    sets `TF_CONFIG` itself, close the port to all but the workers.

    Args:
        cluster_resolver: `tf.distribute.cluster_resolver.ClusterResolver` of
            several workers. Defaults to `None`, one that reads `TF_CONFIG`.

    Returns:
        `tf.distribute.Strategy`, or `keras.distribution.DataParallel`.

    Example:

    >>> with tfcap.training.open_strategy().scope():
    ...     network = keras.Sequential([keras.layers.Dense(2)])
    """
    given = () if cluster_resolver is None else (cluster_resolver,)
    return backend.open_strategy(*given)


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
    strategy = of_workers(model)
    return strategy is None or strategy.extended.should_save_summary


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


def of_workers(model=None):
    """The strategy of a model or of the scope, if it is of several workers.

    Example:

    >>> from tfcap.training.workers import of_workers
    >>> of_workers() is None
    True
    """
    strategy = backend.strategy_of(model)
    return strategy if hasattr(strategy, "share") else None


def _packed(value):
    """Encodes an array, or JSON, as bytes."""
    if not isinstance(value, np.ndarray):
        value = np.array([json.dumps(value)])
    file = io.BytesIO()
    np.save(file, value, allow_pickle=False)
    return file.getvalue()
