"""The feature file: a memory map of features, and its index.

A feature file is an array in NumPy's format, float16 `(n, P, D)`, of n images
with P positions of D features, so that `np.load(path, mmap_mode="r")` reads
it. The array is followed by its index, a JSON object with a checksum:

- `image_ids`: distinct integers or strings; and the `shape` of the array
- `crc32`: CRC-32 of the bytes of each image's features
- `counts`: number of positions of each image, followed by zeros; null if all
  images have P
- `skipped`: pairs of an image id and the reason why it has no features
- `backbone`, `layer`, `preprocessing`, `input_size` and `grid`: their source
"""

import contextlib
import io
import json
import os
import re
import shlex
import warnings
import zlib

import numpy as np
from numpy.typing import NDArray

from tfcap._io import rename
from tfcap._io import sealed
from tfcap._io import told_if_full
from tfcap._io import unsealed
from tfcap._printed import printed
from tfcap.data.entry_problems import listed
from tfcap.data.image_names import ImageNames

#: Images that are read at a time when all are read.
_BLOCK = 256


def load_features(path: str | os.PathLike, image_ids=None, lazy: bool = False):
    """Loads the features of some images.

    Args:
        path: String or path of a feature file `*.npy`.
        image_ids: Sequence of n integers or strings, in any order, with
            repetitions. Defaults to the images of the file, with a warning if
            some were left out when it was written.
        lazy: Boolean. If true, the file is mapped into memory, and rows are
            read when the result is indexed with an array of them. Its
            `image_ids` are those of its rows, and `skipped` is a dict from
            images that were left out to the reasons. Defaults to `False`.

    Returns:
        Float16 array of shape `(n, P, D)`, or an object that reads like one.
        Images with fewer positions than P are padded with zeros, with a
        warning, since an array has no mask; with `lazy`, batches have an
        `image_mask`.

    Raises:
        ValueError: If the file is damaged or of another format, or if an
            image is missing.
    """
    reader = FeatureReader(path, image_ids)
    if lazy:
        return reader
    if reader.counts is not None:
        warnings.warn(
            f"{path} has {reader.counts.min()} to {reader.counts.max()} "
            "positions per image, padded with zeros. Pass `lazy=True`: batches "
            "then have an `image_mask` of the real positions.",
            stacklevel=2,
        )
    return reader[np.arange(len(reader))]


def save_features(
    path: str | os.PathLike, image_ids, features, counts=None, **about
):
    """Writes features to a feature file, replacing an existing one.

    Args:
        path: String or path of a file `*.npy`.
        image_ids: Sequence of n distinct integers or strings.
        features: Array of shape `(n, P, D)` or `(n, D)`, or an object that
            reads like one; stored in half precision.
        counts: Sequence of n integers, number of positions of each image, if
            some have fewer than P. Defaults to `None`.
        **about: Further entries of the index, values that JSON can hold, such
            as the name of the `backbone`.

    Raises:
        ValueError: If the ids are not distinct, if a number is not finite in
            half precision, or if the features of all images are the same.

    Example:

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "features.npy")
    >>> tfcap.data.save_features(path, [7, 9], np.eye(2, 4))
    >>> tfcap.data.load_features(path, [9]).tolist()
    [[[0.0, 1.0, 0.0, 0.0]]]
    """
    *positions, size = features.shape[1:]
    shape = (*(positions or [1]), size)
    made = path, image_ids, shape, counts, False
    with FeatureWriter(*made, **about) as writer:
        left = writer.remaining
        for rows in np.split(left, range(_BLOCK, len(left), _BLOCK)):
            writer.write(rows, features[rows].reshape(-1, *shape))
        writer.finish()


class FeatureReader:
    """Reads rows of a feature file when it is indexed with an array of them.

    Args:
        path: String or path.
        image_ids: See `load_features()`.

    Attributes:
        shape: Tuple, `(n, P, D)`.
        image_ids: List of the n image ids.
        counts: Integer array `(n,)`, number of positions of each image; None
            if all have P.
        checksums: Uint32 array `(n,)`, CRC-32 of each image's features.
        skipped: Dict from the ids of images without features to the reasons.
    """

    __repr__ = printed

    def __init__(self, path: str | os.PathLike, image_ids=None):
        self.path = str(path)
        self._values, index = read_feature_file(path)
        self.skipped = dict(map(tuple, index["skipped"]))
        known = index["image_ids"]
        if image_ids is None:
            rows = [r for r, i in enumerate(known) if i not in self.skipped]
            if self.skipped:
                warnings.warn(
                    f"{path} lacks {len(self.skipped):,} of {len(known):,} "
                    "images, which could not be read when features were "
                    f"extracted: {listed([*self.skipped])}.",
                    stacklevel=3,
                )
        else:
            rows = self._find(known, np.asarray(image_ids, object).tolist())
        self._rows = np.array(rows, np.int64)
        self._crc32 = np.array(index["crc32"], np.uint32)
        # Each image is checked when it is first read.
        self._checked = np.zeros(len(known), bool)
        counts = index["counts"]
        self.counts = None if counts is None else np.array(counts)[self._rows]
        self.checksums = self._crc32[self._rows]
        self.image_ids = [known[row] for row in rows]
        self.shape = (len(rows), *self._values.shape[1:])
        self.dtype = self._values.dtype

    def __len__(self):
        return len(self._rows)

    def __getitem__(self, index):
        rows = self._rows[index]
        values = np.asarray(self._values[rows])
        new = np.flatnonzero(~self._checked[rows.ravel()])
        if len(new):
            flat, rows = values.reshape(-1, *self.shape[1:]), rows.ravel()
            damaged = rows[new][_crc32(flat[new]) != self._crc32[rows[new]]]
            if len(damaged):
                raise ValueError(
                    "`path` must name an undamaged feature file. "
                    f"Received: path={self.path!r}, where the "
                    f"features of rows {listed(damaged.tolist())} are damaged. "
                    "Copy it again, or extract the features to another file."
                )
            self._checked[rows] = True
        return values

    def _find(self, known, image_ids):
        """Finds the rows of images by their ids."""
        names = ["" if i in self.skipped else i for i in known]
        found = [*map(ImageNames(names).find, image_ids)]
        missing = [i for i, rows in zip(image_ids, found) if len(rows) != 1]
        if missing:
            reasons = [self.skipped[i] for i in missing if i in self.skipped]
            why = f"could not be read ({reasons[0]:.300})" if reasons else ""
            raise ValueError(
                "`image_ids` must be in the feature file. Received: "
                f"path={self.path!r}, which has images such as "
                f"{listed(known[:2])}, and lacks {len(missing)} of "
                f"{len(image_ids)} ({listed([*dict.fromkeys(missing)])}), of "
                f"which {len(reasons)} {why or 'were unreadable'}. Extract "
                "their features, too, with `--captions` for ids of one form, "
                "or leave them out."
            )
        return [row for (row,) in found]


def read_feature_file(path: str | os.PathLike) -> tuple:
    """Maps a feature file into memory, and reads its index.

    Returns:
        Memory map of shape `(n, P, D)`, and a dict.

    Raises:
        ValueError: If the file is damaged or of another format.
    """
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            raise ValueError("it is a folder or a pipe")
        values = np.load(path, mmap_mode="r", allow_pickle=False)
        with open(path, "rb") as file:
            file.seek(values.offset + values.nbytes)
            content = json.loads(file.read())
        index = unsealed(content)
        if index == content or index["shape"] != [*values.shape]:
            raise ValueError("its index belongs to another array")
        if values.dtype != "<f2":
            raise ValueError(f"it holds {values.dtype}")
    except OSError:
        raise
    except Exception as error:
        # NumPy evaluates the header as Python, which may raise anything.
        raise ValueError(
            "`path` must name a feature file. Received: "
            f"path={str(path)!r}, which is damaged or of another format "
            f"({error}). If it was copied, copy it again; convert features "
            "that another program wrote by `python -m tfcap.extract "
            f"--from {shlex.quote(str(path))} -o NEW.npy`."
        ) from error
    return values, index


class FeatureWriter:
    """Writes image features to a feature file, resumably.

    Features are written to `PATH.part`, and the numbers of finished rows, with
    their checksums, to `PATH.progress`. If the process is killed, another one
    continues with the rows that are missing or damaged. The finished file is
    renamed to `PATH`. A file that was begun with another backbone or other
    images is rejected, not overwritten.

    Args:
        path: String or path of the file `*.npy`.
        image_ids: Sequence of n distinct integers or strings.
        shape: Pair of integers, P and D.
        counts: See `save_features()`.
        resume: Boolean, whether to continue an existing file; if false, it is
            replaced. Defaults to `True`.
        **about: See `save_features()`.

    Attributes:
        done: Boolean array of shape `(n,)`, the rows that are written.
    """

    def __init__(
        self,
        path: str | os.PathLike,
        image_ids,
        shape,
        counts=None,
        resume: bool = True,
        **about,
    ):
        self.path = os.path.realpath(path)
        if not self.path.endswith(".npy"):
            raise ValueError(
                "`path` must end in .npy, as a feature file is an array in "
                f"NumPy's format. Received: path={str(path)!r}."
            )
        self.image_ids = _check_ids(image_ids)
        self.shape = (len(self.image_ids), *map(int, shape))
        counts = None if counts is None else np.asarray(counts).tolist()
        if counts and {*counts} == {self.shape[1]}:
            counts = None
        about = {"backbone": "precomputed", **about, "counts": counts}
        self._index = {
            "image_ids": self.image_ids,
            "shape": [*self.shape],
            **about,
        }
        self._crc32 = np.zeros(self.shape[0], np.uint32)
        self._file = None
        whole = resume and os.path.exists(self.path)
        self.done = np.full(self.shape[0], whole)
        if whole or not resume:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{self.path}.progress")
        if whole:
            self._check_same(read_feature_file(self.path)[1])
        else:
            self._begin()

    @property
    def remaining(self) -> NDArray:
        """Row numbers that are still to be written."""
        return np.flatnonzero(~self.done)

    def write(self, rows: NDArray, features: NDArray):
        """Writes features and marks their rows as done.

        Args:
            rows: Integer array of shape `(b,)`.
            features: Float array of shape `(b, P, D)`.

        Raises:
            ValueError: If the shape is wrong, or if a value is not finite in
                half precision.
            OSError: If the disk is full.
        """
        with np.errstate(over="ignore"):
            features = np.asarray(features).astype("<f2")
        features = features.reshape(len(rows), *self.shape[1:])
        finite = np.isfinite(features).all(axis=(1, 2))
        if not finite.all():
            image = self.image_ids[rows[int(np.argmin(finite))]]
            raise ValueError(
                "`features` must be finite in half precision. Received: "
                f"infinity or NaN for image {image}. Scale the features, or "
                "check the image and the preprocessing."
            )
        self._crc32[rows] = _crc32(features)
        with told_if_full(self.path, "What is done is kept"):
            for row, values in zip(rows, features):
                self._seek(row)
                self._file.write(values.tobytes())
            self._file.flush()
            lines = [f"{row} {self._crc32[row]}\n" for row in rows]
            self._progress.write("".join(lines))
            self._progress.flush()
        self.done[rows] = True

    def finish(self, skipped: dict | None = None):
        """Completes the file and renames it to its path.

        Args:
            skipped: Dict from the rows of images without features to the
                reasons. All other rows must be written. Defaults to `None`,
                no such images.
        """
        if self._file is None:
            return
        known = self._crc32[self.done]
        if not len(known) or len(known) > 1 and (known == known[0]).all():
            raise ValueError(
                "`features` must differ between images. Received: the same "
                f"for all {len(known):,} images. Check the weights, the layer "
                "and the preprocessing of the backbone, and remove "
                f"{self.path}.progress."
            )
        pairs = [(self.image_ids[r], y) for r, y in (skipped or {}).items()]
        crc32 = self._crc32.tolist()
        index = sealed({**self._index, "crc32": crc32, "skipped": pairs})
        with told_if_full(self.path, "What is done is kept"):
            self._seek(len(self.done))
            self._file.write(json.dumps(index).encode())
            self._file.truncate()
            self._file.flush()
            os.fsync(self._file.fileno())
            self.close()
            rename(f"{self.path}.part", self.path)
        os.unlink(f"{self.path}.progress")

    def close(self):
        """Closes the file; what is done is kept."""
        if self._file is not None:
            # Closing retries the writes that found the disk full.
            with told_if_full(self.path, "What is done is kept"):
                self._progress.close()
                self._file.close()
            self._file = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _begin(self):
        """Opens the files of an interrupted run, or creates them."""
        head = {"descr": "<f2", "fortran_order": False, "shape": self.shape}
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(header, head)
        self._offset = header.tell()
        self._bytes = 2 * self.shape[1] * self.shape[2]
        part, progress = f"{self.path}.part", f"{self.path}.progress"
        lines = []
        if os.path.exists(progress) and os.path.exists(part):
            with open(progress, encoding="ascii", errors="replace") as file:
                first, *lines = file.read().split("\n")
        if lines:
            self._check_same(json.loads(first))
        with told_if_full(self.path):
            self._file = open(part, "r+b" if lines else "w+b")
            self._file.write(header.getbuffer())
            self._resume(lines)
            self._progress = open(progress, "a" if lines else "w")
            # Ends a line that was cut off.
            first = "" if lines else json.dumps(self._index)
            self._progress.write(f"{first}\n")
            self._progress.flush()
            os.fsync(self._progress.fileno())

    def _resume(self, lines):
        """Marks rows whose features match their checksums as done."""
        for line in filter(re.compile(r"\d{1,9} \d{1,10}").fullmatch, lines):
            row, crc32 = map(int, line.split())
            if row < len(self.done):
                self._seek(row)
                content = self._file.read(self._bytes)
                self.done[row] = zlib.crc32(content) == crc32
                self._crc32[row] = crc32

    def _seek(self, row):
        self._file.seek(self._offset + int(row) * self._bytes)

    def _check_same(self, known):
        """Rejects an existing file of other features."""
        wanted = json.loads(json.dumps(self._index))
        for name in wanted:
            if known.get(name) != wanted[name]:
                raise ValueError(
                    f"`{name}` must be that of the existing file. "
                    f"Received: {name}={wanted[name]!r:.200} for "
                    f"path={self.path!r}, which has {known.get(name)!r:.200}. "
                    "Write to another file, or remove this one and its "
                    ".progress file."
                )


def _check_ids(image_ids):
    """Returns ids as JSON keeps them, integers or strings."""
    ids = [i.item() if isinstance(i, np.generic) else i for i in image_ids]
    if not ids or len({*ids}) < len(ids):
        raise ValueError(
            f"`image_ids` must be distinct. Received: {len(ids)} ids, "
            f"{len({*ids})} of them distinct. Pass each image once."
        )
    return ids


def _crc32(features):
    """CRC-32 of the features of each image, as the file holds them."""
    values = np.ascontiguousarray(features)
    return np.array([zlib.crc32(row) for row in values], np.uint32)
