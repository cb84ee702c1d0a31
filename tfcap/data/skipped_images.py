"""The list of images that an extraction left out, beside its feature file."""

import contextlib
import json
import os
import warnings

from tfcap.io import malformed
from tfcap.io import read_sealed
from tfcap.io import sealed
from tfcap.io import whole_file

_ENDING = ".skipped.json"
_CURE = "Run the same extraction again, which writes it anew."


def load_skipped(path):
    """Images that were left out when features were extracted, and why.

    `extract_features(skip_unreadable=True)` leaves out what cannot be read,
    and writes this list, `PATH.skipped.json`, beside the feature file.

    Args:
        path: String or path of the feature file.

    Returns:
        Dict of image id to a string, the reason. Empty where there is no
        list.

    Raises:
        ValueError: If the list is damaged.

    Example:

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "features.h5")
    >>> colors = tfcap.data.Backbone("colors", "", (2, 2), "unit", lambda x: x)
    >>> images = [(7, np.eye(2) * 255), (9, "no such file.jpg")]
    >>> tfcap.data.extract_features(
    ...     colors, images, path, progress=False, skip_unreadable=True
    ... )
    1 of 2 images could not be read and are left out: 9. .../features.h5.ski...
    >>> tfcap.data.load_skipped(path)
    {9: "no such file.jpg ([Errno 2] No such file or directory: ...)"}
    >>> tfcap.data.load_features(path, [7]).shape
    (1, 4, 3)
    """
    path = skipped_path(path)
    try:
        content = read_sealed(path, _CURE)
    except FileNotFoundError:
        return {}
    try:
        return {image_id: reason for image_id, reason in content["skipped"]}
    except (KeyError, TypeError, ValueError) as error:
        problem = "there is no list of images that were left out"
        raise malformed(path, "", problem, _CURE) from error


def save_skipped(path, skipped):
    """Writes the list of images that were left out, or removes it.

    Args:
        path: String or path of the feature file.
        skipped: Dict of image id to a string, the reason; empty if there are
            none.
    """
    path = skipped_path(path)
    if not skipped:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        return
    with whole_file(path, "w") as file:
        json.dump(sealed({"skipped": [*skipped.items()]}), file, indent=1)


def skipped_path(path):
    """Path of the list beside a feature file, where a link leads."""
    return f"{os.path.realpath(path)}{_ENDING}"


def warn_of_skipped(path, count, total):
    """Warns of images that have no features since they were left out.

    Args:
        path: String or path of the feature file.
        count: Integer, how many; if 0, nothing is said.
        total: Integer, of how many.
    """
    if count:
        warnings.warn(
            f"{path} lacks {count:,} of {total:,} images, which could not be "
            f"read when features were extracted: see {skipped_path(path)}.",
            stacklevel=3,
        )


def rows_with_features(image_ids, path):
    """Rows of images that were not left out; warns of the others.

    Args:
        image_ids: Sequence of integers or strings.
        path: String or path of the feature file.

    Returns:
        List of integers.
    """
    skipped = load_skipped(path)
    rows = [row for row, i in enumerate(image_ids) if i not in skipped]
    warn_of_skipped(path, len(image_ids) - len(rows), len(image_ids))
    return rows
