"""Image features that a function prepares as they are read."""

import functools
import math

import numpy as np

from tfcap.data.feature_rows import in_large_file

#: Rows that are prepared at a time where all are.
_CHUNK = 512


class MappedFeatures:
    """Features that are prepared a batch at a time, when they are read.

    Args:
        features: An array of shape `(M, P, D)`, or anything that gives one
            when indexed with an array of rows, as `load_features(lazy=True)`.
        prepare: Function of features of some rows, `(B, P, D)`, that returns
            prepared ones, float32; each row must depend on itself alone.
        about: String that tells this function from others, for digests.

    Attributes:
        shape: Tuple, `(M, P', D')`, that of the prepared features.

    Example:

    >>> from tfcap.data.mapped_features import MappedFeatures, position_means
    >>> grids = np.arange(12.0).reshape(3, 2, 2)
    >>> pooled = MappedFeatures(grids, position_means, "position means")
    >>> pooled.shape, pooled[[2, 0]].tolist()
    ((3, 1, 2), [[[9.0, 10.0]], [[1.0, 2.0]]])
    """

    def __init__(self, features, prepare, about):
        self.features = features
        self.prepare = prepare
        self.about = about
        none = np.zeros((1, *features.shape[1:]), np.float16)
        self.shape = (len(features), *prepare(none).shape[1:])
        self.dtype = np.dtype(np.float32)

    def __len__(self):
        return len(self.features)

    def __getitem__(self, rows):
        rows = np.arange(len(self))[rows]
        found = self.prepare(np.asarray(self.features[rows.ravel()]))
        return found.reshape(*rows.shape, *self.shape[1:])

    def __array__(self, dtype=None, copy=None):
        values = self[np.arange(len(self))]
        return values if dtype is None else values.astype(dtype)


def mapped_features(features, prepare, about):
    """Prepares features, those of a large file batch by batch.

    Args:
        features, prepare, about: As those of `MappedFeatures`.

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


def position_means(values):
    """Means over positions: `(B, P, D)` to float32 `(B, 1, D)`."""
    # Float16, as features are kept, would round the mean.
    return values.mean(axis=1, keepdims=True, dtype="f4")


def length_scale(norm):
    """A function that scales the features of every position to one length.

    Args:
        norm: Float, the length. Zeros stay zeros.

    Returns:
        Function of features `(B, P, D)` that returns float32 ones.

    Raises:
        ValueError: If the length is not positive.

    Example:

    >>> from tfcap.data.mapped_features import length_scale
    >>> length_scale(10.0)(np.array([[[3.0, 4.0]]])).tolist()
    [[[6.0, 8.0]]]
    """
    if not 0 < norm < math.inf:
        raise ValueError(
            f"`norm` must be a positive length. Received: norm={norm!r}. Leave "
            "it out to take features as they are."
        )
    return functools.partial(_scaled, norm=norm)


def _scaled(values, norm):
    values = np.asarray(values, "float32")
    length = np.linalg.norm(values, axis=-1, keepdims=True)
    return values * (norm / np.maximum(length, 1e-6))
