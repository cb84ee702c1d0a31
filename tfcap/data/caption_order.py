"""The order of captions in an epoch that has each of them once."""

import numpy as np


def spread_captions(counts, batch_size, rng):
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
        batch_size: Integer, B.
        rng: NumPy random generator.

    Returns:
        Integer array of shape `(sum(counts) // B, B)`: each row a batch of
        caption numbers. Captions are numbered image after image; those of
        the images that come last in the dealing are left over, up to B - 1.

    Example:

    >>> from tfcap.data.caption_order import spread_captions
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
