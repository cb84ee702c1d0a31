"""Features in the arrays of other projects' HDF5, `.npz` and `.npy` files.

There is a row of an array for each image, beside an array of ids or with a
list of them; or an array for each image, under its id.
"""

import functools
import math
import os
import re
import zipfile
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tfcap._io.array_file import check_archive
from tfcap.data.entry_problems import listed
from tfcap.data.hdf5_file import check_hdf5
from tfcap.data.image_names import image_key
from tfcap.data.image_names import whole_number

#: Names of arrays of features, the first that is there being taken.
_USUAL = (
    *("features", "image_features", "img_features", "feature"),
    *("feat", "feats", "att_feats", "x"),
)
#: Names of what lies beside features.
_BESIDE = re.compile(
    r"box|bb|spatial|prob|conf|mask|size|pos|score|cls|attr|width|height"
)
#: An image, then what of it an array holds: `9_features`, `9_cls_prob`.
_PART = re.compile(
    r"(.*\d.*?)_(features?|feats?|x|grids?|regions?|fc|att|box|boxes|bbox|size"
    r"|mask|conf|num_boxes|cls_prob)"
)
_SPLIT = re.compile(r"(.*)_(train|val|test)\w*")
#: Names of ids of images.
_IDS = re.compile(
    r"((image|img|file)_?)?(ids?|keys?|names?|paths?)(_(train|val|test)\w*)?"
)
#: Bytes of an HDF5 file's chunks in memory.
_CHUNKS = 1 << 26
_READABLE = (
    "Readable are: HDF5 or .npz with features (n, P, D) and ids (n,), or with "
    "one array an image under its id (`9`, `9_features`, `9/features`); .npy "
    "(n, P, D) with --ids; TSV with base64 columns, as of bottom-up-attention; "
    "a folder of such files, or of one .npy or .npz an image. --array names "
    "the array of features, --ids a list of ids (text, JSON or .npy). Unpack "
    "archives first."
)
#: Why a pickle is not read, and what to do.
PICKLED = (
    "it is a pickle, as PyTorch writes, and reading one runs what is in it. "
    "Where you trust it, load it in Python and save its arrays by "
    "`numpy.savez('features.npz', ids=ids, features=features)`, or one .npy an "
    "image in a folder, and convert these"
)


class ForeignFeatures(NamedTuple):
    """Features of one image in another project's file."""

    key: int | str
    #: That of its array; None where the file is damaged there.
    shape: tuple | None
    read: Callable
    #: The file, and the place in it.
    where: str


def unknown_layout(path: str, found: str) -> ValueError:
    """Makes the error for a file of which something else was found."""
    return ValueError(
        "`source` (--from) must name features in a layout that is known. "
        f"Received: {str(path)!r}, with {found}. {_READABLE}"
    )


def of_npy(path: str, lists: dict | None, alone: bool) -> list:
    """Features of one image in a `.npy` file, or of a row an image.

    Args:
        lists: Dict of lists of ids by name, or None.
        alone: Boolean, whether the file was named itself, not its folder.
    """
    values = np.load(path, mmap_mode="r", allow_pickle=False)
    name = os.path.splitext(os.path.basename(path))[0]
    about = {name: (values.shape, values.dtype)}
    if alone or lists is not None:
        if values.ndim < 2:
            raise unknown_layout(path, _found(about))
        return _of_rows(path, about, [name], lambda _, row: values[row], lists)
    if name in _USUAL or re.match(r"(train|val|dev|test)_", name):
        raise unknown_layout(path, f"{_found(about)}, many images without ids")
    shape = _check_float(path, name, *about[name])
    # Opened again when it is read: a process may open a thousand files.
    read = functools.partial(np.load, path, allow_pickle=False)
    return [ForeignFeatures(name, shape, read, path)]


def of_npz(path: str, array: str | None, lists, alone: bool) -> list:
    """Features of one image in a `.npz` file, or of several.

    Args:
        array: String, the name of the array of features, or None.
        lists: Dict of lists of ids by name, or None.
        alone: Boolean, whether the file was named itself, not its folder.
    """
    with zipfile.ZipFile(path) as archive:
        members = archive.namelist()
        if any(member.endswith("data.pkl") for member in members):
            raise ValueError(PICKLED)
        check_archive(archive)
        about = {}
        for member in members:
            if member.endswith(".npy"):
                with archive.open(member) as file:
                    about[member[:-4]] = array_header(file)
    shapes = {name: (shape, kind) for name, (shape, kind, _) in about.items()}
    streams = {}

    def read(name, row):
        if row is ...:
            with np.load(path, allow_pickle=False) as archive:
                return archive[name]
        if name not in streams:
            streams[name] = _rows_of_member(path, f"{name}.npy")
        return streams[name](row)

    several = any(
        shape[:1] == shapes[ids][0][:1]
        for ids in _own_ids(shapes)
        for shape, kind in shapes.values()
        if kind.kind == "f" and math.prod(shape[1:]) > 1
    )
    if alone or lists is not None or several:
        return _of_arrays(path, shapes, read, array, lists)
    (name,) = _chosen(path, shapes, [*shapes], array)
    shape = _check_float(path, name, *shapes[name])
    key = os.path.splitext(os.path.basename(path))[0]
    return [ForeignFeatures(key, shape, lambda: read(name, ...), path)]


def array_header(file):
    """Shape and type of a `.npy` file, and whether it is stored by columns."""
    read = np.lib.format.read_array_header_1_0
    if np.lib.format.read_magic(file) != (1, 0):
        read = np.lib.format.read_array_header_2_0
    shape, by_columns, kind = read(file)
    return shape, kind, by_columns


def _rows_of_member(path, member):
    """A function that reads rows of an archive's array, one after another."""
    file = zipfile.ZipFile(path).open(member)
    shape, kind, by_columns = array_header(file)
    if by_columns:
        raise ValueError(
            f"{member} is stored by columns. Save it again as "
            "`numpy.ascontiguousarray(...)`"
        )
    begin, size = file.tell(), kind.itemsize * int(np.prod(shape[1:]))

    def read(row):
        file.seek(begin + row * size)
        return np.frombuffer(file.read(size), kind).reshape(shape[1:])

    return read


def of_hdf5(path: str, array: str | None, lists, tell: Callable) -> list:
    """Features of the images in an HDF5 file; see `of_npz()`.

    Args:
        tell: Function of a name, of what is done and of all that is to do.
    """
    import h5py

    file = h5py.File(path, rdcc_nbytes=_CHUNKS)
    check_hdf5(file, os.path.getsize(path))
    if "tfcap_features" in file.attrs:
        raise ValueError(
            "it is a feature file of tfcap, which needs no conversion; extract "
            "a damaged one again, to another file"
        )
    about, total = {}, len(file)

    def note(name, thing):
        if isinstance(thing, h5py.Dataset):
            about[name] = thing.shape, thing.dtype
            tell("arrays", len(about), max(total, len(about)))

    file.visititems(note)

    def read(name, row):
        values = file[name]
        text = h5py.check_string_dtype(values.dtype) is not None
        return values.asstr()[row] if text else values[row]

    return _of_arrays(path, about, read, array, lists)


def _of_arrays(path, about, read, array, lists):
    """Features in a file of arrays: one an image, or a row an image."""
    parts = {name: key_and_part(name) for name in about}
    numbered = any(
        image_key(key) != key or part and re.search(r"\d", key)
        for key, part in parts.values()
    )
    usual = any(n in _USUAL or _SPLIT.fullmatch(n) for n in map(_last, about))
    usual = usual and len({name.rpartition("/")[0] for name in about}) == 1
    if lists is None and (numbered or not (usual or _own_ids(about))):
        return _of_keys(path, about, parts, read, array)
    names = [name for name in about if len(about[name][0] or ()) > 1]
    names = _chosen(path, about, names, array)
    return _of_rows(path, about, names, read, lists)


def key_and_part(name: str) -> tuple[str, str]:
    """An image and what of it an array holds, by the array's name.

    Example:

    >>> from tfcap.data.foreign_arrays import key_and_part
    >>> key_and_part("9_boxes"), key_and_part("9/feat"), key_and_part("9")
    (('9', 'boxes'), ('9', 'feat'), ('9', ''))
    """
    group, _, last = name.rpartition("/")
    if image_key(last) != last:
        return last, ""
    if found := _PART.fullmatch(last):
        return found[1], found[2]
    return (_last(group), last) if group else (last, "")


def _of_keys(path, about, parts, read, array):
    """Features of one array an image."""
    of_part = {}
    for name, (shape, kind) in about.items():
        if kind.kind == "f" and shape:
            of_part.setdefault(parts[name][1], (shape, kind))
    (part,) = _chosen(path, about, [*of_part], array, of_part)
    return [
        ForeignFeatures(
            parts[name][0],
            _check_float(path, name, *about[name]),
            lambda name=name: read(name, ...),
            f"{path}, `{name}`",
        )
        for name in about
        if parts[name][1] == part
    ]


def _of_rows(path, about, names, read, lists):
    """Features of a row an image, or of a stretch of rows."""
    beside, entries = {_last(name): name for name in about}, []
    for name in names:
        (count, *own) = _check_float(path, name, *about[name])
        spans, used = None, None
        if "pos_boxes" in beside:
            spans = np.asarray(read(beside["pos_boxes"], ...))
            count = len(spans)
        for other in {"num_boxes", "num_bbox"} & {*beside}:
            if about[beside[other]][0] == (count,) and len(own) == 2:
                used = np.asarray(read(beside[other], ...))
        keys = _row_ids(path, about, name, count, read, lists)
        for row, key in enumerate(keys):
            index, shape = row, tuple(own)
            if spans is not None:
                index = slice(*map(int, spans[row]))
                shape = (index.stop - index.start, *own)
            elif used is not None:
                shape = (int(used[row]), own[1])

            def values(name=name, index=index, most=shape[0]):
                return read(name, index)[:most]

            where = f"{path}, `{name}`, row {row}"
            entries.append(ForeignFeatures(key, shape, values, where))
    return entries


def _own_ids(about):
    """Names of the arrays of a file that may be ids of its images."""
    return [
        name
        for name, (shape, kind) in about.items()
        if shape
        and math.prod(shape) == shape[0]
        and kind.kind in "iufSUO"
        and _IDS.fullmatch(_last(name))
    ]


def _row_ids(path, about, name, count, read, lists):
    """Ids of the rows of an array: those of a list, or of the same file."""
    sizes = {i: about[i][0][0] for i in _own_ids(about)}
    if lists is not None:
        sizes = {i: len(keys) for i, keys in lists.items()}
    found = [i for i, size in sizes.items() if size == count]
    if split := _SPLIT.fullmatch(_last(name)):
        found = [i for i in found if i.endswith(split[2])] or found
    # Beside ids there may be names.
    found = [i for i in found if lists is None and "id" in _last(i)] or found
    if len(found) == 1:
        (of,) = found
        return keys_of(read(of, ...)) if lists is None else lists[of]
    told = ", ".join(f"{i} {size:,}".strip() for i, size in sizes.items())
    raise ValueError(
        f"`--ids` must name one list of the ids of the {count:,} rows of "
        f"`{name}`. Received: {told or 'none'} for {path!r}, with "
        f"{_found(about)}. Give a list in their order: text, JSON or .npy."
    )


def keys_of(values) -> list:
    """Ids of an array, as integers or text."""
    return [
        key.decode("utf-8") if isinstance(key, bytes) else whole_number(key)
        for key in np.asarray(values).reshape(-1).tolist()
    ]


def _chosen(path, about, names, array, of_part=None):
    """The arrays of features among several; those of splits together."""
    names = [n for n in names if (of_part or about)[n][1].kind == "f"]
    last = {name: _last(name) for name in names}
    if array is not None:
        stem = {n: _SPLIT.fullmatch(last[n]) for n in names}
        found = [
            n
            for n in names
            if array in (n, last[n]) or stem[n] and stem[n][1] == array
        ]
    else:
        found = []
        for usual in _USUAL:
            found = found or [n for n in names if last[n] == usual]
        found = found or [n for n in names if not _BESIDE.search(last[n])]
    splits = {m[1] for n in found if (m := _SPLIT.fullmatch(last[n]))}
    if len(found) == 1 or len(splits) == 1 < len(found):
        return found
    if len(found) > 1:
        raise ValueError(
            "`array` (--array) must name one array of features. Received: "
            f"{path!r}, with {_found(of_part or about)}. Name one of "
            f"{', '.join(map(repr, found))}."
        )
    raise unknown_layout(path, _found(about))


def _check_float(path, name, shape, kind):
    if kind.kind != "f" or not shape:
        raise unknown_layout(path, _found({name: (shape, kind)}))
    return shape


def _last(name):
    return name.rpartition("/")[2]


def _found(about):
    """Names, shapes and types of arrays, the first few."""
    arrays = [f"`{n}` {s} {kind}" for n, (s, kind) in about.items()]
    return listed(arrays) or "no array"
