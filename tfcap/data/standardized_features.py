"""Image features with mean 0 and standard deviation 1."""

import math
import os
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from tfcap._io import load_arrays
from tfcap._io import save_arrays
from tfcap._io.cache import cache_folder
from tfcap._io.cache import keep
from tfcap.data.data_digest import feature_digest
from tfcap.data.features import DEAD
from tfcap.data.mapped_features import feature_rows
from tfcap.data.mapped_features import is_large
from tfcap.data.mapped_features import position_mask
from tfcap.data.mapped_features import stored_bytes
from tfcap.data.mapped_features import stored_features

#: Images that are counted with at a time.
_CHUNK = 1024
#: Of large features, bytes that are read at a time, and numbers that a
#: processor's cache holds while they are counted with.
_READ_BYTES, _CACHED = 2**24, 2**18
#: Bits of float32 that those of float16 are moved to, and what the value is
#: then short of, as exponents are counted from 127 and from 15.
_FIELDS, _REBIAS = np.int32(-(2**31) | 0x0FFFE000), 2.0**112


class StandardizedFeatures:
    """Features that are shifted and scaled when they are read.

    `(features - mean) / deviation`, a batch at a time, so that a file of many
    gigabytes need not fit into memory. `standardize_features()` finds the
    numbers; keep them with a model, which needs the same ones ever after.

    Args:
        features: An array of shape `(M, P, D)`, anything that gives one when
            indexed with an array of rows, as `load_features(lazy=True)` does,
            or a function of such an array.
        mean: Float array of shape `(D,)`.
        deviation: Float array of shape `(D,)`, positive.

    Attributes:
        shape: That of the features, or None if they are a function.

    Example:

    >>> features = np.array([[[1.0, 20.0]], [[3.0, 20.0]]])
    >>> scaled = tfcap.data.StandardizedFeatures(features, [2, 10], [1, 5])
    >>> scaled[[1]]
    array([[[1., 2.]]], dtype=float32)
    """

    def __init__(self, features, mean: NDArray, deviation: NDArray):
        self.features = features
        self.mean = np.asarray(mean, np.float32)
        self.deviation = np.asarray(deviation, np.float32)
        self.shape = getattr(features, "shape", None)
        size = self.mean.shape if self.shape is None else self.shape[-1:]
        if not self.mean.shape == self.deviation.shape == tuple(size):
            raise ValueError(
                f"`mean` and `deviation` must have shape {tuple(size)}, one "
                "number for each feature. Received: shapes "
                f"{self.mean.shape} and {self.deviation.shape}."
            )
        if not (self.deviation > 0).all():
            raise ValueError(
                "`deviation` must be positive. Received: deviation with "
                f"{int((~(self.deviation > 0)).sum())} numbers that are not. "
                "Take 1 for a feature that is always the same."
            )

    def __len__(self):
        return len(self.features)

    def __getitem__(self, rows):
        return (feature_rows(self.features, rows) - self.mean) / self.deviation

    def __array__(self, dtype=None, copy=None):
        values = self[np.arange(len(self))]
        return values if dtype is None else values.astype(dtype)


def standardize_features(train, *others):
    """Scales features to mean 0 and deviation 1 in the training split.

    Over all images and positions of `train`, for each of the D features. A
    feature that is the same everywhere becomes 0.

    The numbers of a feature file of more than 2 GiB are kept in the cache,
    `$TFCAP_CACHE` or `~/.cache/tfcap`, under the file's checksums.

    Args:
        train: Features of the training split, an array of shape `(M, P, D)`
            or what reads like one, as `load_features(lazy=True)`.
        *others: Features of other splits, which are scaled by the same
            numbers; a function of rows will do.

    Returns:
        Tuple of `StandardizedFeatures`, as many as were passed. Their `mean`
        and `deviation` are those to keep with a model.

    Raises:
        ValueError: If a number is not finite, or if all images have the same
            features or no feature varies, as those of a backbone that sees
            nothing.

    Example:

    >>> train, val = np.array([[[1.0]], [[3.0]]]), np.array([[[4.0]]])
    >>> train, val = tfcap.data.standardize_features(train, val)
    >>> train[[0, 1]].ravel(), val[[0]].ravel(), val.mean
    (array([-1.,  1.], dtype=float32), array([2.], dtype=float32),
     array([2.], dtype=float32))
    """
    mean, deviation = cached_statistics(train, _statistics)
    return tuple(
        StandardizedFeatures(features, mean, deviation)
        for features in (train, *others)
    )


def _statistics(features):
    """Mean and deviation of each feature, over images and positions."""
    shape = getattr(features, "shape", ())
    if len(shape) != 3 or not shape[0]:
        raise ValueError(
            "`train` must have shape (M, P, D) with at least one image. "
            f"Received: train.shape={tuple(shape)}. Pass an array or "
            "`load_features(path, lazy=True)`."
        )
    count, mean, squares, differ = 0, 0.0, 0.0, False
    one = np.asarray(features[np.arange(1)], np.float64)
    # Records hold digests of what small files gave: those stay as they were.
    half = is_large(features) and features.dtype == np.dtype("=f2")
    moments = _HalfMoments() if half else _moments
    # In the order of the parts, so that sums hang on no thread.
    for values, more, (part, about) in _counted(features, moments):
        differ = differ or bool((values != one).any())
        with np.errstate(invalid="ignore"):  # told below
            difference, added = part - mean, count + more
            # Sums of squares about the mean add up like this; about 0 they
            # would lose what is small beside the mean.
            squares += about + difference**2 * (count * more / added)
            mean, count = mean + difference * (more / added), added
    deviation = np.sqrt(squares / count)
    if not np.isfinite(deviation).all():
        raise ValueError(
            "`train` must be finite. Received: infinite or undefined numbers "
            f"in {int((~np.isfinite(deviation)).sum())} of {shape[2]} "
            "features. Look at how they were extracted."
        )
    varies = deviation > 1e-6 * np.abs(mean)
    if shape[0] > 1 and not (differ and varies.any()):
        raise ValueError(
            "`train` must have features that differ between images. Received: "
            f"the same ones of all {shape[0]:,} images, up to rounding. {DEAD},"
            " and extract the features again."
        )
    return mean, np.where(varies, deviation, 1.0)


def _moments(values):
    """Means of `(B, D)`, and sums of squares about them, float64 `(D,)`."""
    values = np.asarray(values, np.float64)
    with np.errstate(invalid="ignore"):  # said of all features
        mean = values.mean(0)
        return mean, ((values - mean) ** 2).sum(0)


class _HalfMoments(threading.local):
    """Computes `_moments()` of finite float16 in a tenth of its time.

    NumPy converts float16 by branches, here two shifts do. A square has 22
    bits, so that sums of a part are exact in float64 unless numbers of a
    feature differ by more than 2^12; then the mean is no longer large beside
    the deviation, and nothing is lost by sums about 0. Every thread has room
    of its own.
    """

    def __init__(self):
        self._bits = np.empty((0, 0), np.int32)
        self._wide = np.empty((0, 0))
        tiny = np.full(1, 1, np.int32).view(np.float32)
        # Threads of TensorFlow take what float32 has no exponent for as 0.
        self._exact = bool(tiny.astype(np.float64)[0])

    def __call__(self, values):
        if not self._exact:
            return _moments(values)
        if self._bits.shape != values.shape:
            self._bits = np.empty(values.shape, np.int32)
            self._wide = np.empty(values.shape)
        # Sign, exponent and fraction to their places in float32; what the
        # sign's extension left between is cleared.
        bits, wide = self._bits, self._wide
        np.copyto(bits, values.view(np.int16))
        np.left_shift(bits, 13, out=bits)
        np.bitwise_and(bits, _FIELDS, out=bits)
        np.copyto(wide, bits.view(np.float32))
        sums = wide.sum(0) * _REBIAS
        squares = np.einsum("ij,ij->j", wide, wide) * _REBIAS**2
        # Infinite or undefined numbers have become some of 2^16 and more.
        if squares.max() >= 2.0**32:
            return _moments(values)
        about = squares * len(wide) - sums**2
        return sums / len(wide), np.maximum(about, 0.0) / len(wide)


def _counted(features, moments):
    """Features of some images after others, positions, and their moments."""
    (total, *shape), large = features.shape, is_large(features)
    read = part = _CHUNK
    if large:
        read = max(1, _READ_BYTES // stored_bytes(features))
        part = max(1, _CACHED // math.prod(shape))
    chunks = np.split(np.arange(total), range(read, total, read))
    # One thread reads, the others count.
    counters = ThreadPoolExecutor(os.cpu_count())
    with ThreadPoolExecutor(1) as reader, counters as pool:
        ahead = reader.submit(features.__getitem__, chunks[0])
        for now, rows in zip(chunks, [*chunks[1:], None]):
            values, mask = ahead.result(), position_mask(features, now)
            if rows is not None:
                ahead = reader.submit(features.__getitem__, rows)
            parts = np.split(values, range(part, len(values), part))
            if mask is not None:
                masks = np.split(mask, range(part, len(values), part))
                flat = [some[here] for some, here in zip(parts, masks)]
            else:
                flat = [some.reshape(-1, shape[-1]) for some in parts]
            yield from zip(parts, map(len, flat), pool.map(moments, flat))


def cached_statistics(features, count: Callable):
    """Mean and deviation of features, counted unless they were before.

    Those of a large file are kept, under the digest of the checksums of its
    rows, in `statistics` of `$TFCAP_CACHE`, or of `~/.cache/tfcap` without it:
    to read a file of many gigabytes takes minutes. A file that has changed has
    another digest.

    Args:
        features: Array of shape `(M, P, D)`, or what reads like one.
        count: Function of features that returns their mean and deviation,
            float64 arrays of shape `(D,)`.

    Returns:
        Tuple of two float64 arrays of shape `(D,)`.

    Example:

    >>> from tfcap.data.standardized_features import cached_statistics
    >>> count = lambda features: (features.mean((0, 1)), features.std((0, 1)))
    >>> cached_statistics(np.ones((2, 1, 3)), count)
    (array([1., 1., 1.]), array([0., 0., 0.]))
    """
    reader = stored_features(features)
    # Without checksums, a digest does not show every change.
    if not is_large(features) or reader.checksums is None:
        return count(features)
    path = cache_folder("statistics") / f"{feature_digest(features)}.npz"
    if path.exists():
        try:
            arrays = load_arrays(path, ("mean", "deviation"))
            return arrays["mean"], arrays["deviation"]
        except (OSError, ValueError) as error:
            warnings.warn(
                f"{path} is not as it was written ({error}): mean and "
                "deviation are computed again.",
                stacklevel=3,
            )
    size = stored_bytes(features) * len(reader) / 1e9
    print(
        f"Mean and deviation of {len(reader):,} images: reading {size:.1f} GB "
        f"of {reader.path}, this time only.",
        flush=True,
    )
    mean, deviation = count(features)
    numbers = {"mean": np.asarray(mean), "deviation": np.asarray(deviation)}
    keep("Mean and deviation", path, lambda to: save_arrays(to, numbers))
    return mean, deviation
