"""Orders in which images are shuffled within windows.

A spinning disk moves its head for every image of a batch that is drawn from
all of a file. Here a window is made of blocks of neighbors, and images are
shuffled within it, so that it can be read ahead, in the order of the file, in
a few long reads.
"""

import numpy as np

from tfcap.data.caption_order import spread_captions
from tfcap.data.feature_rows import is_large
from tfcap.data.feature_rows import stored_bytes

#: Neighbors in the file that come into one window.
_BLOCK = 32
#: Bytes of features in a window that nobody has chosen.
_WINDOW_BYTES = 2**28
_AUTO = "auto"


def window_size(window, features, batch_size, most=1):
    """How many images are shuffled together.

    Args:
        window: Integer, `None` for all images, or `"auto"`: all images, and of
            features in a file of more than 2 GiB as many as 256 MiB hold.
        features: Image features, see `tfcap.data.CaptionBatches`.
        batch_size: Integer, B.
        most: Integer, batches that a window must have at least. Defaults to 1.

    Returns:
        Integer, a multiple of B; or `None`.

    Raises:
        ValueError: If it is too small, or none of the above.

    Example:

    >>> from tfcap.data.shuffle_windows import window_size
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


def draw_windows(places, window, rng):
    """Parts images into windows of blocks of neighbors.

    Args:
        places: Integer array of shape `(M,)`, where each image lies.
        window: Integer, images in a window.
        rng: NumPy random generator.

    Returns:
        List of integer arrays, the images of each window, shuffled. The last
        window is smaller where it has to be.

    Example:

    >>> from tfcap.data.shuffle_windows import draw_windows
    >>> rng = np.random.default_rng(0)
    >>> windows = draw_windows(np.arange(100), 64, rng)
    >>> [len(window) for window in windows]
    [64, 36]
    """
    order = np.argsort(places, kind="stable")
    # Blocks begin elsewhere in every epoch, and so part other neighbors.
    ends = range(int(rng.integers(1, _BLOCK + 1)), len(order), _BLOCK)
    blocks = np.split(order, ends)
    mixed = np.concatenate([blocks[i] for i in rng.permutation(len(blocks))])
    parts = np.split(mixed, range(window, len(mixed), window))
    return [rng.permutation(part) for part in parts]


def order_images(windows, batch_size):
    """Images of an epoch in the order of its windows.

    Args:
        windows: List of integer arrays, see `draw_windows()`; all but the last
            of whole batches.
        batch_size: Integer, B.

    Returns:
        Integer array of images, and an integer array with the number of
        batches up to the end of each window.
    """
    return np.concatenate(windows), _ends(windows, batch_size)


def order_captions(windows, counts, batch_size, rng):
    """Captions of an epoch, those of an image within its window.

    No batch has an image twice, see `spread_captions()`. What a window leaves
    over goes into the next one.

    Args:
        windows: List of integer arrays of images.
        counts: Integer array of shape `(M,)`, captions of each image.
        batch_size: Integer, B.
        rng: NumPy random generator.

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
        here = np.diff([*begins, len(numbers)])
        drawn = spread_captions(here, batch_size, rng).reshape(-1)
        parts.append(numbers[drawn])
        left = np.delete(numbers, drawn)
    return np.concatenate(parts), _ends(parts, batch_size)


def _ends(parts, batch_size):
    """Batches up to the end of each part that has any."""
    ends = np.cumsum([len(part) for part in parts]) // batch_size
    return np.unique(ends[ends > 0])
