"""Reading the feature file, the one format for what backbones see.

A feature file is HDF5 with n images, a grid of P positions and D features:

- `features`: float16 `(n, P, D)`, one chunk per image, the rows of the grid
  one after another
- `image_ids`: int64 or UTF-8 strings `(n,)`, distinct
- `done`: Boolean `(n,)`, whether the image's features have been written
- attributes: `tfcap_features`, the version of the format (1); `backbone`,
  `layer` and `preprocessing`, strings; `input_size` and `grid`, heights and
  widths

`FeatureWriter` writes it.
"""

import h5py
import numpy as np

from tfcap.data.entry_problems import listed

VERSION = 1


def load_features(path, image_ids=None, lazy=False):
    """Reads the features of some images.

    Args:
        path: String or path of a feature file.
        image_ids: Integers or strings, a sequence of n, in the wanted order,
            with repetitions where wanted. Defaults to the images of the file.
        lazy: Boolean. If true, nothing is read now: the result is indexed
            with an array of rows, and reads those. Defaults to `False`.

    Returns:
        Float16 array of shape `(n, P, D)`, or what reads like one.

    Raises:
        ValueError: If the file is damaged, of another format or unfinished,
            or if an image is not in it; names the file and the cure.
    """
    reader = _Features(path, image_ids)
    return reader if lazy else reader[np.arange(len(reader))]


class _Features:
    """Reads rows when indexed; pickles by its path."""

    def __init__(self, path, image_ids=None):
        self.path = str(path)
        self.file = open_features(path)
        done = self.file["done"][:]
        if not done.all():
            raise ValueError(
                "`path` must name a finished feature file. Received: "
                f"path={self.path!r}, where {int(done.sum())} of {len(done)} "
                "images are done. Run the same extraction again: it goes on "
                "where it stopped."
            )
        known = file_image_ids(self.file)
        self.rows = np.arange(len(known))
        if image_ids is not None:
            self.rows = self._find(known, image_ids)
        data = self.file["features"]
        self.shape = (len(self.rows), *data.shape[1:])
        self.dtype = data.dtype

    def _find(self, known, wanted):
        row_of = {image: row for row, image in enumerate(known.tolist())}
        wanted = np.asarray(wanted, object).tolist()
        rows = np.array([row_of.get(image, -1) for image in wanted], np.int64)
        missing = [image for image, row in zip(wanted, rows) if row < 0]
        if missing:
            first = listed(list(dict.fromkeys(missing)))
            raise ValueError(
                "`image_ids` must be in the feature file. Received: "
                f"path={self.path!r}, which lacks {len(missing)} of "
                f"{len(wanted)} images ({first}). Extract features of these "
                "images, too, or leave them out."
            )
        return rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        rows, inverse = np.unique(self.rows[index], return_inverse=True)
        data = self.file["features"]
        out = np.empty((len(rows), *data.shape[1:]), data.dtype)
        # Runs of neighbors in one read each: h5py's own lists of rows take
        # quadratic time.
        starts = np.flatnonzero(np.diff(rows, prepend=-2) != 1)
        for start, stop in zip(starts, [*starts[1:], len(rows)]):
            first, last = int(rows[start]), int(rows[stop - 1])
            data.read_direct(
                out, np.s_[first : last + 1], np.s_[int(start) : int(stop)]
            )
        if np.array_equal(inverse, np.arange(len(rows))):
            return out.reshape(*inverse.shape, *data.shape[1:])
        return out[inverse]

    def __reduce__(self):
        ids = file_image_ids(self.file)[self.rows]
        return _Features, (self.path, ids)


def open_features(path, mode="r"):
    """Opens a feature file and checks that it is one."""
    try:
        file = h5py.File(path, mode)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ValueError(
            "`path` must name a feature file. Received: "
            f"path={str(path)!r}, which is cut off or is not HDF5 ({error}). "
            "Delete it and extract the features again; if it was copied, copy "
            "it again."
        ) from error
    version = file.attrs.get("tfcap_features")
    if version != VERSION:
        file.close()
        raise ValueError(
            "`path` must name a feature file. Received: "
            f"path={str(path)!r}, whose attribute `tfcap_features` is "
            f"{version}, not {VERSION}. Write the file with "
            "`extract_features()` or `FeatureWriter`."
        )
    return file


def file_image_ids(file):
    """Ids of the images of an open feature file.

    Returns:
        Array of shape `(n,)`: int64, or object where ids are text.
    """
    ids = file["image_ids"]
    return ids.asstr()[:] if ids.dtype.kind == "O" else ids[:]
