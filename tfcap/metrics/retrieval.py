"""Retrieval ranks in both directions, computed by tiles of the scores."""

import keras
import numpy as np
from keras import ops

from tfcap._ops import check_shape
from tfcap._ops.arguments import checked_integer
from tfcap._ops.sequences import check_shapes
from tfcap.metrics.reports import RetrievalReport
from tfcap.metrics.retrieval_counts import count_rivals
from tfcap.metrics.retrieval_counts import lay_tiles

NARROW = "bool float16 bfloat16 int8 uint8 int16 uint16".split()


def evaluate_retrieval(
    images=None,
    texts=None,
    ids=None,
    scores=None,
    block_size=4096,
):
    """Computes the recall of image-to-text and text-to-image retrieval.

    ```
    scores[b, m]         = dot(images[b], texts[m])
    image's rank of text = rank of the best of its texts among all others'
    text's rank of image = rank of its image among all images
    ```

    Ranks are computed by counting higher and equal scores. Each tile of the
    matrix is computed once, used for both directions and discarded, so only the
    embeddings and a few tiles are in memory. The score of a truth is read from
    the same matrix as the others; computed separately, it could differ in its
    last bits and break ties.

    Args:
        images: Float tensor of shape `(B, D)`, embeddings of images.
        texts: Float tensor of shape `(M, D)`, embeddings of texts.
        ids: Integer array of shape `(M,)`, each text's row of `images`; -1
            for a distractor, a text of none of them. Defaults to `None`: text
            m belongs to image m.
        scores: Instead of embeddings, tensor or array of shape `(B, M)`.
            Defaults to `None`.
        block_size: Integer. A tile holds at most `block_size**2` scores, or
            all texts of an image. Defaults to `4096`.

    Returns:
        `RetrievalReport`.

    Raises:
        ValueError: If a score is NaN, if an embedding is not finite, if an
            entry of `ids` is not a row of `images`, or if arguments do not fit
            together.

    Example:

    >>> images = np.eye(3, dtype="float32")
    >>> texts = np.array([[3, 1, 0], [0, 2, 1], [0, 3, 2]], "float32")
    >>> print(tfcap.metrics.evaluate_retrieval(images, texts))
                     R@1     R@5    R@10  median  mean     MRR  count
    image -> text  66.67  100.00  100.00       1  1.33  0.8333      3
    text -> image  66.67  100.00  100.00       1  1.33  0.8333      3

    Reference:

    - Faghri et al., VSE++: Improving Visual-Semantic Embeddings with Hard
      Negatives, BMVC 2018, for the rank of the best of several captions
    """
    checked_integer(block_size, "block_size")
    if (scores is None) == (images is None) or (images is None) != (
        texts is None
    ):
        raise ValueError(
            "`images` and `texts` must be given together, or `scores` alone. "
            "Received: others. Leave out what is not needed."
        )
    source = (
        MatrixScores(scores) if images is None else DotProducts(images, texts)
    )
    tiles = lay_tiles(_checked_ids(ids, source.shape), source.shape, block_size)
    by_image, by_text = count_rivals(source, tiles)
    return RetrievalReport(by_image.ranks(), by_text.ranks())


def _checked_ids(ids, shape):
    images, texts = shape
    if ids is None:
        if images != texts:
            raise ValueError(
                "`ids` must give the image of each text if their numbers "
                f"differ. Received: ids=None for {images} images and "
                f"{texts} texts. For n texts an image in order, pass "
                "`np.repeat(np.arange(images), n)`."
            )
        return np.arange(images)
    ids = np.asarray(ids)
    if ids.shape != (texts,) or ids.dtype.kind not in "iu":
        raise ValueError(
            f"`ids` must be integers of shape ({texts},), one per text. "
            f"Received: ids of shape {ids.shape} and type {ids.dtype}."
        )
    if texts and (ids.min() < -1 or ids.max() >= images):
        raise ValueError(
            f"`ids` must be rows of the images, in [-1, {images}). Received: "
            f"values from {ids.min()} to {ids.max()}. Map a data set's own "
            "ids to rows first."
        )
    return ids.astype("int64")


class DotProducts:
    """Scores of embeddings, `images @ texts.T`, at least in float32.

    Args:
        images: Float tensor of shape `(B, D)`.
        texts: Float tensor of shape `(M, D)`.

    Raises:
        ValueError: If an embedding's norm is not finite.
    """

    def __init__(self, images, texts):
        images, texts = map(ops.convert_to_tensor, (images, texts))
        check_shapes(images=(images, "B D"), texts=(texts, "M D"))
        self.shape = images.shape[0], texts.shape[0]
        _check_norms(images, "images")
        _check_norms(texts, "texts")
        self._images, self._texts = images, texts

    def against(self, columns):
        """Returns a function from rows to the tensor of their finite scores."""
        texts = _at_least_float32(_take(self._texts, columns))
        # Transposed once for all rows.
        texts = ops.transpose(texts)

        def tile(rows):
            return ops.matmul(_at_least_float32(self._images[rows]), texts)

        return tile


class MatrixScores:
    """Given scores, such as a memory-mapped array.

    Args:
        scores: Tensor or array of shape `(B, M)`.
    """

    def __init__(self, scores):
        if not hasattr(scores, "shape"):
            scores = np.asarray(scores)
        check_shape(scores, "B M", "scores")
        self.shape = tuple(scores.shape)
        self._scores = scores

    def against(self, columns):
        """Returns a function from rows to the tensor of their scores."""

        def tile(rows):
            if isinstance(columns, slice):
                scores = self._scores[rows, columns]
            else:
                scores = _take(self._scores[rows], columns, axis=1)
            return _ranked(scores, rows, columns)

        return tile


def _at_least_float32(tensor):
    dtype = keras.backend.standardize_dtype(tensor.dtype)
    if dtype in ("float32", "float64"):
        return tensor
    # The cast is exact, and half precision is slow on CPUs.
    return ops.cast(tensor, "float32" if dtype in NARROW else "float64")


def _take(tensor, chosen, axis=0):
    if isinstance(chosen, slice):
        return tensor[chosen]
    if isinstance(tensor, np.ndarray):
        return np.take(tensor, chosen, axis)
    return ops.take(tensor, chosen, axis)


def _check_norms(embeddings, name):
    """Rejects infinite norms; finite ones bound all dot products."""
    squares = ops.sum(ops.square(_at_least_float32(embeddings)), axis=1)
    bad = ~np.isfinite(ops.convert_to_numpy(squares))
    if bad.any():
        raise ValueError(
            f"`{name}` must have finite norms: a NaN score has no rank. "
            f"Received: {bad.sum()} rows of {len(bad)} with NaN, infinity or "
            f"too large numbers, the first at index {int(np.argmax(bad))}."
        )


def _ranked(tile, rows, columns):
    """Rejects a tile with a NaN, and names its place in the matrix."""
    tile = _at_least_float32(ops.convert_to_tensor(tile))
    bad = ops.isnan(tile)
    if bool(ops.any(bad)):
        row, column = np.argwhere(ops.convert_to_numpy(bad))[0]
        if isinstance(columns, slice):
            column += columns.start
        else:
            column = columns[column]
        raise ValueError(
            "`scores` must not be NaN: a NaN has no rank. Received: NaN at "
            f"index {(int(row + rows.start), int(column))}."
        )
    return tile
