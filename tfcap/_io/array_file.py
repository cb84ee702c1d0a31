"""Files of arrays, in NumPy's format `.npz`, whose damage shows."""

import zipfile
from collections.abc import Iterable
from collections.abc import Mapping
from os import PathLike

import numpy as np
from numpy.typing import ArrayLike

from tfcap._io.file_limits import limit
from tfcap._io.whole_file import whole_file


def save_arrays(
    path: str | PathLike,
    arrays: Mapping[str, ArrayLike],
    compressed: bool = False,
) -> None:
    """Writes arrays to a file, whole or not at all.

    Args:
        path: String or path.
        arrays: Dict of arrays by name, none of them of objects.
        compressed: Boolean. Defaults to `False`.

    Raises:
        OSError: If the disk is full; see `whole_file()`.

    Example:

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> tfcap._io.save_arrays(folder / "a.npz", {"rows": [1, 2]})
    >>> tfcap._io.load_arrays(folder / "a.npz")["rows"]
    array([1, 2])
    """
    save = np.savez_compressed if compressed else np.savez
    with whole_file(path, "w+b") as file:
        save(file, **arrays)


def load_arrays(
    path: str | PathLike, names: Iterable[str] = ()
) -> dict[str, np.ndarray]:
    """Reads the arrays of a file, if they have their checksums.

    Args:
        path: String or path.
        names: Iterable of the names of arrays that must be there.

    Returns:
        Dict of arrays by name.

    Raises:
        ValueError: If the file is something else, cut off or damaged, or
            would fill the memory. The message is a clause: the caller knows
            what the file should be.

    Example:

    >>> import pathlib, tempfile
    >>> from tfcap._io import load_arrays, save_arrays
    >>> path = pathlib.Path(tempfile.mkdtemp(), "rows.npz")
    >>> save_arrays(path, {"rows": [[1], [0]]})
    >>> load_arrays(path)["rows"].ravel()
    array([1, 0])
    >>> _ = path.write_bytes(path.read_bytes()[:-1])
    >>> load_arrays(path)
    Traceback (most recent call last):
    ValueError: it is cut off, damaged, or of another kind (File is not a zip...
    """
    with open(path, "rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                parts = archive.infolist()
                # Parts that are not compressed take what the file has.
                size = sum(x.file_size for x in parts if x.compress_type)
                if size > (most := limit("TFCAP_MAX_BYTES")):
                    raise ValueError(
                        f"{size:,} bytes are more than {most:,}, the limit "
                        "TFCAP_MAX_BYTES"
                    )
                # NumPy does not look where it reads less than a part holds.
                if damaged := archive.testzip():
                    raise ValueError(f"the checksum of {damaged} is another")
            file.seek(0)
            with np.load(file, allow_pickle=False) as archive:
                arrays = dict(archive)
        except Exception as error:
            # NumPy and `zipfile` have no list of errors.
            problem = "it is cut off, damaged, or of another kind"
            raise ValueError(f"{problem} ({error})") from error
    absent = [name for name in names if name not in arrays]
    if absent:
        raise ValueError(f"it holds no {', '.join(absent)}")
    return arrays
