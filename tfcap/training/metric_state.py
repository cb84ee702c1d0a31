"""Metrics in the midst of an epoch: read and set, on every replica."""

import numpy as np

from tfcap.training.workers import from_all
from tfcap.training.workers import from_chief
from tfcap.training.workers import worker_index


def metric_arrays(model) -> list[np.ndarray]:
    """Sums of the metrics of a model so far, by replica.

    Every replica has sums of its own, and adds to them in its own order: the
    sum over replicas would not go on in the same last bits. All of several
    workers must call it.
    """
    return [
        from_all(np.stack([part.numpy() for part in parts]), model)
        for parts in _parts(model)
    ]


def set_metric_arrays(model, arrays):
    """Sets the metrics of a model to what `metric_arrays()` gave.

    With another number of replicas than then, the first one goes on with the
    sums of all. All of several workers must call it.

    Raises:
        ValueError: If the model has other metrics.
    """
    parts = _parts(model)
    shapes = from_chief([list(np.shape(array)) for array in arrays], model)
    own = [list(values[0].shape) for values in parts]
    if [shape[1:] for shape in shapes] != own:
        raise ValueError(
            "`model` must be compiled with the metrics of its checkpoint, "
            "which is of the midst of an epoch. Received: metrics with "
            f"variables of shapes {own}, and {[s[1:] for s in shapes]} in the "
            "checkpoint. Compile it as it was."
        )
    for index, values in enumerate(parts):
        array = arrays[index] if index < len(arrays) else None
        array = _shared_out(from_chief(array, model), model)
        first = worker_index(model) * len(values)
        for part, value in zip(values, array[first:]):
            part.assign(value)


def _parts(model):
    """Variables of the metrics, each as those of this worker's replicas."""
    strategy = model.distribute_strategy
    return [
        strategy.experimental_local_results(variable.value)
        for variable in model.metrics_variables
    ]


def _shared_out(array, model):
    """The sums for as many replicas as there are."""
    count = model.distribute_strategy.num_replicas_in_sync
    if len(array) == count:
        return array
    shared = np.zeros((count, *array.shape[1:]), array.dtype)
    shared[0] = array.sum(axis=0)
    return shared
