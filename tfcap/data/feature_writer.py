"""Writing the feature file, resumably."""

import errno
import os

import h5py
import numpy as np

from tfcap.data.entry_problems import listed
from tfcap.data.features import VERSION
from tfcap.data.features import checksums
from tfcap.data.features import open_features
from tfcap.data.features import read_rows
from tfcap.data.features import seal
from tfcap.text.whole_file import told_if_full


class FeatureWriter:
    """Writes image features to the feature file, going on where it stopped.

    The whole file is laid out before the first feature is written, and a row
    is marked as done after its features are on disk, so a process that is
    killed leaves a file that another can go on with. What is done is read
    again first: images whose features were damaged meanwhile are named, and
    are to be written anew. A file that was begun with another backbone or
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

    Example:

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "features.h5")
    >>> with tfcap.data.FeatureWriter(path, [7, 9], (1, 1), 4) as writer:
    ...     writer.write([0, 1], np.ones((2, 1, 4)))
    >>> tfcap.data.load_features(path, [9]).shape
    (1, 1, 4)
    """

    def __init__(
        self,
        path,
        image_ids,
        grid,
        size,
        backbone="precomputed",
        layer="",
        input_size=(0, 0),
        preprocessing="",
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
        if not os.path.exists(self.path):
            self._lay_out()
        self._file, found = open_features(self.path, "r+")
        try:
            self._check_same(found)
            self.done, self._checksums = found["done"], found["checksums"]
            self._leave_out_damaged()
        except ValueError:
            self.close()
            raise

    @property
    def remaining(self):
        """Row numbers that are still to be written."""
        return np.flatnonzero(~self.done)

    def write(self, rows, features):
        """Writes features and marks their rows as done.

        Args:
            rows: Integer array of shape `(b,)`.
            features: Float array of shape `(b, P, D)`.

        Raises:
            ValueError: If the shape is another, or if a value is not finite
                in half precision.
            OSError: If the disk is full.
        """
        features = np.asarray(features)
        if features.shape != (len(rows), *self.shape[1:]):
            raise ValueError(
                f"`features` must have shape {(len(rows), *self.shape[1:])}. "
                f"Received: features.shape={features.shape}."
            )
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
        done = self.done.copy()
        done[rows] = True
        kept = f"{int(self.done.sum())} of {len(done)} images are done and kept"
        with told_if_full(self.path, kept):
            for row, values in zip(rows, features):
                self._file["features"][int(row)] = values
            if self._checksums is not None:
                self._checksums[rows] = checksums(features)
                self._file["checksums"][:] = self._checksums
            self._file.flush()
            self._file["done"][:] = done
            self._file.flush()
        self.done = done

    def close(self):
        """Closes the file."""
        self._file.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _lay_out(self):
        """Makes the file under another name, then moves it into place."""
        begun = f"{self.path}.{os.getpid()}.part"
        count = self.shape[0]
        about = {**self.attributes, "image_ids": self.image_ids}
        try:
            with told_if_full(self.path, "Nothing was begun"):
                with h5py.File(begun, "w") as file:
                    _allocate(file, "features", self.shape)
                    file["image_ids"] = self.image_ids
                    file["done"] = np.zeros(count, bool)
                    file["checksums"] = np.zeros(count, np.uint32)
                    file.attrs.update(self.attributes)
                    file.attrs["tfcap_features"] = VERSION
                    file.attrs["seal"] = seal(about, self.shape)
                _take_room(begun)
            os.replace(begun, self.path)
        finally:
            if os.path.exists(begun):
                os.unlink(begun)

    def _leave_out_damaged(self):
        """Takes back that images are done whose features are not as written."""
        done = np.flatnonzero(self.done)
        if self._checksums is None:
            return
        damaged = [
            row
            for some in np.array_split(done, len(done) // 64 + 1)
            for row in some[
                checksums(read_rows(self._file, some)) != self._checksums[some]
            ]
        ]
        if damaged:
            names = self.image_ids[damaged].tolist()
            print(
                f"{self.path}: the features of {len(names)} images are damaged "
                f"({listed(names)}) and are made anew."
            )
            self.done[damaged] = False

    def _check_same(self, there):
        found, wanted = {}, {**self.attributes, "shape": list(self.shape)}
        for name in self.attributes:
            value = there[name]
            found[name] = value.tolist() if hasattr(value, "tolist") else value
        found["shape"] = list(self._file["features"].shape)
        different = [name for name in wanted if found[name] != wanted[name]]
        for name in different:
            raise ValueError(
                f"`{name}` must be that of the file to go on with. Received: "
                f"{name}={wanted[name]!r} for path={self.path!r}, which was "
                f"begun with {found[name]!r}. Write to another file, or "
                "delete this one."
            )
        if not np.array_equal(there["image_ids"], self.image_ids):
            raise ValueError(
                "`image_ids` must be those of the file to go on with, in the "
                f"same order. Received: other ids for path={self.path!r}. "
                "Write to another file, or delete this one."
            )


def _id_array(image_ids):
    """Ids as h5py keeps them: int64, or objects that are text."""
    ids = np.asarray(image_ids, object)
    texts = sum(isinstance(image_id, str) for image_id in ids)
    if not texts:
        return ids.astype(np.int64)
    if texts < len(ids):
        raise ValueError(
            "`image_ids` must be all integers or all strings. Received: "
            f"{texts} strings among {len(ids)} ids. Pass ids of one kind."
        )
    return ids.astype(h5py.string_dtype())


def _allocate(file, name, shape):
    """Makes a chunked dataset whose space is set aside at once.

    Writing to it then changes no more than the values, so that a killed
    process cannot leave the file's own structure half changed.
    """
    if not shape[0]:
        file.create_dataset(name, shape, np.float16)
        return
    layout = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    layout.set_chunk((1, *shape[1:]))
    layout.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    layout.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    space = h5py.h5s.create_simple(shape)
    kind = h5py.h5t.py_create(np.dtype(np.float16))
    h5py.h5d.create(file.id, name.encode(), kind, space, layout)


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
