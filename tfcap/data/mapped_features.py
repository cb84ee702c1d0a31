"""Image features of batches: arrays, readers or functions."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tfcap._printed import printed

#: Images that are read at a time when all are read.
_CHUNK = 1024


def feature_rows(features, rows: NDArray) -> NDArray:
    """Returns the features of some rows.

    Args:
        features: Array of shape `(M, P, D)`, an object that returns
            `(B, P, D)` when indexed with an array of rows, such as
            `load_features(lazy=True)`, or a function of such an array.
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
    """Rejects features that do not have `total` rows."""
    shape = getattr(features, "shape", None)
    if shape is None or (len(shape) == 3 and shape[0] == total):
        return
    raise ValueError(
        f"`{name}` must have shape ({total}, P, D), one row for each of the "
        f"{of}. Received: {name}.shape={tuple(shape)}. Load them with "
        f"`load_features(path, {of}.image_ids)`."
    )


def position_mask(features, rows: NDArray) -> NDArray | None:
    """Returns which positions of some rows are features, not padding.

    Returns:
        Boolean array of shape `(B, P)`; None if all are features.

    Example:

    >>> from tfcap.data.mapped_features import position_mask
    >>> position_mask(np.ones((2, 1, 3)), np.array([0])) is None
    True
    """
    counts = getattr(features, "counts", None)
    if counts is None:
        return None
    return np.arange(features.shape[1]) < counts[rows][:, None]


def image_entries(key: str, features, rows: NDArray) -> dict:
    """Returns entries of a batch: features, and a mask if some are padding.

    Args:
        key: String, the name of the entry; that of the mask is `KEY_mask`.

    Example:

    >>> from tfcap.data.mapped_features import image_entries
    >>> [*image_entries("image", np.ones((2, 1, 3)), np.array([0]))]
    ['image']
    """
    entries = {key: feature_rows(features, rows)}
    mask = position_mask(features, rows)
    return entries if mask is None else {**entries, f"{key}_mask": mask}


class PreparedFeatures:
    """Features that are prepared a batch at a time, when they are read.

    A file of many gigabytes need not fit into memory.

    Args:
        features: Array of shape `(M, P, D)`, an object that returns one when
            indexed with an array of rows, such as `load_features(lazy=True)`,
            or a function of such an array.
        prepare: Function from features of some rows, float32 `(B, P, D)`, to
            others of this shape.
        **about: Values that identify the function in digests.

    Attributes:
        shape: That of the features, or None if they are a function.
    """

    __repr__ = printed

    def __init__(self, features, prepare: Callable, **about):
        self.features = features
        self.prepare = prepare
        self.about = about
        self.shape = getattr(features, "shape", None)
        self.counts = getattr(features, "counts", None)

    def __len__(self):
        return len(self.features)

    def __getitem__(self, rows):
        return self.prepare(feature_rows(self.features, rows))


def pool_positions(features):
    """Averages image features over their positions.

    Args:
        features: Array of shape `(M, P, D)`, or the result of
            `load_features()`, which is read once.

    Returns:
        Float32 array of shape `(M, 1, D)`.

    Example:

    >>> tfcap.data.pool_positions(np.array([[[1.0, 2.0], [3.0, 6.0]]]))
    array([[[2., 4.]]], dtype=float32)
    """
    out = np.empty((len(features), 1, features.shape[2]), np.float32)
    for rows in _chunks(len(out)):
        values, mask = features[rows], position_mask(features, rows)
        where = True if mask is None else mask[..., None]
        # The mean in float16, the type of feature files, would be rounded.
        out[rows] = values.mean(1, keepdims=True, dtype="f4", where=where)
    return out


def scale_features(features, norm: float):
    """Scales the image features of every position to one norm.

    Args:
        features: Array of shape `(M, P, D)`, or the result of
            `load_features()`.
        norm: Float, the norm. Zero vectors stay zero.

    Returns:
        An object that returns float32 features `(B, P, D)` when indexed with
        an array of rows; they are scaled when they are read.

    Example:

    >>> scaled = tfcap.data.scale_features(np.array([[[3.0, 4.0]]]), 10.0)
    >>> scaled[[0]]
    array([[[6., 8.]]], dtype=float32)
    """

    def scale(values):
        length = np.linalg.norm(values, axis=-1, keepdims=True)
        return values * (norm / np.maximum(length, 1e-6))

    return PreparedFeatures(features, scale, about=f"length {norm}")


class StandardizedFeatures(PreparedFeatures):
    """Standardized features, `(features - mean) / deviation`.

    They are standardized a batch at a time, when they are read, so that a file
    of many gigabytes need not fit into memory. Use mean and deviation of the
    training split, over images and positions, and keep them with the model.

    Args:
        features: Array of shape `(M, P, D)`, an object that returns one when
            indexed with an array of rows, such as `load_features(lazy=True)`,
            or a function of such an array.
        mean: Float array of shape `(D,)`. Defaults to `None`: mean and
            deviation are computed from these features, which are read once
            and must not be a function.
        deviation: Float array of shape `(D,)`, standard deviations, positive.
            If computed, it is 1 for a constant feature, which becomes 0.

    Attributes:
        shape: That of the features, or None if they are a function.

    Raises:
        ValueError: If `mean` or `deviation` does not have shape `(D,)`.

    Example:

    >>> train, val = np.array([[[1.0]], [[3.0]]]), np.array([[[4.0]]])
    >>> train = tfcap.data.StandardizedFeatures(train)
    >>> val = tfcap.data.StandardizedFeatures(val, train.mean, train.deviation)
    >>> train[[0, 1]].ravel(), val[[0]].ravel(), val.mean
    (array([-1.,  1.], dtype=float32), array([2.], dtype=float32),
     array([2.], dtype=float32))
    """

    def __init__(self, features, mean=None, deviation=None):
        if mean is None:
            mean, deviation = _statistics(features)
        self.mean = np.asarray(mean, np.float32)
        self.deviation = np.asarray(deviation, np.float32)
        super().__init__(
            features,
            lambda values: (values - self.mean) / self.deviation,
            mean=self.mean,
            deviation=self.deviation,
        )
        size = self.mean.shape if self.shape is None else self.shape[-1:]
        if not self.mean.shape == self.deviation.shape == tuple(size):
            raise ValueError(
                f"`mean` and `deviation` must have shape {tuple(size)}, one "
                "number for each feature. Received: shapes "
                f"{self.mean.shape} and {self.deviation.shape}."
            )


def _statistics(features):
    """Computes mean and deviation of each feature."""
    count, mean, squares = 0, 0.0, 0.0
    for rows in _chunks(len(features)):
        values, mask = features[rows], position_mask(features, rows)
        values = np.asarray(values if mask is None else values[mask], float)
        values = values.reshape(-1, values.shape[-1])
        part = values.mean(0)
        # Sums of squares around the mean; around 0, they would lose small
        # deviations from a large mean.
        difference, added = part - mean, count + len(values)
        squares += ((values - part) ** 2).sum(0) + difference**2 * (
            count * len(values) / added
        )
        mean = mean + difference * (len(values) / added)
        count = added
    deviation = np.sqrt(squares / count)
    varies = deviation > 1e-6 * np.abs(mean)
    return mean, np.where(varies, deviation, 1.0)


def _chunks(total):
    """Yields all row numbers, in chunks."""
    for start in range(0, total, _CHUNK):
        yield np.arange(start, min(start + _CHUNK, total))
