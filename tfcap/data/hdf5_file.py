"""Checks of HDF5 files, which may take values of other files.

By external storage, by links, and by virtual datasets. Nothing that tfcap or
Keras writes needs any of this.
"""

import io
import os
import zipfile

#: What h5py and zipfile raise where a file is not as it should be; whoever
#: reads it after this says so.
_DAMAGE = (KeyError, OSError, RuntimeError, TypeError, zipfile.BadZipFile)


def check_hdf5(file):
    """Refuses an open `h5py.File` that reads others.

    Raises:
        ValueError: If there is a soft or external link, a virtual dataset or
            one with external storage. The message is a clause.
    """
    import h5py

    def problem(name, link):
        if not isinstance(link, h5py.HardLink):
            return f"{name!r:.80} is a {type(link).__name__}"
        thing = file[name]
        outside = isinstance(thing, h5py.Dataset) and (
            thing.external or thing.is_virtual
        )
        return f"{name!r:.80} takes its values of others" if outside else None

    # What h5py calls cannot raise.
    found = file.visititems_links(problem)
    if found:
        raise ValueError(found)


def check_weights(path: str | os.PathLike):
    """Refuses a file of a network's weights that reads other files.

    A file of another kind, or a damaged one, is left to its loader.

    Raises:
        ValueError: See `check_hdf5()`; names the file.
        OSError: If there is no such file.
    """
    with open(path, "rb") as file:
        try:
            parts = [file]
            if zipfile.is_zipfile(file):
                archive = zipfile.ZipFile(file)
                parts = [
                    io.BytesIO(archive.read(name))
                    for name in archive.namelist()
                    if name.endswith((".h5", ".hdf5"))
                ]
            for part in parts:
                _check_part(part)
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

    file.seek(0)
    if file.read(4) == b"\x89HDF":
        with h5py.File(file, "r") as opened:
            check_hdf5(opened)
