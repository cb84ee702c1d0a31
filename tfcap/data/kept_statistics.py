"""Mean and deviation of large features, found once and kept."""

import os
import pathlib
import warnings

import numpy as np

from tfcap.data.data_digest import feature_digest
from tfcap.data.feature_rows import is_large
from tfcap.data.feature_rows import stored_bytes
from tfcap.data.feature_rows import stored_features
from tfcap.io import load_arrays
from tfcap.io import save_arrays


def kept_statistics(features, count):
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

    >>> from tfcap.data.kept_statistics import kept_statistics
    >>> count = lambda features: (features.mean((0, 1)), features.std((0, 1)))
    >>> kept_statistics(np.ones((2, 1, 3)), count)
    (array([1., 1., 1.]), array([0., 0., 0.]))
    """
    reader = stored_features(features)
    # Without checksums, a digest does not tell every change.
    if not is_large(features) or reader.checksums is None:
        return count(features)
    path = _path(feature_digest(features))
    if path.exists():
        try:
            found = load_arrays(path, ("mean", "deviation"))
            return found["mean"], found["deviation"]
        except (OSError, ValueError) as error:
            warnings.warn(
                f"{path} is not as it was written ({error}): mean and "
                "deviation are found anew.",
                stacklevel=3,
            )
    size = stored_bytes(features) * len(reader) / 1e9
    print(
        f"Mean and deviation of {len(reader):,} images: reading {size:.1f} GB "
        f"of {reader.path}, this time only.",
        flush=True,
    )
    mean, deviation = count(features)
    _keep(path, mean, deviation)
    return mean, deviation


def _path(digest):
    cache = os.environ.get("TFCAP_CACHE")
    root = pathlib.Path(cache or pathlib.Path.home() / ".cache" / "tfcap")
    return root / "statistics" / f"{digest}.npz"


def _keep(path, mean, deviation):
    """Writes the numbers down; where that fails, says what it will cost."""
    numbers = {"mean": np.asarray(mean), "deviation": np.asarray(deviation)}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        save_arrays(path, numbers)
    except OSError as error:
        warnings.warn(
            f"Mean and deviation cannot be kept ({error}), and will be found "
            "anew at every start. Set TFCAP_CACHE to a folder that can be "
            "written to.",
            stacklevel=4,
        )
