"""Shuffling within windows of a feature file, which are read ahead.

A spinning disk moves its head for every image of a batch that is drawn from
all of a file. Here a window is made of blocks of neighbors, and images are
shuffled within it, so that it is read ahead, in the order of the file, in a
few long reads.
"""

import collections
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from tfcap.data.mapped_features import is_large
from tfcap.data.mapped_features import stored_bytes
from tfcap.data.mapped_features import stored_features

#: Windows in memory: that of the last steps, of this one, and the next.
_KEPT = 3
#: Neighbors in the file that come into one window.
_BLOCK = 32
#: Bytes of features in a window by default.
_WINDOW_BYTES = 2**28
_AUTO = "auto"


class WindowReader:
    """Reads features a window at a time, while batches of the last are used.

    One thread reads: the head of a disk goes through a window once, from the
    first of its rows to the last. Batches may be asked for in any order; a
    window that is not there is read then.

    Args:
        features: What comes from a `load_features(lazy=True)`, see
            `tfcap.data.mapped_features.stored_features()`.
        order: Function from an epoch to its order, an integer array, and an
            integer array with the number of batches up to the end of each
            window.
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

    def __init__(
        self,
        features,
        order: Callable,
        batch_size: int,
        rows_of: Callable | None = None,
    ):
        self.features = features
        self.order = order
        self.batch_size = batch_size
        self.rows_of = rows_of or (lambda drawn: drawn)
        self._positions = stored_features(features).stored_rows
        self._lock = threading.Lock()
        self._thread = ThreadPoolExecutor(1, "feature-window")
        self._read = collections.OrderedDict()

    def batch(self, epoch: int, index: int) -> NDArray:
        """Features of one batch.

        Returns:
            Float32 array of shape `(B, P, D)`.
        """
        positions, _, values = self._window(epoch, index)
        rows = self._rows(epoch, index, index + 1)
        chosen = np.searchsorted(positions, self._positions[rows])
        return np.asarray(values[chosen], np.float32)

    def draw(
        self, epoch, index, number: int, rng: np.random.Generator
    ) -> tuple[NDArray, NDArray] | None:
        """Images that are drawn from the window of a batch.

        Returns:
            Pair: their rows `(number,)`, and their features, float32
            `(number, P, D)`; None if the window has not so many.
        """
        _, rows, values = self._window(epoch, index)
        if number > len(rows):
            return None
        chosen = rng.choice(len(rows), number, replace=False, shuffle=False)
        return rows[chosen], np.asarray(values[chosen], np.float32)

    def _window(self, epoch, index):
        """Places in the file, rows and features of the window of a batch."""
        _, ends = self.order(epoch)
        window = int(np.searchsorted(ends, index, side="right"))
        last = window + 1 == len(ends)
        following = (epoch + 1, 0) if last else (epoch, window + 1)
        with self._lock:
            future = self._ask((epoch, window))
            self._ask(following)
            while len(self._read) > _KEPT:
                self._read.popitem(last=False)
        return future.result()

    def _ask(self, key):
        """The future of a window, which is the last to be forgotten."""
        future = self._read.pop(key, None)
        if future is None or future.done() and future.exception():
            future = self._thread.submit(self._load, *key)
        self._read[key] = future
        return future

    def _load(self, epoch, window):
        _, ends = self.order(epoch)
        begin = ends[window - 1] if window else 0
        rows = self._rows(epoch, begin, ends[window])
        positions, first = np.unique(self._positions[rows], return_index=True)
        return positions, rows[first], self.features[rows[first]]

    def _rows(self, epoch, begin, end):
        """Rows of the batches from one number to another."""
        order, _ = self.order(epoch)
        size = self.batch_size
        return self.rows_of(order[begin * size : end * size])


def window_reader(
    features, window: int | None, order, batch_size, rows_of=None
) -> WindowReader | None:
    """A `WindowReader`, where windows are shuffled and read from a file."""
    if window is None or stored_features(features) is None:
        return None
    return WindowReader(features, order, batch_size, rows_of)


def window_size(window, features, batch_size: int, most: int = 1) -> int | None:
    """Number of images that are shuffled together.

    Args:
        window: Integer, `None` for all images, or `"auto"`: all images, and of
            features in a file of more than 2 GiB as many as 256 MiB hold.
        most: Integer, batches that a window must have at least. Defaults to 1.

    Raises:
        ValueError: If it is too small, or none of the above.

    Example:

    >>> from tfcap.data.window_reader import window_size
    >>> window_size("auto", np.zeros((5, 1, 3)), 2), window_size(3, None, 2)
    (None, 4)
    """
    least = most * batch_size
    if window == _AUTO:
        if not is_large(features):
            return None
        window = max(least, _WINDOW_BYTES // stored_bytes(features))
    if window is None:
        return None
    whole = isinstance(window, int) and not isinstance(window, bool)
    if not whole or window < least:
        raise ValueError(
            f'`shuffle_window` must be an integer of at least {least}, "auto" '
            f"or None. Received: shuffle_window={window!r} with batch_size="
            f"{batch_size}. Windows hold whole batches, as many as an image "
            "has captions where these come apart."
        )
    return -(-window // batch_size) * batch_size


def draw_windows(
    positions: NDArray, window: int, rng: np.random.Generator
) -> list:
    """Parts images into windows of blocks of neighbors.

    Args:
        positions: Integer array of shape `(M,)`, where each image lies.

    Returns:
        List of integer arrays, the images of each window, shuffled. The last
        window is smaller where it has to be.

    Example:

    >>> from tfcap.data.window_reader import draw_windows
    >>> rng = np.random.default_rng(0)
    >>> windows = draw_windows(np.arange(100), 64, rng)
    >>> [len(window) for window in windows]
    [64, 36]
    """
    order = np.argsort(positions, kind="stable")
    # Blocks begin elsewhere in every epoch, and so part other neighbors.
    ends = range(int(rng.integers(1, _BLOCK + 1)), len(order), _BLOCK)
    blocks = np.split(order, ends)
    mixed = np.concatenate([blocks[i] for i in rng.permutation(len(blocks))])
    parts = np.split(mixed, range(window, len(mixed), window))
    return [rng.permutation(part) for part in parts]


def order_images(windows: list, batch_size: int):
    """Images of an epoch in the order of its windows.

    Returns:
        Integer array of images, and an integer array with the number of
        batches up to the end of each window.
    """
    return np.concatenate(windows), _ends(windows, batch_size)


def order_captions(
    windows: list, counts: NDArray, batch_size: int, rng: np.random.Generator
):
    """Captions of an epoch, those of an image within its window.

    No batch has an image twice, see `spread_captions()`. What a window leaves
    over goes into the next one.

    Args:
        counts: Integer array of shape `(M,)`, captions of each image.

    Returns:
        Integer array of caption numbers, image after image in `counts`, and an
        integer array with the number of batches up to the end of each window.
    """
    first = np.cumsum(counts) - counts
    image_of = np.repeat(np.arange(len(counts)), counts)
    # A small rest could not part the captions of its images.
    if len(windows) > 1 and len(windows[-1]) < len(windows[0]):
        windows = [*windows[:-2], np.concatenate(windows[-2:])]
    left, parts = np.zeros(0, np.int64), []
    for window in windows:
        new = [np.arange(first[i], first[i] + counts[i]) for i in window]
        numbers = np.concatenate([left, *new])
        begins = np.flatnonzero(np.diff(image_of[numbers], prepend=-1))
        sizes = np.diff([*begins, len(numbers)])
        drawn = spread_captions(sizes, batch_size, rng).reshape(-1)
        parts.append(numbers[drawn])
        left = np.delete(numbers, drawn)
    return np.concatenate(parts), _ends(parts, batch_size)


def _ends(parts, batch_size):
    """Batches up to the end of each part that has any."""
    ends = np.cumsum([len(part) for part in parts]) // batch_size
    return np.unique(ends[ends > 0])


def spread_captions(
    counts: NDArray, batch_size: int, rng: np.random.Generator
) -> NDArray:
    """Puts captions into batches, none of which has an image twice.

    A second caption of an image would be a negative of the first where a loss
    takes the batch's other captions for wrong ones. In a plain shuffle of
    Flickr8k each batch of 128 has about one such pair, and as it is nearly as
    good as the truth, it is what a hardest negative finds.

    Captions are dealt like cards, image after image in a random order, so
    that those of an image, which follow one another, go to as many batches.
    In each round of dealing every batch gets one caption; which batch gets
    which is drawn anew, so that two images that meet once need not meet
    again.

    Args:
        counts: Integer array of shape `(M,)`, captions of each image, each at
            most the number of batches.

    Returns:
        Integer array of shape `(sum(counts) // B, B)`: each row a batch of
        caption numbers. Captions are numbered image after image; those of
        the images that come last in the dealing are left over, up to B - 1.

    Example:

    >>> from tfcap.data.window_reader import spread_captions
    >>> rng = np.random.default_rng(0)
    >>> batches = spread_captions(np.array([2, 2, 2]), 3, rng)
    >>> np.sort(batches // 2)  # the images
    array([[0, 1, 2],
           [0, 1, 2]])
    """
    counts = np.asarray(counts)
    batches = int(counts.sum()) // batch_size
    number, image = _dealt(counts, rng)
    order = np.empty((batches, batch_size), np.int64)
    last, taken = -1, np.zeros(0, np.int64)
    for place in range(batch_size):
        part = slice(place * batches, (place + 1) * batches)
        # The image that the last round broke off in keeps to other batches.
        rest = np.count_nonzero(image[part] == last)
        free = rng.permutation(np.setdiff1d(np.arange(batches), taken))
        others = rng.permutation(np.concatenate([free[rest:], taken]))
        dealt_to = np.concatenate([free[:rest], others])
        order[dealt_to, place] = number[part]
        last = image[part][-1]
        taken = dealt_to[image[part] == last]
    return order


def _dealt(counts, rng):
    """Captions and their images: images in a random order, captions too."""
    image = np.repeat(np.arange(len(counts)), counts)
    turn = rng.permutation(len(counts))[image]
    number = np.lexsort((rng.random(len(image)), turn))
    return number, image[number]
