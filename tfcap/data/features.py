"""Reading the feature file, the one format for what backbones see.

A feature file is HDF5 with n images, a grid of P positions and D features:

- `features`: float16 `(n, P, D)`, contiguous, the rows of the grid one after
  another
- `image_ids`: int64 or UTF-8 strings `(n,)`, distinct
- `counts`: int32 `(n,)`, positions of each image, where some have fewer than
  P, and zeros for the rest; absent where all have P
- `done`: Boolean `(n,)`, whether the image's features have been written
- `checksums`: uint32 `(n,)`, CRC-32 of the bytes of each image's features
- attributes: `tfcap_features`, the version of the format (2); `backbone`,
  `layer` and `preprocessing`, strings; `input_size` and `grid`, heights and
  widths
- a user block with the checksum of all else, see `tfcap.data.hdf5_file`

Version 1 has no checksums: it is read, with a warning.
`FeatureWriter` writes the file.
"""

import contextlib
import os
import shlex
import threading
import warnings
import zlib

import numpy as np
from numpy.typing import NDArray

from tfcap.data.entry_problems import listed
from tfcap.data.hdf5_file import check_checksum
from tfcap.data.hdf5_file import check_hdf5
from tfcap.data.hdf5_file import dataset_offsets
from tfcap.data.hdf5_file import read_rows
from tfcap.data.image_file import load_skipped
from tfcap.data.image_file import warn_of_skipped
from tfcap.data.image_names import ImageNames

VERSION = 2
#: Datasets whose values are written after the file is laid out.
CHANGING = ("features", "done", "checksums")
#: Bytes that are in memory twice, at most, while features are read.
_PART_BYTES = 2**26
#: Attributes that say what the features are.
ABOUT = ("backbone", "layer", "input_size", "preprocessing", "grid")
#: Hint for features without information.
DEAD = (
    "Look at the weights, the layer and the preprocessing of the backbone, "
    "which sees nothing of an image"
)
#: What h5py raises where a file is not as it should be.
_DAMAGE = (KeyError, OSError, RuntimeError, TypeError, ValueError)
_HINT = (
    "If it was copied, copy it again; if another program wrote it, it may be "
    "sound: `python -m tfcap.extract --from {path} -o NEW.h5` converts it, or "
    "tells what is in it. Otherwise extract the features to another file."
)


def load_features(path: str | os.PathLike, image_ids=None, lazy: bool = False):
    """Reads the features of some images.

    Args:
        path: String or path of a feature file.
        image_ids: Integers or strings, a sequence of n, in the wanted order,
            with repetitions where wanted. Defaults to the images of the file,
            with a warning if some were left out, see `load_skipped()`.
        lazy: Boolean. If true, nothing is read now: the result is indexed
            with an array of rows, and reads those. Defaults to `False`.

    Returns:
        Float16 array of shape `(n, P, D)`, or what reads like one. Where
        images have fewer positions than P, the rest is zeros, which an array
        does not tell from features: a warning says so. What is read lazily
        knows, and batches have an `image_mask`.

    Raises:
        ValueError: If the file is damaged, of another format or unfinished,
            or if an image is not in it; names the file, and what to do.
    """
    reader = _Features(path, image_ids)
    if lazy:
        return reader
    if reader.counts is not None:
        warnings.warn(
            f"{path} has {reader.counts.min()} to {reader.counts.max()} "
            "positions an image, padded with zeros. Pass `lazy=True`: then "
            "batches have an `image_mask` of those that are there.",
            stacklevel=2,
        )
    return reader[np.arange(len(reader))]


class _Features:
    """Reads rows when indexed; pickles by its path."""

    def __init__(self, path, image_ids=None):
        self.path = str(path)
        self.file, self.about = open_features(path)
        done = self.about["done"]
        skipped = _skipped(self.path, self.about)
        sums = self.about["checksums"]
        if all_same(None if sums is None else sums[done]):
            raise ValueError(
                "`path` must name a file of features that differ between "
                f"images. Received: path={self.path!r}, where those of all "
                f"{len(done):,} images are the same. {DEAD}, and extract the "
                "features again."
            )
        known = self.about["image_ids"]
        self.rows = np.flatnonzero(done)
        if image_ids is None:
            warn_of_skipped(path, len(skipped), len(done))
        else:
            self.rows = self._find(known, image_ids, skipped)
        data = self.file["features"]
        self.shape = (len(self.rows), *data.shape[1:])
        self.dtype = data.dtype
        self._lock = threading.Lock()
        # Each image is checked when it is first read.
        self._checked = np.zeros(len(known), bool)

    def _find(self, known, image_ids, skipped):
        kept = ["" if x in skipped else x for x in known.tolist()]
        image_ids = np.asarray(image_ids, object).tolist()
        found = map(ImageNames(kept).find, image_ids)
        rows = [row[0] if len(row) == 1 else -1 for row in found]
        rows = np.array(rows, np.int64)
        missing = [image for image, row in zip(image_ids, rows) if row < 0]
        if missing:
            first = listed(list(dict.fromkeys(missing)))
            raise ValueError(
                "`image_ids` must be in the feature file. Received: "
                f"path={self.path!r}, which lacks {len(missing)} of "
                f"{len(image_ids)} images ({first}). "
                f"{_hint(missing, skipped, known)}"
            )
        return rows

    def __len__(self):
        return len(self.rows)

    @property
    def checksums(self):
        """CRC-32 of each image's features `(n,)`; None in version 1."""
        known = self.about["checksums"]
        return None if known is None else known[self.rows]

    @property
    def counts(self):
        """Positions of each image `(n,)`; None where all have P."""
        known = self.about["counts"]
        return None if known is None else known[self.rows]

    @property
    def stored_rows(self):
        """Integer array `(n,)`, where in the file each row lies."""
        return self.rows

    @property
    def stored_total(self):
        """Integer, how many images the file has."""
        return len(self.about["image_ids"])

    def __getitem__(self, index):
        rows, inverse = np.unique(self.rows[index], return_inverse=True)
        shape = (*inverse.shape, *self.shape[1:])
        if np.array_equal(inverse.ravel(), np.arange(len(rows))):
            return self._rows_of(rows).reshape(shape)
        out = np.empty((inverse.size, *self.shape[1:]), self.dtype)
        order = np.argsort(inverse, axis=None, kind="stable")
        positions = inverse.ravel()[order]
        # A part at a time: in another order than that of the file, all of it
        # would be in memory twice.
        size = max(1, _PART_BYTES // max(1, out[:1].nbytes))
        for start in range(0, len(rows), size):
            part = rows[start : start + size]
            values = self._rows_of(part)
            span = slice(
                *np.searchsorted(positions, (start, start + len(part)))
            )
            out[order[span]] = values[positions[span] - start]
        return out.reshape(shape)

    def _rows_of(self, rows):
        """Features of some rows of the file, once they are as written."""
        # Threads that make batches share the file.
        with self._lock:
            values = read_rows(self.file, rows)
            self._check(rows, values)
        return values

    def _check(self, rows, values):
        if self.about["checksums"] is None or self._checked[rows].all():
            return
        damaged = rows[checksums(values) != self.about["checksums"][rows]]
        if len(damaged):
            names = self.about["image_ids"][damaged].tolist()
            raise ValueError(
                "`path` must name a feature file that is as it was written. "
                f"Received: path={self.path!r}, where the features of "
                f"{len(names)} images are damaged ({listed(names)}). Run the "
                "same extraction again, which repeats these; if the file "
                "was copied, copy it again."
            )
        self._checked[rows] = True

    def __reduce__(self):
        return _Features, (self.path, self.about["image_ids"][self.rows])


def open_features(path: str | os.PathLike):
    """Opens a feature file and checks that it is one, and whole.

    Returns:
        The `h5py.File`, and a dict of its `image_ids`, `done` and
        `checksums`, arrays, of what is in `ABOUT`, and of the `offsets` of
        what its writer may change. The last, and the checksums, are None in a
        file of version 1.
    """
    file, about = _opened(path)
    if about["offsets"] is None:
        warnings.warn(
            f"{path} is of version 1, without checksums: damage in it does not "
            "show. Extract the features again to have them.",
            stacklevel=3,
        )
    return file, about


def _opened(path):
    """A feature file, and what is in it but its features."""
    import h5py

    file = None
    try:
        offsets = check_checksum(path)
        file = h5py.File(path)
        check_hdf5(file, os.path.getsize(path))
        version = file.attrs.get("tfcap_features")
        if version is None:
            raise ValueError("it is HDF5 of another program")
        if version != (1 if offsets is None else VERSION):
            raise ValueError(f"its `tfcap_features` is {version}")
        return file, _about(file, offsets)
    except FileNotFoundError:
        raise
    except _DAMAGE as error:
        if file is not None:
            with contextlib.suppress(*_DAMAGE):
                file.close()
        raise ValueError(
            "`path` must name a feature file. Received: "
            f"path={str(path)!r}, which is not in tfcap's format, or not "
            f"whole ({error}). "
            f"{_HINT.format(path=shlex.quote(str(path)))}"
        ) from error


def all_same(sums: NDArray | None) -> bool:
    """Check whether features of several images are all the same.

    Args:
        sums: Uint32 array of shape `(b,)`, their `checksums()`; or None.
    """
    return sums is not None and len(sums) > 1 and bool((sums == sums[0]).all())


def checksums(features: NDArray) -> NDArray:
    """CRC-32 of the features of each image, as the file holds them.

    Args:
        features: Float16 array of shape `(b, P, D)`.

    Returns:
        Uint32 array of shape `(b,)`.
    """
    values = np.ascontiguousarray(features, "<f2")
    return np.array([zlib.crc32(row) for row in values], np.uint32)


def _about(file, offsets):
    """All of a file but its features."""
    ids = file["image_ids"]
    count = len(ids)
    if any(file[name].shape[:1] != (count,) for name in _rows(offsets)):
        raise ValueError(f"it is not laid out for {count:,} images")
    # A file of version 1 has no checksums.
    if offsets is not None and offsets != dataset_offsets(file, CHANGING):
        raise ValueError("its checksum covers other offsets")
    about = {name: file.attrs[name] for name in ABOUT}
    about["image_ids"] = ids.asstr()[:] if ids.dtype.kind == "O" else ids[:]
    about["done"] = file["done"][:]
    counts = file["counts"][:] if "counts" in file else None
    most = file["features"].shape[1]
    if counts is not None and not (
        counts.shape == (count,) and ((counts > 0) & (counts <= most)).all()
    ):
        raise ValueError("its `counts` are not those of its positions")
    about["counts"] = counts
    about["offsets"] = offsets
    about["checksums"] = None if offsets is None else file["checksums"][:]
    return about


def _rows(offsets):
    """Datasets with a row for each image; version 1 has no checksums."""
    return CHANGING if offsets is not None else ("features", "done")


def _skipped(path, about):
    """Images of a finished file that were left out; refuses any other."""
    done = about["done"]
    left = about["image_ids"][~done].tolist()
    skipped = load_skipped(path) if left else {}
    if not set(left) <= set(skipped) or not done.any() and len(done):
        raise ValueError(
            "`path` must name a finished feature file. Received: "
            f"path={path!r}, where {int(done.sum())} of {len(done)} "
            "images are done. Run the same extraction again: it goes on "
            "where it stopped."
        )
    return {image: skipped[image] for image in left}


def _hint(missing, skipped, known):
    """The sentence that says what to do about images without features."""
    text = {isinstance(image, str) for image in known}
    if text and text.isdisjoint(isinstance(image, str) for image in missing):
        return (
            f"It knows images by {'text' if True in text else 'numbers'}, as "
            f"{known[0]!s:.80}: extract with `--captions`, whose ids it takes."
        )
    left = [image for image in missing if image in skipped]
    if not left:
        return "Extract features of these images, too, or leave them out."
    return (
        f"{len(left)} of them could not be read when features were extracted: "
        f"{skipped[left[0]]:.300}. Leave out what `tfcap.data.load_skipped()` "
        "names, or mend the images and extract again."
    )
