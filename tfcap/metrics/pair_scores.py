"""Scores of images and texts, a tile at a time, wherever they come from."""

import keras
import numpy as np
from keras import ops

from tfcap._ops import check_shape

NARROW = "bool float16 bfloat16 int8 uint8 int16 uint16".split()


def pair_scores(images=None, texts=None, scores=None, shape=None):
    """Chooses between embeddings, a matrix and a function.

    Args:
        images: Float tensor of shape `(B, D)`, or `None`.
        texts: Float tensor of shape `(M, D)`, or `None`.
        scores: Float tensor or array of shape `(B, M)`, or a function of row
            and column numbers, or `None`.
        shape: `(B, M)`, of a function's scores.

    Returns:
        Object with `shape` and `against(columns)`, which returns a function
        from a slice of rows to the tensor of their scores.

    Raises:
        ValueError: If not exactly one of the three is there.
    """
    given = [x is not None for x in (images, texts, scores)]
    if given not in ([True, True, False], [False, False, True]):
        raise ValueError(
            "`images` and `texts` must be given together, or `scores` alone. "
            f"Received: images={_kind(images)}, texts={_kind(texts)}, "
            f"scores={_kind(scores)}."
        )
    if callable(scores) != (shape is not None):
        raise ValueError(
            "`shape` must be (images, texts) if `scores` is a function, and "
            f"None otherwise. Received: scores={_kind(scores)}, "
            f"shape={shape}."
        )
    if scores is None:
        return DotProducts(images, texts)
    return given_scores(scores, shape, "scores")


def given_scores(scores, shape, name):
    """A matrix if `shape` is `None`, otherwise a function, as tiles."""
    if shape is None:
        return MatrixScores(scores, name)
    return FunctionScores(scores, shape, name)


class DotProducts:
    """Scores of embeddings: `images @ texts.T`, half precision in float32.

    Args:
        images: Float tensor of shape `(B, D)`.
        texts: Float tensor of shape `(M, D)`.

    Raises:
        ValueError: If an embedding's norm is not finite.
    """

    def __init__(self, images, texts):
        images, texts = map(ops.convert_to_tensor, (images, texts))
        check_shape(images, "B D", "images")
        check_shape(texts, "M D", "texts")
        if images.shape[1] != texts.shape[1]:
            raise ValueError(
                "`texts` must have as many features as the images. Received: "
                f"images.shape={tuple(images.shape)}, "
                f"texts.shape={tuple(texts.shape)}."
            )
        self.shape = images.shape[0], texts.shape[0]
        _check_norms(images, "images")
        _check_norms(texts, "texts")
        self._images, self._texts = images, texts

    def against(self, columns):
        """Function from rows to the tensor of their scores, all finite."""
        texts = _at_least_float32(_take(self._texts, columns))
        # Laid out once for all rows.
        texts = ops.transpose(texts)

        def tile(rows):
            return ops.matmul(_at_least_float32(self._images[rows]), texts)

        return tile


class MatrixScores:
    """Scores that are there already, a file mapped to memory perhaps.

    Args:
        scores: Tensor or array of shape `(B, M)`.
        name: String, what errors call it.
    """

    def __init__(self, scores, name):
        if not hasattr(scores, "shape"):
            scores = np.asarray(scores)
        check_shape(scores, "B M", name)
        self.name = name
        self.shape = tuple(scores.shape)
        self._scores = scores

    def against(self, columns):
        """Function from rows to the tensor of their scores."""

        def tile(rows):
            if isinstance(columns, slice):
                scores = self._scores[rows, columns]
            else:
                scores = _take(self._scores[rows], columns, axis=1)
            return _ranked(scores, rows, columns, self.name)

        return tile


class FunctionScores:
    """Scores that a function computes, such as a listener that reads both.

    Args:
        function: Maps integer arrays of shapes `(R,)` and `(C,)`, the numbers
            of some images and texts, to scores of shape `(R, C)`.
        shape: `(B, M)`, numbers of images and texts.
        name: String, what errors call it.
    """

    def __init__(self, function, shape, name):
        self.name = name
        self.shape = tuple(map(int, shape))
        self._function = function

    def against(self, columns):
        """Function from rows to the tensor of their scores."""
        images, texts = map(np.arange, self.shape)

        def tile(rows):
            numbers = images[rows], texts[columns]
            scores = ops.convert_to_tensor(self._function(*numbers))
            wanted = tuple(map(len, numbers))
            if tuple(scores.shape) != wanted:
                raise ValueError(
                    f"`{self.name}` must return one number per row and "
                    f"column, of shape {wanted}. Received: "
                    f"shape={tuple(scores.shape)}."
                )
            return _ranked(scores, rows, columns, self.name)

        return tile


def _at_least_float32(tensor):
    dtype = keras.backend.standardize_dtype(tensor.dtype)
    if dtype in ("float32", "float64"):
        return tensor
    # Exact; and on CPUs the kernels for half precision are slow.
    return ops.cast(tensor, "float32" if dtype in NARROW else "float64")


def _take(tensor, chosen, axis=0):
    if isinstance(chosen, slice):
        return tensor[chosen]
    if isinstance(tensor, np.ndarray):
        return np.take(tensor, chosen, axis)
    return ops.take(tensor, chosen, axis)


def _check_norms(embeddings, name):
    """Squared norms that are finite bound all dot products, so none is NaN."""
    squares = ops.sum(ops.square(_at_least_float32(embeddings)), axis=1)
    bad = ~np.isfinite(ops.convert_to_numpy(squares))
    if bad.any():
        raise ValueError(
            f"`{name}` must have finite norms: a NaN score has no rank. "
            f"Received: {bad.sum()} rows of {len(bad)} with NaN, infinity or "
            f"too large numbers, the first at index {int(np.argmax(bad))}."
        )


def _ranked(tile, rows, columns, name):
    """Refuses a tile with a NaN by its place in the matrix."""
    tile = _at_least_float32(ops.convert_to_tensor(tile))
    bad = ops.isnan(tile)
    if bool(ops.any(bad)):
        row, column = np.argwhere(ops.convert_to_numpy(bad))[0]
        if isinstance(columns, slice):
            column += columns.start
        else:
            column = columns[column]
        raise ValueError(
            f"`{name}` must not be NaN: a NaN has no rank. Received: NaN at "
            f"index {(int(row + rows.start), int(column))}."
        )
    return tile


def _kind(value):
    return None if value is None else type(value).__name__
