"""Tiles of a score matrix, and counts of candidates above the truths."""

import math
from typing import NamedTuple

import keras
import numpy as np
from keras import ops

from tfcap.metrics.ranking import tied_rank

#: Number of scores that stay in the CPU cache during four comparisons.
STRIP = 2**17


class RetrievalCounts:
    """Counts of candidates above, and tied with, each query's best truth."""

    def __init__(self, queries: int):
        self.own = np.full(queries, -np.inf)
        self.truths = np.zeros(queries, "int64")
        self.best_truths = np.zeros(queries, "int64")
        self.above = np.zeros(queries, "int64")
        self.equal = np.zeros(queries, "int64")

    def set_own(self, queries, scores):
        """Sets the scores of the truths, for a query all at once."""
        np.maximum.at(self.own, queries, scores)
        np.add.at(self.truths, queries, 1)
        np.add.at(self.best_truths, queries, scores == self.own[queries])

    def add(self, queries, above, equal):
        """Adds the counts of a tile; the equal ones include the truths."""
        self.above[queries] += ops.convert_to_numpy(above)
        self.equal[queries] += ops.convert_to_numpy(equal)

    def ranks(self):
        """Returns the rank of each query, NaN without a truth."""
        wrong = self.equal - self.best_truths
        ranks = tied_rank(self.above, wrong, self.best_truths)
        return np.where(self.truths > 0, ranks, np.nan)


def count_rivals(source, tiles):
    """Computes each tile once and counts it in both directions.

    Args:
        source: Object with `shape` and `against(columns)`, which returns a
            function from a slice of rows to the tensor of their scores.
    """
    by_image, by_text = map(RetrievalCounts, source.shape)
    numbers = np.arange(source.shape[1])

    def count(tile, rows, texts):
        dtype = keras.backend.standardize_dtype(tile.dtype)
        compare = compare_on_host if _on_host(tile) else compare_on_device
        counts = compare(
            tile,
            by_image.own[rows, None].astype(dtype),
            by_text.own[None, texts].astype(dtype),
        )
        by_image.add(rows, *counts[:2])
        by_text.add(texts, *counts[2:])

    for (rows,), columns in tiles.diagonal:
        texts, images = tiles.texts(columns), tiles.ids[columns]
        tile = source.against(texts)(rows)
        own = _entries(tile, images - rows.start)
        by_image.set_own(images, own)
        by_text.set_own(numbers[texts], own)
        count(tile, rows, texts)
    for blocks, columns in tiles.others:
        texts = tiles.texts(columns)
        scores_of = source.against(texts)
        for rows in blocks:
            count(scores_of(rows), rows, texts)
    return by_image, by_text


def compare_on_device(tile, row_own, column_own):
    """Counts entries above, and equal to, the truths of rows and of columns.

    Args:
        tile: Float tensor of shape `(R, C)`.
        row_own: Float array of shape `(R, 1)`.
        column_own: Float array of shape `(1, C)`.

    Returns:
        Four integer tensors, of shapes `(R,)`, `(R,)`, `(C,)` and `(C,)`.
    """

    def number(flags, axis):
        return ops.sum(ops.cast(flags, "int32"), axis=axis)

    return (
        number(tile > row_own, axis=1),
        number(ops.equal(tile, row_own), axis=1),
        number(tile > column_own, axis=0),
        number(ops.equal(tile, column_own), axis=0),
    )


def compare_on_host(tile, row_own, column_own):
    """Counts the same in NumPy, faster for a tile in host memory.

    Backends convert flags to integers before they add them, which takes most
    of the time. Here, strips that stay in the cache are compared, and their
    flags are added as bytes.
    """
    tile = np.asarray(tile)
    height, width = tile.shape
    counts = [np.zeros(n, "int64") for n in (height, height, width, width)]
    step = max(1, STRIP // max(width, 1))
    # Rows of whole 8-byte words; the padding stays false.
    flags = np.zeros((step, width + -width % 8), bool)
    for top in range(0, height, step):
        strip, own = tile[top : top + step], row_own[top : top + step]
        some = flags[: len(strip)]
        for i, compare in enumerate((np.greater, np.equal)):
            compare(strip, own, out=some[:, :width])
            counts[i][top : top + step] = _number_by_row(some)
            compare(strip, column_own, out=some[:, :width])
            counts[2 + i] += _number_by_column(some[:, :width])
    return counts


def _number_by_row(flags):
    """Adds eight flags at once, the bytes of a word, at most 255 words."""
    words, total = flags.view("uint64"), 0
    for i in range(0, words.shape[1], 255):
        sums = np.add.reduce(words[:, i : i + 255], axis=1).view("uint8")
        total = total + sums.reshape(-1, 8).sum(axis=1, dtype="int64")
    return total


def _number_by_column(flags):
    flags, total = flags.view("uint8"), 0
    for i in range(0, len(flags), 255):
        sums = np.add.reduce(flags[i : i + 255], axis=0, dtype="uint8")
        total = total + sums.astype("int64")
    return total


def _on_host(tensor):
    return "cpu" in str(getattr(tensor, "device", "")).lower()


def _entries(tile, rows):
    """Returns one entry of each column, as an array."""
    width = tile.shape[1]
    flat = ops.reshape(tile, (-1,))
    return ops.convert_to_numpy(ops.take(flat, rows * width + np.arange(width)))


class RetrievalTiles(NamedTuple):
    """Rows and columns of tiles, arranged so that few tiles hold truths.

    Texts are sorted by image, so the truths of a block of rows are in one block
    of columns. These tiles are computed first. As the scores of the truths are
    then known, every other tile can be counted in both directions, and is
    computed only once.

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
        """Returns the texts of some columns: a slice if they are in order."""
        return columns if self.order is None else self.order[columns]


def lay_tiles(ids, shape, block_size) -> RetrievalTiles:
    """Arranges the tiles of a matrix.

    Args:
        ids: Integer array of shape `(M,)`, each text's image, or -1.
        shape: `(B, M)`.
        block_size: Integer; a tile has at most its square of entries, or all
            the texts of one image.
    """
    order = None
    if np.any(ids[1:] < ids[:-1]):
        order = np.argsort(ids, kind="stable")
        ids = ids[order]
    # Equal numbers of tiles along both sides.
    aspect = math.sqrt(max(shape[0], 1) / max(shape[1], 1))
    height = max(1, int(block_size * aspect))
    width = max(1, int(block_size / aspect))
    # Blocks of nearly one height, without a small remainder.
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
    """Returns blocks of rows, each with the columns of their truths."""
    ends = np.searchsorted(ids, np.arange(images), "right")
    blocks, top, left = [], 0, distractors
    while top < images:
        bottom = int(np.searchsorted(ends, left + width, "right"))
        bottom = min(max(bottom, top + 1), top + height, images)
        right = int(ends[bottom - 1])
        blocks.append((slice(top, bottom), slice(left, right)))
        top, left = bottom, right
    return blocks
