"""Image features as batches take them: arrays, readers or functions."""

import math

import numpy as np

#: Bytes of a file from which on its features are read batch by batch, in
#: windows: a machine may not have the memory to keep the file in.
LARGE = 2**31


def feature_rows(features, rows):
    """Features of some rows.

    Args:
        features: Array of shape `(M, P, D)`, anything that gives `(B, P, D)`
            when indexed with an array of rows, as `load_features(lazy=True)`
            does, or a function of such an array.
        rows: Integer array of shape `(B,)`.

    Returns:
        Float32 array of shape `(B, P, D)`.

    Example:

    >>> from tfcap.data.feature_rows import feature_rows
    >>> feature_rows(lambda rows: rows[:, None, None], np.array([4, 2])).shape
    (2, 1, 1)
    """
    values = features(rows) if callable(features) else features[rows]
    return np.asarray(values, np.float32)


def check_features(features, total, of, name="features"):
    """Raises a ValueError if features are not one row for each thing.

    Args:
        features: As in `feature_rows()`. A function is taken as it is.
        total: Integer, M.
        of: String, what has a row, and an attribute `image_ids`, in the
            plural, such as `"dialogs"`.
        name: String, name of the argument. Defaults to `"features"`.
    """
    shape = getattr(features, "shape", None)
    if shape is None or (len(shape) == 3 and shape[0] == total):
        return
    raise ValueError(
        f"`{name}` must have shape ({total}, P, D), one row for each of the "
        f"{of}. Received: {name}.shape={tuple(shape)}. Load them with "
        f"`load_features(path, {of}.image_ids)`."
    )


def stored_features(features):
    """The reader of a feature file that features come from.

    Args:
        features: As in `feature_rows()`; what prepares others has them as its
            `features`.

    Returns:
        What `load_features(lazy=True)` returned, which has `stored_rows`; or
        None where there is no such file.
    """
    while features is not None and not hasattr(features, "stored_rows"):
        features = getattr(features, "features", None)
    return features


def stored_places(features, total):
    """Where in its file each row lies; the rows themselves without a file.

    Args:
        features: As in `feature_rows()`.
        total: Integer, M.

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
