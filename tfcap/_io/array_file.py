"""Array files in NumPy's format `.npz`, checked for damage."""

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
    """Writes arrays to a file atomically.

    Args:
        path: String or path.
        arrays: Dict of arrays by name, without object arrays.
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
    """Reads the arrays of a file and verifies their checksums.

    Args:
        path: String or path.
        names: Iterable of the names of required arrays.

    Returns:
        Dict of arrays by name.

    Raises:
        ValueError: If the file is of another format, cut off, damaged or too
            large, or lacks an array. The message is a clause, to which the
            caller adds what the file should be.

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
                # Uncompressed parts are no larger than the file.
                size = sum(x.file_size for x in parts if x.compress_type)
                if size > (most := limit("TFCAP_MAX_BYTES")):
                    raise ValueError(
                        f"{size:,} bytes are more than {most:,}, the limit "
                        "TFCAP_MAX_BYTES"
                    )
                # NumPy verifies no checksum if it reads less than a part.
                if damaged := archive.testzip():
                    raise ValueError(f"the checksum of {damaged} is wrong")
            file.seek(0)
            with np.load(file, allow_pickle=False) as archive:
                arrays = dict(archive)
        except Exception as error:
            # NumPy and `zipfile` do not document all their exceptions.
            problem = "it is cut off, damaged, or of another kind"
            raise ValueError(f"{problem} ({error})") from error
    absent = [name for name in names if name not in arrays]
    if absent:
        raise ValueError(f"it holds no {', '.join(absent)}")
    return arrays
