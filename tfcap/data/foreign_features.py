"""Features in the files of other projects, found without reading them.

Layouts are told by what is in a file, not by its name. Pickles are never
loaded: reading one runs its code.
"""

import os
import re
import zipfile
import zlib
from collections.abc import Callable

import numpy as np

from tfcap._io import read_json
from tfcap.data.entry_problems import listed
from tfcap.data.foreign_arrays import PICKLED
from tfcap.data.foreign_arrays import ForeignFeatures
from tfcap.data.foreign_arrays import key_and_part
from tfcap.data.foreign_arrays import keys_of
from tfcap.data.foreign_arrays import of_hdf5
from tfcap.data.foreign_arrays import of_npy
from tfcap.data.foreign_arrays import of_npz
from tfcap.data.foreign_arrays import unknown_layout
from tfcap.data.foreign_table import of_tsv
from tfcap.data.photographs import names_below
from tfcap.data.split_lists import read_image_ids

#: Where an entry of a list of images has its id.
_ID_KEYS = ("imgId", "image_id", "img_id", "cocoid", "id")
#: What libraries raise at a file that is not as it should be.
DAMAGE = (
    *(KeyError, OSError, RuntimeError, TypeError, ValueError, EOFError),
    *(NotImplementedError, zipfile.BadZipFile, zlib.error),
)
_LMDB = (
    "it is an LMDB database, whose values are pickles or bytes of any layout. "
    "Read it with the package lmdb, save one array an image by "
    "`numpy.save(f'folder/{image_id}.npy', array)`, and convert the folder"
)


def find_features(
    source: str | os.PathLike,
    array: str | None = None,
    ids: str | os.PathLike | None = None,
    tell: Callable = lambda *_: None,
) -> list[ForeignFeatures]:
    """Finds the features of images in a file or folder.

    Args:
        source: String or path.
        array: String, the name of the array of features, where a file has
            several.
        ids: String or path of a list of the images' ids.
        tell: Function of a name, of what is done and of all that is to do.

    Raises:
        ValueError: If the layout is unknown; tells what was found, and what
            would be readable.
        OSError: If there is no such file.

    Example:

    >>> import os, tempfile
    >>> from tfcap.data.foreign_features import find_features
    >>> folder = tempfile.mkdtemp()
    >>> np.save(os.path.join(folder, "9.npy"), np.zeros((3, 8), "float32"))
    >>> [(one.key, one.shape) for one in find_features(folder)]
    [('9', (3, 8))]
    """
    lists = None if ids is None else _id_lists(ids)
    if not os.path.isdir(source):
        source = os.fspath(source)
        return _entries(source, array, lists, tell, alone=True)
    # Links to folders have no base name.
    every = [*filter(os.path.basename, names_below(source))]
    names = [
        name
        for name in every
        if re.search(r"\.(npy|npz|h5|hdf5|tsv(\.\d+)?)$", name)
        # mmf's, which are pickles beside each array.
        and not name.endswith("_info.npy")
    ]
    names, entries = names or every, []
    if not names:
        raise unknown_layout(source, "no file in it")
    part = _part_of_files(source, names, array)
    if part:
        names = [n for n in names if key_and_part(_stem(n))[1] == part]
        array = array if array != part else None
    for number, name in enumerate(names, start=1):
        path = os.path.join(source, name)
        entries += _entries(path, array, lists, tell, alone=False)
        if len(names) > 1:
            tell("files", number, len(names))
    if part:
        return [e._replace(key=key_and_part(e.key)[0]) for e in entries]
    return entries


def _part_of_files(source, names, array):
    """The kind of files to read, such as `att` of `9_att.npz`, or `""`."""
    if not all(name.endswith((".npy", ".npz")) for name in names):
        return ""
    parts = {key_and_part(_stem(name))[1] for name in names}
    if len(parts) == 1 or "" in parts:
        return parts.pop() if len(parts) == 1 else ""
    if array in parts:
        return array
    raise ValueError(
        "`array` (--array) must name one kind of files. Received: "
        f"{str(source)!r}, with files such as {listed(names)}. Name one of "
        f"{', '.join(map(repr, sorted(parts)))}."
    )


def _stem(name):
    return os.path.splitext(os.path.basename(name))[0]


def _entries(path, array, lists, tell, alone):
    """Features in one file, which alone may be of many images."""
    try:
        with open(path, "rb") as file:
            head = file.read(4096)
        if head.startswith(b"\x93NUMPY"):
            return of_npy(path, lists, alone)
        if zipfile.is_zipfile(path):
            return of_npz(path, array, lists, alone)
        import h5py

        if h5py.is_hdf5(path):
            return of_hdf5(path, array, lists, tell)
        _refuse_kind(path, head)
        if b"\t" in head and b"\0" not in head:
            return of_tsv(path, tell)
    except FileNotFoundError:
        raise
    except DAMAGE as error:
        if str(error).startswith("`"):
            raise
        raise ValueError(
            "`source` (--from) must name features that can be read. Received: "
            f"{path!r}: {error}."
        ) from error
    raise unknown_layout(path, f"bytes that begin with {head[:16]!r}")


def _refuse_kind(path, head=b""):
    """Refuses pickles and databases, with the cure."""
    if head[:1] == b"\x80" or re.search(r"\.(pt|pth|pkl|pickle|bin)$", path):
        raise ValueError(PICKLED)
    if head[16:20] == b"\xde\xc0\xef\xbe" or re.search(r"\.[lm]?mdb$", path):
        raise ValueError(_LMDB)


def _id_lists(path):
    """Lists of ids in a file, by name."""
    path, wanted = os.fspath(path), "`ids` (--ids) must name text, JSON or .npy"
    if re.search(r"\.(pt|pth|pkl|pickle)$", path):
        raise ValueError(
            f"{wanted}. Received: {path!r}, a pickle, and reading one runs "
            "what is in it. Where you trust it, load it in Python and write it "
            "by `json.dump()`."
        )
    if path.endswith(".npy"):
        try:
            values = np.load(path, allow_pickle=False)
        except ValueError as error:
            raise ValueError(
                f"{wanted}. Received: {path!r} ({error}). Save the ids as "
                "integers or text."
            ) from error
        return {"": keys_of(values)}
    if not re.search(r"\.json(\.gz)?$", path):
        return {"": read_image_ids(path)}
    content = read_json(path)
    if not isinstance(content, dict):
        content = {"": content}
    # Rows by id, as of bottom-up-attention-vqa.
    rows = [row for row in content.values() if type(row) is int]
    if sorted(rows) == [*range(len(content))]:
        return {"": sorted(content, key=content.get)}
    return {
        name: [*map(_id_of, entries)]
        for name, entries in content.items()
        if isinstance(entries, list)
    }


def _id_of(entry):
    if isinstance(entry, dict):
        entry = next((entry[key] for key in _ID_KEYS if key in entry), None)
    return entry
