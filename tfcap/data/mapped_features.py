"""Image features as batches take them: arrays, readers or functions."""

import functools
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

#: Bytes of a file from which on its features are read batch by batch, in
#: windows: a machine may not have the memory to keep the file in.
LARGE = 2**31
#: Rows that are prepared at a time where all are.
_CHUNK = 512


def feature_rows(features, rows: NDArray) -> NDArray:
    """Features of some rows.

    Args:
        features: Array of shape `(M, P, D)`, anything that gives `(B, P, D)`
            when indexed with an array of rows, as `load_features(lazy=True)`
            does, or a function of such an array.
        rows: Integer array of shape `(B,)`.

    Returns:
        Float32 array of shape `(B, P, D)`.

    Example:

    >>> from tfcap.data.mapped_features import feature_rows
    >>> feature_rows(lambda rows: rows[:, None, None], np.array([4, 2])).shape
    (2, 1, 1)
    """
    values = features(rows) if callable(features) else features[rows]
    return np.asarray(values, np.float32)


def check_features(features, total: int, of: str, name: str = "features"):
    """Raises a ValueError if features are not one row for each thing."""
    shape = getattr(features, "shape", None)
    if shape is None or (len(shape) == 3 and shape[0] == total):
        return
    raise ValueError(
        f"`{name}` must have shape ({total}, P, D), one row for each of the "
        f"{of}. Received: {name}.shape={tuple(shape)}. Load them with "
        f"`load_features(path, {of}.image_ids)`."
    )


def stored_features(features):
    """The reader of a feature file that features come from."""
    while features is not None and not hasattr(features, "stored_rows"):
        features = getattr(features, "features", None)
    return features


def position_mask(features, rows: NDArray) -> NDArray | None:
    """Which positions of some rows are features, and not padding.

    Returns:
        Boolean array of shape `(B, P)`; None where all are features.

    Example:

    >>> from tfcap.data.mapped_features import position_mask
    >>> position_mask(np.ones((2, 1, 3)), np.array([0])) is None
    True
    """
    reader = stored_features(features)
    counts = getattr(reader, "counts", None)
    if counts is None or features.shape[1] != reader.shape[1]:
        return None
    return np.arange(reader.shape[1]) < counts[rows][:, None]


def image_entries(key: str, features, rows: NDArray, image=None) -> dict:
    """Entries of a batch: features, and their mask where some are padding.

    Args:
        key: String, the name of the entry; that of the mask is `KEY_mask`.
        image: Float array of shape `(B, P, D)`, the features, where they have
            been read. Defaults to `None`.

    Example:

    >>> from tfcap.data.mapped_features import image_entries
    >>> [*image_entries("image", np.ones((2, 1, 3)), np.array([0]))]
    ['image']
    """
    if image is None:
        image = feature_rows(features, rows)
    mask = position_mask(features, rows)
    return {key: image, **({} if mask is None else {f"{key}_mask": mask})}


def stored_positions(features, total: int) -> NDArray:
    """Index of each row in its file; the rows themselves without a file.

    Returns:
        Integer array of shape `(M,)`.
    """
    reader = stored_features(features)
    return np.arange(total) if reader is None else reader.stored_rows


def stored_bytes(features):
    """Bytes of one row in the file that features come from; 0 without one."""
    reader = stored_features(features)
    if reader is None:
        return 0
    return math.prod(reader.shape[1:]) * reader.dtype.itemsize


def is_large(features):
    """Check whether features come from a file, and are more than `LARGE`."""
    row = stored_bytes(features)
    return row > 0 and row * len(stored_features(features)) > LARGE


def in_large_file(features):
    """Check whether features come from a file of more than `LARGE`.

    A few of its images may be a seek each.
    """
    row = stored_bytes(features)
    return row > 0 and row * stored_features(features).stored_total > LARGE


class MappedFeatures:
    """Features that are prepared a batch at a time, when they are read.

    Args:
        features: An array of shape `(M, P, D)`, or anything that gives one
            when indexed with an array of rows, as `load_features(lazy=True)`.
        prepare: Function of features of some rows, `(B, P, D)`, and of their
            `position_mask()`, that returns prepared ones, float32; each row
            must depend on itself alone.
        about: String that identifies the function, for digests.

    Attributes:
        shape: Tuple, `(M, P', D')`, that of the prepared features.

    Example:

    >>> from tfcap.data.mapped_features import MappedFeatures, position_means
    >>> grids = np.arange(12.0).reshape(3, 2, 2)
    >>> pooled = MappedFeatures(grids, position_means, "position means")
    >>> pooled.shape, pooled[[2, 0]].tolist()
    ((3, 1, 2), [[[9.0, 10.0]], [[1.0, 2.0]]])
    """

    def __init__(self, features, prepare: Callable, about):
        self.features = features
        self.prepare = prepare
        self.about = about
        none = np.zeros((1, *features.shape[1:]), np.float16)
        self.shape = (len(features), *prepare(none, None).shape[1:])
        self.dtype = np.dtype(np.float32)

    def __len__(self):
        return len(self.features)

    def __getitem__(self, rows):
        rows = np.arange(len(self))[rows]
        values = np.asarray(self.features[rows.ravel()])
        mask = position_mask(self.features, rows.ravel())
        prepared = self.prepare(values, mask)
        return prepared.reshape(*rows.shape, *self.shape[1:])

    def __array__(self, dtype=None, copy=None):
        values = self[np.arange(len(self))]
        return values if dtype is None else values.astype(dtype)


def mapped_features(features, prepare, about) -> NDArray:
    """Prepares features, those of a large file batch by batch.

    Returns:
        Float32 array of shape `(M, P', D')`; of images of a large file, however
        few, `MappedFeatures`.
    """
    lazy = MappedFeatures(features, prepare, about)
    if in_large_file(features):
        return lazy
    out = np.empty(lazy.shape, np.float32)
    for start in range(0, len(out), _CHUNK):
        rows = np.arange(start, min(start + _CHUNK, len(out)))
        out[rows] = lazy[rows]
    return out


def pool_positions(features):
    """Averages image features over the positions that there are: a grid of one.

    Args:
        features: Array of shape `(M, P, D)`, or what `load_features()`
            returned.

    Returns:
        Float32 array of shape `(M, 1, D)`; of images of a large file, what
        prepares them batch by batch.

    Example:

    >>> tfcap.data.pool_positions(np.array([[[1.0, 2.0], [3.0, 6.0]]]))
    array([[[2., 4.]]], dtype=float32)
    """
    return mapped_features(features, position_means, "means over positions")


def scale_features(features, norm):
    """Scales the image features of every position to one length.

    Args:
        features: As those of `pool_positions()`.
        norm: Float, the length. Zeros stay zeros.

    Returns:
        Float32 array of shape `(M, P, D)`; of images of a large file, what
        prepares them batch by batch.

    Raises:
        ValueError: If the length is not positive.

    Example:

    >>> tfcap.data.scale_features(np.array([[[3.0, 4.0]]]), 10.0)
    array([[[6., 8.]]], dtype=float32)
    """
    return mapped_features(features, length_scale(norm), f"length {norm}")


def position_means(values, mask=None):
    """Means over positions: `(B, P, D)` to float32 `(B, 1, D)`."""
    where = True if mask is None else mask[..., None]
    # Float16, as features are kept, would round the mean.
    return values.mean(axis=1, keepdims=True, dtype="f4", where=where)


def length_scale(norm: float) -> Callable:
    """Scaling of features `(B, P, D)` to one length, as a function."""
    if not 0 < norm < math.inf:
        raise ValueError(
            f"`norm` must be a positive length. Received: norm={norm!r}. Leave "
            "it out to take features as they are."
        )
    return functools.partial(_scaled, norm=norm)


def _scaled(values, mask=None, *, norm):
    values = np.asarray(values, "float32")
    length = np.linalg.norm(values, axis=-1, keepdims=True)
    return values * (norm / np.maximum(length, 1e-6))
