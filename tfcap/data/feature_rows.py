"""Image features as batches take them: arrays, readers or functions."""

import numpy as np


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
