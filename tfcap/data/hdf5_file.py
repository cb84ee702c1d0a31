"""Refusing HDF5 files that reach beyond themselves.

HDF5 lets a file take values of other files, whatever these hold: by external
storage, by links, and by virtual datasets. It also stands for values that take
no room in it. Nothing that tfcap or Keras writes needs any of this.
"""

import io
import zipfile

from tfcap.io import check_regular
from tfcap.io.array_file import check_archive
from tfcap.io.file_limits import check_unpacked
from tfcap.io.passing_errors import raise_passing

_CURE = "Get the file from somebody you trust, or make it anew."
#: What h5py and zipfile raise where a file is not as it should be; whoever
#: reads it after this says so.
_DAMAGE = (
    *(KeyError, OSError, RuntimeError, TypeError, NotImplementedError),
    zipfile.BadZipFile,
)


def check_hdf5(file, size):
    """Refuses a file that reads others, or would fill the memory.

    Args:
        file: `h5py.File`.
        size: Integer, its bytes.

    Raises:
        ValueError: If there is a soft or external link, a virtual dataset or
            one with external storage, or if datasets stand for much more than
            is in the file. The message is a clause.
    """
    import h5py

    seen, waiting, unpacked = set(), [file], 0
    while waiting:
        thing = waiting.pop()
        address = h5py.h5o.get_info(thing.id).addr
        if address in seen:
            continue
        seen.add(address)
        if isinstance(thing, h5py.Dataset):
            _check_dataset(thing)
            unpacked += (thing.size or 0) * thing.dtype.itemsize
        elif isinstance(thing, h5py.Group):
            waiting += _members(thing)
    # Features of COCO are 18 GB: what takes its room on the disk is no bomb.
    if unpacked > size:
        check_unpacked(size, unpacked)


def check_weights(path):
    """Refuses a file of a network's weights that reads other files.

    A file of another kind, or a damaged one, is left to whoever loads it.

    Args:
        path: String or path of a `.keras` archive, or of a `.h5` file.

    Raises:
        ValueError: See `check_hdf5()`; names the file.
        OSError: If there is no such file.
    """
    try:
        check_regular(path)
        with open(path, "rb") as file:
            if not zipfile.is_zipfile(file):
                _check_part(file)
                return
            check_archive(file)
            with zipfile.ZipFile(file) as archive:
                for name in archive.namelist():
                    if name.endswith((".h5", ".hdf5")):
                        _check_part(io.BytesIO(archive.read(name)))
    except FileNotFoundError:
        raise
    except _DAMAGE as error:
        raise_passing(error)
        return
    except ValueError as error:
        raise ValueError(
            "`path` must name weights that are all in the file. Received: "
            f"path={str(path)!r}: {error}. {_CURE}"
        ) from error


def dataset_places(file, names):
    """Where the values of contiguous datasets lie in a file.

    Args:
        file: `h5py.File`.
        names: Iterable of strings.

    Returns:
        Dict of the place and the size in bytes of each that has any.
    """
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
    """What a group holds; refuses what it only leads to."""
    import h5py

    for name in group:
        link = group.get(name, getlink=True)
        if not isinstance(link, h5py.HardLink):
            kind = type(link).__name__
            raise ValueError(
                f"{name!r:.80} is a {kind}, which leads to {link.path!r:.200}"
            )
    return [group[name] for name in group]


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
