"""Features of shuffled windows, read ahead in the order of their file."""

import collections
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from tfcap.data.feature_rows import stored_features

#: Windows in memory: that of the last steps, of this one, and the next.
_KEPT = 3


class WindowReader:
    """Reads features a window at a time, while batches of the last are used.

    One thread reads: the head of a disk goes through a window once, from the
    first of its rows to the last. Batches may be asked for in any order; a
    window that is not there is read then.

    Args:
        features: What comes from a `load_features(lazy=True)`, see
            `tfcap.data.feature_rows.stored_features()`.
        order: Function from an epoch to its order, an integer array, and an
            integer array with the number of batches up to the end of each
            window.
        batch_size: Integer, B.
        rows_of: Function from a part of the order to the rows of `features`.
            Defaults to `None`, the order is one of rows.

    Example:

    >>> import os, tempfile
    >>> from tfcap.data.window_reader import WindowReader
    >>> path = os.path.join(tempfile.mkdtemp(), "features.h5")
    >>> with tfcap.data.FeatureWriter(path, range(4), (1, 1), 1) as writer:
    ...     writer.write(np.arange(4), np.arange(4.0)[:, None, None])
    >>> features = tfcap.data.load_features(path, lazy=True)
    >>> order = np.array([3, 0, 1, 2]), np.array([1, 2])
    >>> reader = WindowReader(features, lambda epoch: order, batch_size=2)
    >>> reader.batch(0, 1).ravel()
    array([1., 2.], dtype=float32)
    """

    def __init__(self, features, order, batch_size, rows_of=None):
        self.features = features
        self.order = order
        self.batch_size = batch_size
        self.rows_of = rows_of or (lambda drawn: drawn)
        self._places = stored_features(features).stored_rows
        self._lock = threading.Lock()
        self._thread = ThreadPoolExecutor(1, "feature-window")
        self._read = collections.OrderedDict()

    def batch(self, epoch, place):
        """Features of one batch.

        Args:
            epoch: Integer.
            place: Integer, number of the batch in the epoch.

        Returns:
            Float32 array of shape `(B, P, D)`.
        """
        places, values = self._window(epoch, place)
        rows = self._rows(epoch, place, place + 1)
        chosen = np.searchsorted(places, self._places[rows])
        return np.asarray(values[chosen], np.float32)

    def draw(self, epoch, place, number, rng):
        """Features of images that are drawn from the window of a batch.

        Args:
            epoch, place: As those of `batch()`.
            number: Integer, how many, all different.
            rng: NumPy random generator.

        Returns:
            Float32 array of shape `(number, P, D)`; None if the window has
            not so many.
        """
        places, values = self._window(epoch, place)
        if number > len(places):
            return None
        chosen = rng.choice(len(places), number, replace=False, shuffle=False)
        return np.asarray(values[chosen], np.float32)

    def _window(self, epoch, place):
        """Places in the file and features of the window of a batch."""
        _, ends = self.order(epoch)
        window = int(np.searchsorted(ends, place, side="right"))
        last = window + 1 == len(ends)
        following = (epoch + 1, 0) if last else (epoch, window + 1)
        with self._lock:
            wanted = self._ask((epoch, window))
            self._ask(following)
            while len(self._read) > _KEPT:
                self._read.popitem(last=False)
        return wanted.result()

    def _ask(self, key):
        """The future of a window, which is the last to be forgotten."""
        found = self._read.pop(key, None)
        if found is None or found.done() and found.exception():
            found = self._thread.submit(self._load, *key)
        self._read[key] = found
        return found

    def _load(self, epoch, window):
        _, ends = self.order(epoch)
        begin = ends[window - 1] if window else 0
        rows = self._rows(epoch, begin, ends[window])
        places, first = np.unique(self._places[rows], return_index=True)
        return places, self.features[rows[first]]

    def _rows(self, epoch, begin, end):
        """Rows of the batches from one number to another."""
        order, _ = self.order(epoch)
        size = self.batch_size
        return self.rows_of(order[begin * size : end * size])


def window_reader(features, window, order, batch_size, rows_of=None):
    """A `WindowReader`, where windows are shuffled and read from a file.

    Args:
        features, order, batch_size, rows_of: As those of `WindowReader`.
        window: Integer, images in a window, or `None`.

    Returns:
        `WindowReader`, or `None`.
    """
    if window is None or stored_features(features) is None:
        return None
    return WindowReader(features, order, batch_size, rows_of)
