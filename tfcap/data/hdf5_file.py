"""Checks of HDF5 files, which may reach beyond themselves or be damaged.

HDF5 lets a file take values of other files, whatever these hold: by external
storage, by links, and by virtual datasets. It also stands for values that take
no room in it. Nothing that tfcap or Keras writes needs any of this.

HDF5 reads damaged structure without end, or into memory that is not there. It
leaves the first bytes of a file, the user block, to others: in a feature file
they hold its size, the position of the values that change while it is written,
and the SHA-256 of this and of all other bytes. The values have checksums of
their own.
"""

import hashlib
import io
import json
import math
import os
import zipfile
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from tfcap._io.array_file import check_archive
from tfcap._io.file_limits import check_unpacked

_HINT = "Get the file from a source you trust, or make it again."
#: What h5py and zipfile raise where a file is not as it should be; whoever
#: reads it after this says so.
_DAMAGE = (
    *(KeyError, OSError, RuntimeError, TypeError, NotImplementedError),
    zipfile.BadZipFile,
)
#: Bytes that a spinning disk reads in the time of a seek, 8 ms at 120 MB/s.
_SEEK_BYTES = 960_000
#: Bytes that are read at once, at most, where some of them are not wanted.
_READ_BYTES = 2**24
#: Bytes of the user block.
BLOCK = 512
_MAGIC = b"tfcap features 2\n"
_HDF5_MAGIC = b"\x89HDF"
#: Bytes that are read at a time.
_PART = 1 << 20


def check_hdf5(file, size: int):
    """Refuses a file that reads others, or would fill the memory.

    Raises:
        ValueError: If there is a soft or external link, a virtual dataset or
            one with external storage, or if datasets stand for much more than
            is in the file. The message is a clause.
    """
    import h5py

    seen, waiting, unpacked = set(), [file], 0
    while waiting:
        # Some files have a dataset for each image: one is open at a time.
        for thing in _members(waiting.pop()):
            address = h5py.h5o.get_info(thing.id).addr
            if address in seen:
                continue
            seen.add(address)
            if isinstance(thing, h5py.Dataset):
                _check_dataset(thing)
                unpacked += (thing.size or 0) * thing.dtype.itemsize
            elif isinstance(thing, h5py.Group):
                waiting.append(thing)
    # Features of COCO are 18 GB: what takes its room on the disk is no bomb.
    if unpacked > size:
        check_unpacked(size, unpacked)


def check_weights(path: str | os.PathLike):
    """Refuses a file of a network's weights that reads other files.

    A file of another kind, or a damaged one, is left to its loader.

    Raises:
        ValueError: See `check_hdf5()`; names the file.
        OSError: If there is no such file.
    """
    try:
        with open(path, "rb") as file:
            if not zipfile.is_zipfile(file):
                _check_part(file)
                return
            with zipfile.ZipFile(file) as archive:
                check_archive(archive)
                for name in archive.namelist():
                    if name.endswith((".h5", ".hdf5")):
                        _check_part(io.BytesIO(archive.read(name)))
    except FileNotFoundError:
        raise
    except _DAMAGE:
        return
    except ValueError as error:
        raise ValueError(
            "`path` must name weights that are all in the file. Received: "
            f"path={str(path)!r}: {error}. {_HINT}"
        ) from error


def new_file(path: str | os.PathLike):
    """Makes an HDF5 file whose values are written when they are given.

    Left to the closing of a dataset, an error of the disk is lost.
    """
    import h5py

    layout = h5py.h5p.create(h5py.h5p.FILE_CREATE)
    layout.set_userblock(BLOCK)
    access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    access.set_sieve_buf_size(0)
    access.set_fclose_degree(h5py.h5f.CLOSE_STRONG)
    created = (os.fsencode(path), h5py.h5f.ACC_TRUNC, layout, access)
    return h5py.File(h5py.h5f.create(*created))


def allocate(file, name, shape):
    """Makes a contiguous dataset whose space is set aside at once.

    Writing to it then changes no more than the values, so that a killed
    process cannot leave the file's own structure half changed.
    """
    import h5py

    if not shape[0]:
        file.create_dataset(name, shape, "<f2")
        return
    layout = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    layout.set_layout(h5py.h5d.CONTIGUOUS)
    layout.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    layout.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    space = h5py.h5s.create_simple(shape)
    kind = h5py.h5t.IEEE_F16LE
    h5py.h5d.create(file.id, name.encode(), kind, space, layout)


def dataset_offsets(file, names: Iterable[str]) -> dict:
    """Offsets of the values of contiguous datasets in a file."""
    return {
        name: [file[name].id.get_offset(), file[name].nbytes]
        for name in names
        if file[name].nbytes
    }


def _check_part(file):
    import h5py

    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    with h5py.File(file, "r") as opened:
        check_hdf5(opened, size)


def _members(group):
    """Members of a group; links out of it are refused."""
    import h5py

    for name in group:
        link = group.get(name, getlink=True)
        if not isinstance(link, h5py.HardLink):
            kind = type(link).__name__
            raise ValueError(
                f"{name!r:.80} is a {kind}, which leads to {link.path!r:.200}"
            )
        yield group[name]


def _check_dataset(dataset):
    """Refuses values that come of elsewhere."""
    name = f"{dataset.name!r:.80}"
    if dataset.external:
        files = ", ".join(repr(part[0]) for part in dataset.external[:3])
        raise ValueError(
            f"{name} takes its values of other files: {files:.200}"
        )
    if dataset.is_virtual:
        raise ValueError(f"{name} is virtual: its values are of other files")


def write_checksum(path: str | os.PathLike, offsets: dict):
    """Seals a file that has a user block.

    Args:
        offsets: Dict of pairs of integers, the offset and the size in bytes of
            what will change, by its name.
    """
    about = {"size": os.path.getsize(path), "places": offsets}
    layout = json.dumps(about).encode()
    with open(path, "r+b") as file:
        digest = _digest(file, layout)
        file.seek(0)
        file.write(_MAGIC + layout + b"\n" + digest + b"\n")


def check_checksum(path: str | os.PathLike) -> dict | None:
    """Check a feature file by its checksum, and read its layout.

    Raises:
        ValueError: If it is damaged, or something else. The message is a
            clause.
    """
    with open(path, "rb") as file:
        head = file.read(BLOCK)
        if head.startswith(_HDF5_MAGIC):
            return None
        magic, layout, digest, *_ = (*head.split(b"\n"), b"", b"", b"")
        if magic + b"\n" != _MAGIC:
            raise ValueError("it is another file, or damaged")
        if _digest(file, layout) != digest:
            raise ValueError("it is cut off or damaged")
    return json.loads(layout)["places"]


def _digest(file, layout):
    """Digest of a layout and of what of a file it leaves; `b""` if it lies."""
    parts = _parts(layout, os.fstat(file.fileno()).st_size)
    if parts is None:
        return b""
    digest = hashlib.sha256(layout)
    for start, stop in parts:
        file.seek(start)
        for position in range(start, stop, _PART):
            digest.update(file.read(min(_PART, stop - position)))
    return digest.hexdigest().encode()


def _parts(layout, size):
    """Beginnings and ends of what a layout leaves; None if it lies."""
    parts, position = [], BLOCK
    try:
        about = json.loads(layout)
        for start, count in [*sorted(about["places"].values()), (size, 0)]:
            if not position <= start <= size:
                return None
            parts.append((position, start))
            position = start + count
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    return parts if position == size == about["size"] else None


def read_rows(file, rows: NDArray) -> NDArray:
    """Features of some images of an open file.

    Args:
        rows: Integer array of shape `(b,)`, rising.

    Returns:
        Float16 array of shape `(b, P, D)`.
    """
    path = file.filename
    data = file["features"]
    out = np.empty((len(rows), *data.shape[1:]), data.dtype)
    size = data.dtype.itemsize * math.prod(data.shape[1:])
    try:
        # h5py's own lists of rows take quadratic time.
        for start, stop in _reads(rows, size):
            first, last = int(rows[start]), int(rows[stop - 1])
            if last - first == stop - 1 - start:
                data.read_direct(
                    out, np.s_[first : last + 1], np.s_[start:stop]
                )
            else:
                out[start:stop] = data[first : last + 1][
                    rows[start:stop] - first
                ]
    except (*_DAMAGE, ValueError) as error:
        raise ValueError(
            "`path` must name a feature file. Received: "
            f"path={path!r}, which cannot be read ({error}). Copy it again, or "
            "extract the features to another file."
        ) from error
    return out


def _reads(rows, size):
    """Parts of rising rows that are read at once, as pairs of indices.

    Neighbors are; and what is parted by a gap that is shorter than what was
    read just before it, and than what a disk reads in the time of a seek.
    """
    starts = np.flatnonzero(np.diff(rows, prepend=-2) != 1).tolist()
    begun = None
    for start, stop in zip(starts, [*starts[1:], len(rows)]):
        if begun is not None:
            before, gap = start - begun, int(rows[start] - rows[start - 1]) - 1
            span = int(rows[stop - 1] - rows[begun]) + 1
            if (
                gap > before
                or gap * size > _SEEK_BYTES
                or span * size > _READ_BYTES
            ):
                yield begun, start
                begun = start
        else:
            begun = start
    if begun is not None:
        yield begun, len(rows)
