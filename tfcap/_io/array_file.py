"""Files of arrays that tell whether they are as they were written.

They are `.npz` files, which NumPy reads, too. The comment of the archive, its
last 64 bytes, is the SHA-256 of all bytes before it, in hexadecimal.
"""

import hashlib
import io
import math
import zipfile
from collections.abc import Iterable
from collections.abc import Mapping
from os import PathLike
from typing import BinaryIO

import numpy as np
from numpy.typing import ArrayLike

from tfcap._io.file_limits import check_unpacked
from tfcap._io.file_limits import raise_limit
from tfcap._io.json_file import open_once
from tfcap._io.passing_errors import raise_passing
from tfcap._io.passing_errors import tried_again
from tfcap._io.whole_file import write_whole

_SEAL = 64
_BLOCK = 1 << 20


def save_arrays(
    path: str | PathLike,
    arrays: Mapping[str, ArrayLike],
    compressed: bool = False,
    like: str | PathLike | None = None,
) -> None:
    """Writes arrays to a file, whole or not at all.

    Args:
        path: String or path.
        arrays: Dict of arrays by name, none of them of objects.
        compressed: Boolean. Defaults to `False`.
        like: See `write_whole()`. Defaults to `None`.

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

    def write(file):
        save(file, **arrays)
        with zipfile.ZipFile(file, "a") as archive:
            archive.comment = b"0" * _SEAL
        size = file.seek(-_SEAL, io.SEEK_END)
        seal = _digest(file, size)
        file.seek(size)
        file.write(seal)

    write_whole(path, write, like)


def append_seal(file: BinaryIO) -> None:
    """Adds the SHA-256 of all bytes of a file to its end, in hexadecimal.

    Args:
        file: File, open in the mode `"w+b"`.

    Example:

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> with open(folder / "a", "w+b") as file:
    ...     _ = file.write(b"a dog")
    ...     tfcap._io.append_seal(file)
    ...     tfcap._io.is_sealed(file)
    True
    """
    seal = _digest(file, file.seek(0, io.SEEK_END))
    file.seek(0, io.SEEK_END)
    file.write(seal)


def is_sealed(file: BinaryIO) -> bool:
    """Check whether the last bytes of a file are the SHA-256 of the others.

    Args:
        file: File, open in binary mode, in which one can seek.

    Returns:
        Boolean.

    Example:

    >>> import io
    >>> tfcap._io.is_sealed(io.BytesIO(b"a dog"))
    False
    """
    size = file.seek(0, io.SEEK_END) - _SEAL
    return size >= 0 and _digest(file, size) == file.read()


def load_arrays(
    path: str | PathLike, names: Iterable[str] = (), sealed: bool = True
) -> dict[str, np.ndarray]:
    """Reads what `save_arrays()` wrote, if it is as it was.

    Args:
        path: String or path.
        names: Iterable of the names of arrays that must be there.
        sealed: Boolean. If false, an archive of `np.savez()` is read, too, as
            far as the checksums of its parts tell that they are whole.
            Defaults to `True`.

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
    ValueError: it is cut off, damaged, or of another kind
    """
    arrays = tried_again(path, lambda: _arrays(path, sealed))
    absent = [name for name in names if name not in arrays]
    if absent:
        raise ValueError(f"it holds no {', '.join(absent)}")
    return arrays


def _arrays(path, sealed):
    """All that is in a file, if it is as it was."""
    with open_once(path) as file:
        # A parser reads nothing that the seal shows to be damaged.
        damaged = sealed and not is_sealed(file)
        if not damaged:
            check_archive(file)
            damaged = not sealed and not _is_archive(file)
        if damaged:
            raise ValueError("it is cut off, damaged, or of another kind")
        file.seek(0)
        try:
            with np.load(file, allow_pickle=False) as archive:
                return dict(archive)
        except Exception as error:
            raise ValueError(f"it holds no arrays: {error}") from error


def check_archive(file):
    """Refuses a ZIP archive that would fill the memory.

    By what its list of parts says, which the reading of a part goes by. What
    is no archive is left to whoever reads it.

    Raises:
        ValueError: If compressed parts unpack to too much, or if an array is
            larger than its part. The message is a clause and a hint.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            parts = archive.infolist()
            sizes = {part.filename: part.file_size for part in parts}
            arrays = {
                name: _array_size(archive, name)
                for name in sizes
                if name.endswith(".npy")
            }
    except Exception as error:
        # NumPy parses a header as Python does: there is no list of errors.
        raise_passing(error)
        return
    packed = [part for part in parts if part.compress_type]
    try:
        check_unpacked(
            # Parts may lie upon each other.
            file.seek(0, io.SEEK_END),
            sum(part.file_size for part in packed),
        )
    except ValueError as error:
        hint = raise_limit("TFCAP_MAX_BYTES")
        raise ValueError(f"{error}. {hint[:-1]}") from error
    for name, size in arrays.items():
        if size > sizes[name]:
            raise ValueError(
                f"{name} tells of {size:,} bytes and has {sizes[name]:,}"
            )


def array_header(file: BinaryIO) -> tuple:
    """Shape and type of a `.npy` file, and whether it is stored by columns.

    Example:

    >>> import io
    >>> from tfcap._io.array_file import array_header
    >>> file = io.BytesIO()
    >>> np.save(file, np.zeros((2, 3), "float32"))
    >>> array_header(io.BytesIO(file.getvalue()))
    ((2, 3), dtype('float32'), False)
    """
    read = np.lib.format.read_array_header_1_0
    if np.lib.format.read_magic(file) != (1, 0):
        read = np.lib.format.read_array_header_2_0
    shape, by_columns, kind = read(file)
    return shape, kind, by_columns


def _array_size(archive, name):
    """Bytes that the header of an array tells of, itself not counted."""
    with archive.open(name) as file:
        shape, kind, _ = array_header(file)
    return math.prod(shape) * kind.itemsize


def _is_archive(file):
    """Check whether all parts of an archive have their checksums.

    NumPy does not look, where it reads less than a part holds.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            return archive.testzip() is None
    except Exception as error:
        raise_passing(error)
        return False


def _digest(file, size):
    """SHA-256 of the first bytes of a file, which is then behind them."""
    file.seek(0)
    digest = hashlib.sha256()
    for start in range(0, size, _BLOCK):
        digest.update(file.read(min(_BLOCK, size - start)))
    return digest.hexdigest().encode()
