"""Checks of HDF5 files, which may take values of other files.

By external storage, by links, and by virtual datasets. It also stands for
values that take no room in it. Nothing that Keras writes needs any of this.
"""

import io
import os
import zipfile

from tfcap._io.array_file import check_archive
from tfcap._io.file_limits import check_unpacked

#: What h5py and zipfile raise where a file is not as it should be; whoever
#: reads it after this says so.
_DAMAGE = (KeyError, OSError, RuntimeError, TypeError, zipfile.BadZipFile)


def check_hdf5(file, size: int):
    """Refuses an open `h5py.File` that reads others, or would fill the memory.

    Args:
        size: Integer, bytes of the file.

    Raises:
        ValueError: If there is a soft or external link, a virtual dataset or
            one with external storage, or if datasets stand for much more than
            is in the file. The message is a clause.
    """
    import h5py

    sizes = []

    def problem(name, link):
        if not isinstance(link, h5py.HardLink):
            return f"{name!r:.80} is a {type(link).__name__}"
        thing = file[name]
        if isinstance(thing, h5py.Dataset):
            sizes.append((thing.size or 0) * thing.dtype.itemsize)
            if thing.external or thing.is_virtual:
                return f"{name!r:.80} takes its values of others"
        return None

    # What h5py calls cannot raise.
    found = file.visititems_links(problem)
    if found:
        raise ValueError(found)
    check_unpacked(size, sum(sizes))


def check_weights(path: str | os.PathLike):
    """Refuses a file of a network's weights that reads other files.

    A file of another kind, or a damaged one, is left to its loader.

    Raises:
        ValueError: See `check_hdf5()`; names the file.
        OSError: If there is no such file.
    """
    with open(path, "rb") as file:
        try:
            if not zipfile.is_zipfile(file):
                _check_part(file)
                return
            with zipfile.ZipFile(file) as archive:
                check_archive(archive)
                for name in archive.namelist():
                    if name.endswith((".h5", ".hdf5")):
                        _check_part(io.BytesIO(archive.read(name)))
        except _DAMAGE:
            return
        except ValueError as error:
            raise ValueError(
                "`path` must name weights that are all in the file. Received: "
                f"path={str(path)!r}: {error}. Get the file from a source you "
                "trust, or make it again."
            ) from error


def _check_part(file):
    import h5py

    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    with h5py.File(file, "r") as opened:
        check_hdf5(opened, size)
