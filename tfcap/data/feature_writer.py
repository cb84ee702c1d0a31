"""Writing the feature file, resumably."""

import errno
import os
import re

import numpy as np
from numpy.typing import NDArray

from tfcap._io import told_if_full
from tfcap._io import whole_path
from tfcap.data.entry_problems import listed
from tfcap.data.entry_problems import number_ids
from tfcap.data.features import CHANGING
from tfcap.data.features import DEAD
from tfcap.data.features import VERSION
from tfcap.data.features import all_same
from tfcap.data.features import checksums
from tfcap.data.features import open_features
from tfcap.data.hdf5_file import allocate
from tfcap.data.hdf5_file import dataset_offsets
from tfcap.data.hdf5_file import new_file
from tfcap.data.hdf5_file import read_rows
from tfcap.data.hdf5_file import write_checksum

#: Images of which the features cannot by chance be the same.
_ENOUGH = 16


class FeatureWriter:
    """Writes image features to the feature file, going on where it stopped.

    The whole file is laid out before the first feature is written, and a row
    is marked as done after its features were written, so a process that is
    killed leaves a file that another can go on with. What is done is read
    again first: images whose features were damaged meanwhile are named, and
    are to be written again. A file that was begun with another backbone or
    other images is refused, not overwritten.

    Args:
        path: String or path of the HDF5 file. See `tfcap.data.features` for
            its format.
        image_ids: Integers or strings, a sequence of n, distinct.
        grid: Pair of integers, height and width of the grid of positions;
            P is their product.
        size: Integer, features of a position, D.
        backbone: String, name of what makes the features. Defaults to
            `"precomputed"`.
        layer: String, the layer that is read. Defaults to `""`.
        input_size: Pair of integers, height and width of the images that the
            backbone sees. Defaults to `(0, 0)`, unknown.
        preprocessing: String, how pixels are scaled. Defaults to `""`.
        counts: Integers, a sequence of n, positions of each image, the first
            of P, where some have fewer; the others are to be zeros. Defaults
            to `None`, all have P.

    Example:

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "features.h5")
    >>> with tfcap.data.FeatureWriter(path, [7, 9], (1, 1), 4) as writer:
    ...     writer.write([0, 1], np.eye(2, 4)[:, None])
    >>> tfcap.data.load_features(path, [9]).shape
    (1, 1, 4)
    """

    def __init__(
        self,
        path: str | os.PathLike,
        image_ids,
        grid: tuple[int, int],
        size: int,
        backbone: str = "precomputed",
        layer: str = "",
        input_size: tuple[int, int] = (0, 0),
        preprocessing: str = "",
        counts=None,
    ):
        self.path = str(path)
        self.image_ids = _id_array(image_ids)
        if len(np.unique(self.image_ids)) != len(self.image_ids):
            raise ValueError(
                "`image_ids` must be distinct. Received: "
                f"{len(self.image_ids)} ids, "
                f"{len(np.unique(self.image_ids))} of them distinct. Pass "
                "each image once."
            )
        self.attributes = {
            "backbone": backbone,
            "layer": layer,
            "input_size": list(map(int, input_size)),
            "preprocessing": preprocessing,
            "grid": list(map(int, grid)),
        }
        self.shape = (len(self.image_ids), int(np.prod(grid)), int(size))
        counts = np.asarray([] if counts is None else counts, "<i4")
        self.counts = None if (counts == self.shape[1]).all() else counts
        target = os.path.realpath(path)
        if not os.path.exists(self.path):
            # Where a link leads, which stays one.
            self.path = target
            self._lay_out()
        file, known = open_features(self.path)
        with file:
            self._check_same(file, known)
            self.done, self._offsets = known["done"], known["offsets"]
            self._sums = known["checksums"]
            self._leave_out_damaged(file, self._sums)
        # Not by HDF5, which may change more than what is written.
        self._file = open(self.path, "r+b", buffering=0)

    @property
    def remaining(self):
        """Row numbers that are still to be written."""
        return np.flatnonzero(~self.done)

    def write(self, rows: NDArray, features: NDArray):
        """Writes features and marks their rows as done.

        Args:
            rows: Integer array of shape `(b,)`.
            features: Float array of shape `(b, P, D)`.

        Raises:
            ValueError: If the shape is another, if a value is not finite or
                all of an image vanish in half precision, or if the features
                of all images so far are the same, of at least 16 or of all
                that there are.
            OSError: If the disk is full.
        """
        features = np.asarray(features)
        if features.shape != (len(rows), *self.shape[1:]):
            raise ValueError(
                f"`features` must have shape {(len(rows), *self.shape[1:])}. "
                f"Received: features.shape={features.shape}."
            )
        features = self._halved(rows, features)
        self._check_differ(rows, features)
        done = f"{int(self.done.sum())} of {len(self.done)} images are done"
        with told_if_full(self.path, f"{done} and kept"):
            self._put_rows(rows, features)
        self.done[rows] = True

    def close(self):
        """Closes the file, once all that was written is on the disk."""
        if self._file.closed:
            return
        # Until here a power failure may take features back and leave their
        # marks: their checksums tell.
        kept = "What is on the disk is kept"
        with told_if_full(self.path, kept):
            os.fsync(self._file.fileno())
            self._file.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _halved(self, rows, features):
        """Features in half precision, of which they must be something."""
        nonzero = features.any(axis=(1, 2))
        with np.errstate(over="ignore"):
            features = features.astype(np.float16)
        finite = np.isfinite(features).all(axis=(1, 2))
        if not finite.all():
            image = self.image_ids[rows[int(np.argmin(finite))]]
            raise ValueError(
                "`features` must be finite in half precision. Received: "
                f"infinite or undefined ones of image {image}. Scale them, or "
                "look at the image and the preprocessing."
            )
        lost = nonzero & ~features.any(axis=(1, 2))
        if lost.any():
            image = self.image_ids[rows[int(np.argmax(lost))]]
            raise ValueError(
                "`features` must not vanish in half precision. Received: only "
                f"numbers that are too small, of image {image}. {DEAD}; or "
                "scale them."
            )
        return features

    def _check_differ(self, rows, features):
        """Refuses features that are the same whatever the image is."""
        self._sums[rows] = checksums(features)
        known = self.done.copy()
        known[rows] = True
        count = int(known.sum())
        enough = count == len(known) or count >= _ENOUGH
        if enough and all_same(self._sums[known]):
            raise ValueError(
                "`features` must differ between images. Received: the same "
                f"ones of all {count:,} images so far, such as image "
                f"{self.image_ids[rows[0]]}. {DEAD}."
            )

    def _put_rows(self, rows, features):
        for row, values in zip(rows, features):
            self._put("features", row, values.astype("<f2"))
        for row, value in zip(rows, self._sums[rows]):
            self._put("checksums", row, value.astype("<u4"))
        for row in rows:
            self._put("done", row, np.True_)

    def _put(self, name, row, value):
        """Writes one row of a dataset."""
        data = value.tobytes()
        self._file.seek(self._offsets[name][0] + int(row) * len(data))
        while data:
            data = data[self._file.write(data) :]

    def _lay_out(self):
        """Makes the file under another name, then moves it into place."""
        count = self.shape[0]
        with (
            whole_path(self.path) as begun,
            told_if_full(self.path, "Nothing was begun"),
        ):
            with new_file(begun) as file:
                allocate(file, "features", self.shape)
                file["image_ids"] = self.image_ids
                if self.counts is not None:
                    file["counts"] = self.counts
                file["done"] = np.zeros(count, bool)
                file["checksums"] = np.zeros(count, "<u4")
                file.attrs.update(self.attributes)
                file.attrs["tfcap_features"] = VERSION
                changing = dataset_offsets(file, CHANGING)
            _take_room(begun)
            write_checksum(begun, changing)

    def _leave_out_damaged(self, file, expected):
        """Takes back that images are done whose features are not as written."""
        done = np.flatnonzero(self.done)
        damaged = [
            row
            for some in np.array_split(done, len(done) // 64 + 1)
            for row in some[checksums(read_rows(file, some)) != expected[some]]
        ]
        if damaged:
            names = self.image_ids[damaged].tolist()
            print(
                f"{self.path}: the features of {len(names)} images are damaged "
                f"({listed(names)}) and are extracted again."
            )
            self.done[damaged] = False

    def _check_same(self, file, known):
        if known["checksums"] is None:
            raise ValueError(
                "`path` must name a file of this version to go on with. "
                f"Received: path={self.path!r}, of version 1, without "
                "checksums. Write to another file."
            )
        existing, expected = {}, {**self.attributes, "shape": list(self.shape)}
        for name in self.attributes:
            value = known[name]
            existing[name] = (
                value.tolist() if hasattr(value, "tolist") else value
            )
        existing["shape"] = list(file["features"].shape)
        different = [
            name for name in expected if existing[name] != expected[name]
        ]
        for name in different:
            raise ValueError(
                f"`{name}` must be that of the file to go on with. Received: "
                f"{name}={expected[name]!r} for path={self.path!r}, which was "
                f"begun with {existing[name]!r}. Write to another file."
            )
        for name in ("image_ids", "counts"):
            if not np.array_equal(known[name], getattr(self, name)):
                raise ValueError(
                    f"`{name}` must be those of the file to go on with, in the "
                    f"same order. Received: other ones for "
                    f"path={self.path!r}. Write to another file."
                )


def _id_array(image_ids):
    """Ids as h5py keeps them: int64, or objects that are text."""
    import h5py

    ids = np.asarray(image_ids, object)
    texts = [image_id for image_id in ids if isinstance(image_id, str)]
    if not texts:
        return number_ids(image_ids)
    # Half of a character, which stands for a byte of a file's name.
    strange = [text for text in texts if re.search(r"[\ud800-\udfff]", text)]
    if strange:
        raise ValueError(
            "`image_ids` must be text that UTF-8 can write. Received: "
            f"{len(strange):,} that it cannot, such as {strange[0]!r:.200}. "
            "Rename such files, as `convmv -f latin1 -t utf8` does."
        )
    if len(texts) < len(ids):
        raise ValueError(
            "`image_ids` must be all integers or all strings. Received: "
            f"{len(texts)} strings among {len(ids)} ids. Pass ids of one kind."
        )
    return ids.astype(h5py.string_dtype())


def _take_room(path):
    """Takes the room of a file on the disk, which is a hole until then.

    A disk that is too small is found before the first image rather than after
    hours.
    """
    if not hasattr(os, "posix_fallocate"):
        return
    with open(path, "r+b") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, os.path.getsize(path))
        except OSError as error:
            # Some disks cannot: then it is found when the room is needed.
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
                raise
