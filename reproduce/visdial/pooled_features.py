"""Pooled image features that lie in one or several `.npz` files."""

import numpy as np

from tfcap.io import load_arrays
from tfcap.io import malformed


def pooled_features(paths, image_ids):
    """Reads one vector for each image, a grid of one position.

    Args:
        paths: Strings or paths of `.npz` files with `image_ids` `(n,)` and
            `features` `(n, D)`, of one width D and of different images.
        image_ids: Integer array of shape `(M,)`, in the wanted order.

    Returns:
        Float32 array of shape `(M, 1, D)`.

    Raises:
        ValueError: If a file is damaged or holds something else, if widths
            differ, or if an image is in no file or there twice.

    Example:

    >>> import pathlib, tempfile
    >>> from reproduce.visdial.pooled_features import pooled_features
    >>> path = pathlib.Path(tempfile.mkdtemp(), "features.npz")
    >>> np.savez(path, image_ids=[7, 9], features=[[0.0, 1.0], [2.0, 3.0]])
    >>> pooled_features([path], np.array([9, 7]))[:, 0]
    array([[2., 3.],
           [0., 1.]], dtype=float32)
    """
    return pooled_source(paths)(image_ids)


def pooled_source(paths):
    """Reads files of vectors, once for several splits.

    Args:
        paths: As those of `pooled_features()`.

    Returns:
        Function from image ids to their features, see `pooled_features()`.

    Raises:
        ValueError: As `pooled_features()` does.
    """
    files = [_read(path) for path in paths]
    names = ", ".join(map(str, paths))
    widths = sorted({table.shape[1] for _, table in files})
    if len(widths) > 1:
        raise ValueError(
            "`paths` must be of features of one width. Received: "
            f"{names} of widths {widths}. Keep those of one backbone together."
        )
    known = np.concatenate([ids for ids, _ in files])
    order = np.argsort(known)
    twice = np.flatnonzero(np.diff(known[order]) == 0)
    if twice.size:
        raise ValueError(
            "`paths` must hold the features of an image once. Received: "
            f"{names}, where {len(twice)} are there again, such as image "
            f"{known[order][twice[0]]}. Take the repeated ones out."
        )
    tables = [table for _, table in files]
    # A copy of one table would take its memory twice.
    table = tables[0] if len(tables) == 1 else np.concatenate(tables)

    def features(image_ids):
        place = np.searchsorted(known[order], image_ids)
        found = known[order][np.minimum(place, len(known) - 1)]
        if (found != image_ids).any():
            missing = np.asarray(image_ids)[found != image_ids]
            raise ValueError(
                "`paths` must hold the features of every image. Received: "
                f"{names}, without {len(missing)} images, such as "
                f"{missing[:3].tolist()}. Extract them, or take the dialogs "
                "out."
            )
        return table[order[place]].astype("float32", copy=False)[:, None]

    return features


def _read(path):
    problem = "are no `image_ids` and `features`"
    hint = "Give an `.npz` file of both, `(n,)` and `(n, D)`."
    try:
        found = load_arrays(path, ("image_ids", "features"), sealed=False)
    except ValueError as error:
        raise malformed(path, "", f"{problem}: {error}", hint) from error
    ids, table = found["image_ids"], found["features"]
    if (
        ids.ndim != 1
        or table.ndim != 2
        or len(ids) != len(table)
        or not ids.size
    ):
        shapes = f"they have shapes {ids.shape} and {table.shape}"
        raise malformed(path, "", f"{problem}: {shapes}", hint)
    return ids, table
