"""The seal of a feature file, by which damage is seen before HDF5 meets it.

HDF5 reads damaged structure without end, or into memory that is not there. It
leaves the first bytes of a file, the user block, to others: here it tells the
size of the file, where the values lie that change while it is written, and
the SHA-256 of this and of all other bytes. The values have checksums of their
own.
"""

import hashlib
import json
import os

from tfcap.io import check_dense

#: Bytes of the user block.
BLOCK = 512
_MAGIC = b"tfcap features 2\n"
_HDF5 = b"\x89HDF"
#: Bytes that are read at a time.
_PART = 1 << 20


def write_seal(path, places):
    """Seals a file that has a user block.

    Args:
        path: String or path.
        places: Dict of pairs of integers, the place and the size in bytes of
            what will change, by its name.
    """
    about = {"size": os.path.getsize(path), "places": places}
    layout = json.dumps(about).encode()
    with open(path, "r+b") as file:
        digest = _digest(file, layout)
        file.seek(0)
        file.write(_MAGIC + layout + b"\n" + digest + b"\n")


def check_seal(path):
    """What the seal of a file tells, if the file is whole.

    Args:
        path: String or path.

    Returns:
        Dict of pairs as `write_seal()` takes it; None for an HDF5 file
        without a seal.

    Raises:
        ValueError: If it is damaged, or something else. The message is a
            clause.
    """
    with open(path, "rb") as file:
        head = file.read(BLOCK)
        if head.startswith(_HDF5):
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
    check_dense(file, sum(stop - start for start, stop in parts))
    digest = hashlib.sha256(layout)
    for start, stop in parts:
        file.seek(start)
        for place in range(start, stop, _PART):
            digest.update(file.read(min(_PART, stop - place)))
    return digest.hexdigest().encode()


def _parts(layout, size):
    """Beginnings and ends of what a layout leaves; None if it lies."""
    parts, place = [], BLOCK
    try:
        about = json.loads(layout)
        for start, count in [*sorted(about["places"].values()), (size, 0)]:
            if not place <= start <= size:
                return None
            parts.append((place, start))
            place = start + count
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    return parts if place == size == about["size"] else None
