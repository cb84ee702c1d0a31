"""Batches of your own data, functions of the step or the epoch."""

import functools
import itertools

import numpy as np

from tfcap._printed import printed
from tfcap.data.step_pipeline import StepBatches
from tfcap.data.step_pipeline import check_batch_size
from tfcap.data.step_pipeline import resumable
from tfcap.data.step_pipeline import stream_pipeline

#: Batches of an epoch that are compared with a second call's.
_COMPARED = 4


class DatasetBatches(StepBatches):
    """Feeds batches that are a function of the global step.

    A run with `tfcap.training.Resume` begins at any step, without reading the
    batches before:

    ```
    batches = tfcap.data.DatasetBatches.from_arrays(arrays, batch_size=50)
    training.fit(
        batches.dataset(epochs=10),
        epochs=10,
        steps_per_epoch=batches.steps_per_epoch,
        callbacks=[tfcap.training.Resume("runs/mine")],
    )
    ```

    Args:
        batch: Function from a global step, an integer, to a nest of NumPy
            arrays whose first axis is the batch. It draws from
            `np.random.default_rng([seed, step])` or the like.
        steps_per_epoch: Integer.
        fixed: Boolean, whether all batches have the same size. Defaults to
            `True`.

    Example:

    >>> arrays = {"x": np.arange(5)}
    >>> batches = tfcap.data.DatasetBatches.from_arrays(arrays, batch_size=2)
    >>> whole = [batch["x"].numpy().tolist() for batch in batches.dataset(2)]
    >>> rest = batches.dataset(2, start_step=4)
    >>> [batch["x"].numpy().tolist() for batch in rest] == whole[4:]
    True
    """

    def __init__(self, batch, steps_per_epoch, fixed=True):
        self.batch = batch
        self.steps_per_epoch = steps_per_epoch
        self.fixed = fixed

    @classmethod
    def from_arrays(cls, arrays, batch_size=32, seed=0, shuffle=True):
        """Makes batches of the rows of arrays, in another order each epoch.

        The last batch of an epoch may be smaller.

        Args:
            arrays: Array, or nest of dicts, tuples and lists of arrays, with
                equal numbers of rows.
            batch_size: Integer. Defaults to `32`.
            seed: Integer, of the order. Defaults to `0`.
            shuffle: Boolean. Defaults to `True`.

        Returns:
            `DatasetBatches`.

        Raises:
            ValueError: If the arrays differ in their rows, or `batch_size` is
                not positive.
        """
        sizes = []
        arrays = _mapped(np.asarray, arrays)
        _mapped(lambda array: sizes.append(len(array)), arrays)
        if not sizes or min(sizes) != max(sizes):
            raise ValueError(
                "`arrays` must have equal numbers of rows. Received: arrays "
                f"of {sizes} rows."
            )
        total = sizes[0]
        check_batch_size(batch_size)

        steps = -(-total // batch_size)

        @functools.lru_cache(maxsize=2)
        def order(epoch):
            if not shuffle:
                return np.arange(total)
            return np.random.default_rng([seed, epoch]).permutation(total)

        def batch(step):
            epoch, index = divmod(int(step), steps)
            rows = order(epoch)[index * batch_size : (index + 1) * batch_size]
            return _mapped(lambda array: array[rows], arrays)

        return cls(batch, steps, total % batch_size == 0)


class Epochs:
    """Feeds any data set of one epoch, resumable at any step.

    A function makes the data of any epoch, so that a run begins at any epoch,
    and reads forward within it:

    ```
    batches = tfcap.data.Epochs(
        lambda epoch: rows.shuffle(1000, seed=epoch).batch(50)
    )
    ```

    Args:
        make: Function from the number of an epoch to its batches: a
            `tf.data.Dataset`, a `keras.utils.PyDataset`, a generator, a
            PyTorch `DataLoader` or another iterable. It must return the same
            batches of an epoch at every call: shuffle with `seed=epoch`. The
            order of `tf.data` also depends on the seed of
            `keras.utils.set_random_seed()`.
        steps_per_epoch: Integer, number of batches to read of an epoch.
            Defaults to `None`, the length of the data.

    Raises:
        ValueError: If the length is unknown, if an epoch has fewer batches, or
            if a second call returns other batches.

    Example:

    >>> import tensorflow as tf
    >>> rows = tf.data.Dataset.range(6)
    >>> batches = tfcap.data.Epochs(
    ...     lambda epoch: rows.shuffle(6, seed=epoch).batch(2)
    ... )
    >>> whole = [x.tolist() for x in batches.dataset(2).as_numpy_iterator()]
    >>> rest = batches.dataset(2, start_step=4).as_numpy_iterator()
    >>> [x.tolist() for x in rest] == whole[4:]
    True
    """

    __repr__ = printed

    def __init__(self, make, steps_per_epoch=None):
        self.make = make
        known = _length(make(0))
        if steps_per_epoch is None and known is None:
            raise ValueError(
                "`steps_per_epoch` must be given for data of unknown length. "
                f"Received: make(0)={make(0)}. Count its batches."
            )
        self.steps_per_epoch = steps_per_epoch or known
        first, again = (
            list(itertools.islice(self._epoch(0), _COMPARED)) for _ in range(2)
        )
        self._first = first[0]
        _check_same(first, again)

    def dataset(self, epochs=1, start_step=0):
        """Returns training batches, as `DatasetBatches.dataset()`."""
        first, done = divmod(start_step, self.steps_per_epoch)
        count = epochs * self.steps_per_epoch - start_step

        def batches():
            # An order of its own in each epoch: sizes may change, too.
            for epoch in range(first, epochs):
                yield from self._epoch(epoch, done if epoch == first else 0)

        return resumable(
            stream_pipeline(batches, count, self._first),
            self.steps_per_epoch,
            lambda count: self.dataset(epochs, start_step + count),
        )

    def _epoch(self, epoch, skipped=0):
        """Yields the batches of an epoch as NumPy arrays."""
        data, steps = self.make(epoch), self.steps_per_epoch
        if hasattr(data, "element_spec"):
            left = data.skip(skipped).take(steps - skipped)
        elif hasattr(data, "__getitem__") and _length(data):
            # A `PyDataset` has no end, and is read by its numbers.
            left = (data[i] for i in range(skipped, min(steps, _length(data))))
        else:
            left = itertools.islice(data, skipped, steps)
        number = skipped
        for batch in left:
            number += 1
            yield _mapped(np.asarray, batch)
        if number < steps:
            raise ValueError(
                "`make` must return `steps_per_epoch` batches of every epoch. "
                f"Received: {number} batches of epoch {epoch}, and "
                f"steps_per_epoch={steps}."
            )


def _length(data):
    """Returns the number of batches, `None` if it is unknown."""
    if hasattr(data, "cardinality"):
        known = int(data.cardinality())
        return known if known >= 0 else None
    return len(data) if hasattr(data, "__len__") else None


def _mapped(function, nest):
    """Maps a function over a nest of arrays; lists become tuples."""
    if isinstance(nest, dict):
        return {key: _mapped(function, part) for key, part in nest.items()}
    if isinstance(nest, list | tuple):
        return tuple(_mapped(function, part) for part in nest)
    return function(nest)


def _check_same(first, again):
    """Rejects batches that differ between two calls."""

    def content(batches):
        parts = []
        _mapped(lambda array: parts.append(array.tobytes()), batches)
        return parts

    if content(first) != content(again):
        raise ValueError(
            "`make` must return the same batches of an epoch at every call. "
            "Received: a function whose epoch 0 differs between two calls. "
            "Shuffle with `seed=epoch`, and draw with a generator seeded by "
            "the epoch."
        )
