"""Batches for `fit()` where Keras runs on another backend than TensorFlow."""

import collections
import weakref
from concurrent.futures import ThreadPoolExecutor

import keras


class OrderedBatches(keras.utils.PyDataset):
    """Feeds batches in their order, which a thread computes a few steps ahead.

    Args:
        read: Function without arguments that returns an iterator of all
            batches, nests of NumPy arrays.
        count: Integer, their number.

    Attributes:
        num_batches: Integer, their number; or `None`, with which Keras reads
            on where they begin anew.

    Example:

    >>> from tfcap.data.ordered_batches import OrderedBatches
    >>> batches = OrderedBatches(lambda: iter("abc"), 3)
    >>> [*batches], batches[0], batches[1]
    (['a', 'b', 'c'], 'a', 'b')
    """

    num_batches, _next = None, 0

    def __init__(self, read, count):
        super().__init__()
        self.read = read
        self.num_batches = self._count = count

    def __len__(self):
        return self._count

    def __iter__(self):
        pool = ThreadPoolExecutor(1)
        batches = _ahead(self.read(), pool)
        # Not waited for: it may be this thread that lets go of the iterator.
        weakref.finalize(
            batches, pool.shutdown, wait=False, cancel_futures=True
        )
        return batches

    def __getitem__(self, index):
        index %= self._count
        if index == 0:
            self._batches, self._next = iter(self), 0
        if index != self._next:
            raise ValueError(
                f"Batches must be read in their order. Received: {index} is "
                f"asked for, {self._next} is next. Call `fit()` with "
                "`shuffle=False`: the data set has shuffled them."
            )
        self._next += 1
        return next(self._batches)


def _ahead(batches, pool, count=4):
    """Yields what an iterator has, read by a thread of its own."""
    end = object()
    waiting = collections.deque(
        pool.submit(next, batches, end) for _ in range(count)
    )
    while (batch := waiting.popleft().result()) is not end:
        waiting.append(pool.submit(next, batches, end))
        yield batch
