"""Which tiles of a matrix of scores to compute, and in which order."""

import math
from typing import NamedTuple

import numpy as np


class RetrievalTiles(NamedTuple):
    """Rows and columns of tiles, laid so that few of them hold truths.

    Texts are taken in the order of their images, so the truths of a block of
    rows stand in one block of columns. These tiles come first: with their own
    scores known, every other tile can be counted, in both directions, when it
    is computed, and is needed once.

    Args:
        diagonal: List of pairs, a list of slices of rows and a slice of
            columns: the tiles that hold truths.
        others: The same of all other tiles.
        order: Integer array of shape `(M,)`, the texts in the order of the
            columns; `None` if they are in order.
        ids: Integer array of shape `(M,)`, the image of each column.
    """

    diagonal: list
    others: list
    order: np.ndarray | None
    ids: np.ndarray

    def texts(self, columns):
        """Numbers of the texts in some columns, a slice where it can be."""
        return columns if self.order is None else self.order[columns]


def lay_tiles(ids, shape, block_size):
    """Lays the tiles of a matrix.

    Args:
        ids: Integer array of shape `(M,)`, each text's image, or -1.
        shape: `(B, M)`.
        block_size: Integer; a tile has at most its square of entries, or all
            the texts of one image.

    Returns:
        `RetrievalTiles`.
    """
    order = None
    if np.any(ids[1:] < ids[:-1]):
        order = np.argsort(ids, kind="stable")
        ids = ids[order]
    # As many tiles along either side.
    aspect = math.sqrt(max(shape[0], 1) / max(shape[1], 1))
    height = max(1, int(block_size * aspect))
    width = max(1, int(block_size / aspect))
    # Of one size, as far as it goes, rather than with a narrow rest.
    height = math.ceil(shape[0] / max(1, math.ceil(shape[0] / height)))
    distractors = int(np.searchsorted(ids, 0))
    blocks = _blocks(ids, shape[0], distractors, height, width)
    columns = [slice(0, distractors), *(own for _, own in blocks)]
    others = []
    for block in columns:
        rows = [rows for rows, own in blocks if own != block]
        for i in range(block.start, block.stop, width):
            others.append((rows, slice(i, min(i + width, block.stop))))
    diagonal = [([rows], own) for rows, own in blocks if own.start < own.stop]
    return RetrievalTiles(diagonal, others, order, ids)


def _blocks(ids, images, distractors, height, width):
    """Rows, and the columns of their truths, until there are no rows."""
    ends = np.searchsorted(ids, np.arange(images), "right")
    blocks, top, left = [], 0, distractors
    while top < images:
        bottom = int(np.searchsorted(ends, left + width, "right"))
        bottom = min(max(bottom, top + 1), top + height, images)
        right = int(ends[bottom - 1])
        blocks.append((slice(top, bottom), slice(left, right)))
        top, left = bottom, right
    return blocks
