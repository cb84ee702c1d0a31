"""Conversion of features that another project extracted.

NumPy, h5py and base64 read the files. This module finds the array of features
and the ids of the images by the content of a file, not by its name.
"""

import base64
import contextlib
import functools
import json
import math
import os
import re
import zipfile
import zlib
from collections import Counter

import numpy as np

from tfcap._io import read_json
from tfcap.data.caption_split import CaptionSplit
from tfcap.data.caption_split import row_finder
from tfcap.data.entry_problems import is_image_id
from tfcap.data.entry_problems import listed
from tfcap.data.extraction import leave_out
from tfcap.data.features import FeatureWriter
from tfcap.data.image_names import image_key
from tfcap.data.image_names import whole_number
from tfcap.data.photographs import names_below
from tfcap.data.split_lists import read_image_ids
from tfcap.text.progress_bar import ProgressBar

#: Usual names of arrays of features; the first that exists is taken.
_USUAL = (
    *("features", "image_features", "img_features", "feature"),
    *("feat", "feats", "att_feats", "x"),
)
#: Names of other arrays that accompany features.
_BESIDE = re.compile(
    r"box|bb|spatial|prob|conf|mask|size|pos|score|cls|attr|width|height"
)
#: An image, then the kind of the array: `9_features`, `9_cls_prob`.
_PART = re.compile(
    r"(.*\d.*?)_(features?|feats?|x|grids?|regions?|fc|att|box|boxes|bbox|size"
    r"|mask|conf|num_boxes|cls_prob)"
)
_SPLIT = re.compile(r"(.*)_(train|val|test)\w*")
#: Names of arrays of image ids, and of numbers of regions.
_IDS = re.compile(
    r"((image|img|file)_?)?(ids?|keys?|names?|paths?)(_(train|val|test)\w*)?"
)
_COUNTS = ("num_boxes", "num_bbox")
#: Keys of the id in an entry of a list of images.
_ID_KEYS = ("imgId", "image_id", "img_id", "cocoid", "id")
#: Bytes of an HDF5 file's chunk cache.
_CHUNKS = 1 << 26
#: Exceptions that libraries raise for a malformed file.
_DAMAGE = (
    *(KeyError, OSError, RuntimeError, TypeError, ValueError, EOFError),
    *(NotImplementedError, zipfile.BadZipFile, zlib.error),
)
_READABLE = (
    "Supported are: HDF5 or .npz with features (n, P, D) and ids (n,), or one "
    "array per image under its id (`9`, `9_features`, `9/features`); .npy "
    "(n, P, D) with --ids; TSV with base64 columns, as of bottom-up-attention; "
    "a folder of such files, or of one .npy or .npz per image. --array names "
    "the array of features, --ids a list of ids (text, JSON or .npy). Unpack "
    "archives first. LMDB and pickles (.pt, .pkl), which run code when they "
    "are read, are not supported: if you trust them, load them in Python, save "
    "one array per image by `numpy.save(f'folder/{image_id}.npy', array)`, and "
    "convert the folder."
)


def convert_features(
    source: str | os.PathLike,
    path: str | os.PathLike,
    captions: CaptionSplit | None = None,
    ids: str | os.PathLike | None = None,
    array: str | None = None,
    progress: bool = True,
    skip_unreadable: bool = False,
):
    """Writes features that another project extracted to a feature file.

    Supported are HDF5 and `.npz` files with an array `(n, P, D)` and ids, or
    with one array per image; `.npy` files with a list of ids; TSV files with
    base64 columns, as those of bottom-up attention; and folders of any of
    these, or of one `.npy` or `.npz` per image. Grids `(D, height, width)`
    become `(height, width, D)`. Images with fewer positions than others are
    padded with zeros, and batches then have an `image_mask`. Boxes are left
    out.

    The source is read twice, for shapes and for values. Called again after an
    interruption, it continues with the missing images.

    Args:
        source: String or path of a file or folder.
        path: String or path of the file `*.npy` to write.
        captions: `CaptionSplit`. Its images are found by id or file name, and
            written under its ids. Defaults to `None`, all images: if all names
            are numbers, or file names of COCO or VisDial, they become integers.
        ids: String or path of a list of the images' ids, in the order of the
            features: text, JSON or `.npy`, or a JSON object of such lists by
            split. Defaults to `None`, those in `source`.
        array: String, name of the array of features, if a file has several.
            Defaults to `None`.
        progress: Boolean, whether to show progress. Defaults to `True`.
        skip_unreadable: Boolean, whether damaged images are left out and
            listed instead of rejected. Defaults to `False`.

    Raises:
        ValueError: If the layout is unknown, or if an image is missing,
            damaged, repeated, or of another width.
        OSError: If there is no such file, or if the disk fails.

    Example:

    >>> import os, tempfile
    >>> from tfcap.data.foreign_features import convert_features
    >>> folder = tempfile.mkdtemp()
    >>> path = os.path.join(folder, "features.npz")
    >>> np.savez(path, image_id=[7, 9], features=np.eye(2, 4)[:, None])
    >>> out = os.path.join(folder, "features.npy")
    >>> convert_features(path, out, progress=False)
    >>> tfcap.data.load_features(out, [9]).tolist()
    [[[0.0, 1.0, 0.0, 0.0]]]

    Reference:

    - Anderson et al., Bottom-Up and Top-Down Attention, CVPR 2018, whose
      regions most of these files hold
    """
    find = functools.partial(_images, source, array, ids and _id_lists(ids))
    with ProgressBar(quiet=not progress) as bar:
        found = []
        for key, where, read in find():
            values, problem = _values(read)
            shape = None if problem else values.shape
            found.append((key, where, shape, problem))
            bar("shapes", len(found), len(found))
        known = _by_id(source, found, captions, skip_unreadable)
        shapes = {i: found[p][2] for i, p in known.items() if found[p][2]}
        axis, size = _feature_axis(source, shapes)
        counts = {i: math.prod(s) // size for i, s in shapes.items()}
        most = max(counts.values())
        name = os.path.basename(os.path.realpath(source))
        with FeatureWriter(
            path,
            [*known],
            (most, size),
            # The number of positions of a damaged image is unknown.
            [counts.get(image_id, most) for image_id in known],
            layer=" ".join(filter(None, [name, array])),
        ) as writer:
            if progress:
                print(
                    f"{source}: {len(known):,} images of up to {most:,} "
                    f"positions, of {size:,} features",
                    flush=True,
                )
            _write(writer, find, [*known.values()], found, axis, bar)


def _write(writer, find, places, found, axis, bar):
    """Writes the missing images, in the order of the source."""
    rows, skipped = {}, {}
    for row, place in enumerate(places):
        _, where, shape, problem = found[place]
        if shape is None:
            skipped[row] = f"{where}: {problem}"
        elif not writer.done[row]:
            rows.setdefault(place, []).append(row)
    for place, (_, _, read) in enumerate(find() if rows else ()):
        for row in rows.get(place, ()):
            values = np.moveaxis(_values(read)[0], axis, -1)
            values = values.reshape(-1, writer.shape[-1])
            padded = np.zeros((1, *writer.shape[1:]), values.dtype)
            padded[0, : len(values)] = values
            writer.write([row], padded)
            bar("images", int(writer.done.sum()), len(places))
    leave_out(writer, skipped)


def _values(read):
    """Returns features without leading axes of size 1, or the problem."""
    try:
        values = np.asarray(read())
    except _DAMAGE as error:
        return None, str(error) or repr(error)
    while values.ndim > 2 and values.shape[0] == 1:
        values = values[0]
    return values, ""


def _by_id(source, found, captions, skip_unreadable):
    """Returns the places of images by their ids in the feature file."""
    damaged = [f"{where}: {told}" for _, where, _, told in found if told]
    if damaged and not skip_unreadable:
        raise ValueError(
            "`source` (--from) must hold undamaged features. Received: "
            f"{str(source)!r}, where {len(damaged):,} are damaged "
            f"({listed(damaged)}). If it was downloaded or copied, compare its "
            "size with the original; skip_unreadable=True "
            "(--skip-unreadable) leaves out and lists such images."
        )
    keys = [key for key, *_ in found]
    find = image_key if captions is None else row_finder(captions)
    if not all(map(is_image_id, keys)):
        raise ValueError(
            "`ids` (--ids) must be a list of integers or text. Received: "
            f"{listed([key for key in keys if not is_image_id(key)])}."
        )
    if captions is not None:
        ids = captions.image_ids
        pairs = [(ids[r], i) for i, key in enumerate(keys) for r in find(key)]
    else:
        ids = [*map(find, keys)]
        text = any(isinstance(image_id, str) for image_id in ids)
        pairs = [*zip(map(str, keys) if text else ids, range(len(keys)))]
    known, twice = {}, []
    # A damaged image may have an undamaged copy.
    for image_id, place in sorted(pairs, key=lambda p: found[p[1]][2] is None):
        other = known.setdefault(image_id, place)
        if other != place and found[place][2] is not None:
            both = found[other][1], found[place][1]
            where = " and ".join(w.removeprefix(f"{source}, ") for w in both)
            twice.append(f"{image_id}: {where}")
    wanted = known if captions is None else captions.image_ids
    missing = [image_id for image_id in wanted if image_id not in known]
    if twice or missing:
        raise ValueError(
            "`source` (--from) must hold each image once. Received: "
            f"{str(source)!r}, which lacks {len(missing):,} of {len(wanted):,} "
            f"({listed(missing) or 'none'}), has images such as {listed(keys)},"
            f" and repeats {len(twice):,} ({listed(twice) or 'none'}). Name a "
            "part of it, a folder of all images, or other --captions."
        )
    return {image_id: known[image_id] for image_id in wanted}


def _feature_axis(source, shapes):
    """Finds the axis of features, 0 or -1, and their number.

    The other axes are positions.
    """
    every = {*shapes.values()}
    kinds, one = {*map(len, every)}, next(iter(every), ())
    first, last = ({s[axis] for s in every if s} for axis in (0, -1))
    axis = -1
    if len(first) == 1 < len(last):
        # (D, P) or (D, height, width).
        axis = 0 if max(last) < one[0] else -1
    elif len(one) == 3 and len(first) == len(last) == 1:
        square = one[0] != one[2] and one[1] in (one[0], one[2])
        features_first = one[1] == one[2] if square else one[0] > one[2]
        axis = 0 if features_first else -1
    widths = Counter(s[axis] for s in shapes.values() if s)
    usual = max(widths, key=widths.get, default=0)
    others = [
        f"{i}: {s}"
        for i, s in shapes.items()
        if not math.prod(s) or not s or s[axis] != usual
    ]
    if others or len(kinds) != 1 or not kinds <= {1, 2, 3}:
        raise ValueError(
            "`source` (--from) must hold (D,), (P, D), (height, width, D) or "
            "(D, height, width) for every image, with one D for all. "
            f"Received: {str(source)!r}, with {listed([*every])}; without "
            f"{usual:,} features: {listed(others) or 'none'}. Name another "
            "array by --array; convert the features of each backbone alone."
        )
    return axis, usual


def _images(source, array, lists):
    """Yields a key, a place and a reading function for each image."""
    if not os.path.isdir(source):
        yield from _of_file(os.fspath(source), array, lists, alone=True)
        return
    every = names_below(source)
    names = [
        name
        for name in every
        if re.search(r"\.(npy|npz|h5|hdf5|tsv(\.\d+)?)$", name)
        # Pickles that mmf writes beside each array.
        and not name.endswith("_info.npy")
    ]
    # An image may have several files, as `9_att.npz` and `9_box.npy`.
    parts = {name: _key_and_part(_stem(name))[1] for name in names}
    kinds = {*parts.values()} if all(parts.values()) else {""}
    if len(kinds) > 1 and array not in kinds:
        raise ValueError(
            "`array` (--array) must name one kind of files. Received: "
            f"{str(source)!r}, with files such as {listed(names)}. Name one of "
            f"{', '.join(map(repr, sorted(kinds)))}."
        )
    if not every:
        raise _unknown(source, "no file in it")
    for name in names or every:
        if array in kinds and parts[name] != array:
            continue
        path, own = os.path.join(source, name), array not in kinds
        for key, *more in _of_file(path, array if own else None, lists, False):
            yield _key_and_part(key)[0] if kinds != {""} else key, *more


def _of_file(path, array, lists, alone):
    """Yields the images of one file; outside a folder, it may hold many."""
    import h5py

    options = path, array, lists, alone
    try:
        with open(path, "rb") as file:
            head = file.read(4096)
        if head.startswith(b"\x93NUMPY"):
            values = np.load(path, mmap_mode="r", allow_pickle=False)
            if alone or lists is not None:
                name = _stem(path)
                yield from _of_rows(path, {name: values}, [name], lists)
            else:
                yield _stem(path), path, lambda: values
        elif zipfile.is_zipfile(path):
            yield from _of_arrays(_of_archive(path), *options)
        elif h5py.is_hdf5(path):
            with h5py.File(path, rdcc_nbytes=_CHUNKS) as file:
                yield from _of_arrays(_of_hdf5(file), *options)
        elif b"\t" in head and b"\0" not in head and head[:1] != b"\x80":
            yield from _of_tsv(path)
        else:
            raise _unknown(path, f"bytes that begin with {head[:16]!r}")
    except _DAMAGE as error:
        ours = str(error).startswith("`")
        if ours or isinstance(error, FileNotFoundError):
            raise
        raise ValueError(
            "`source` (--from) must name features that can be read. Received: "
            f"{path!r}: {error}. {_READABLE}"
        ) from error


def _of_hdf5(file):
    """Returns the data sets of an HDF5 file by name."""
    import h5py

    things = {}
    file.visititems(lambda name, thing: things.update({name: thing}))
    return {n: x for n, x in things.items() if isinstance(x, h5py.Dataset)}


def _of_archive(path):
    """Returns the arrays of an `.npz` file, except object arrays."""
    arrays = {}
    with np.load(path, allow_pickle=False) as archive:
        for name in archive.files:
            with contextlib.suppress(ValueError):
                arrays[name] = archive[name]
    return {n: x for n, x in arrays.items() if isinstance(x, np.ndarray)}


def _of_arrays(arrays, path, array, lists, alone):
    """Yields features of a file with one array, or one row, per image."""
    parts = {name: _key_and_part(name) for name in arrays}
    numbered = any(
        image_key(key) != key or part and re.search(r"\d", key)
        for key, part in parts.values()
    )
    if lists is None and numbered:
        yield from _of_keys(path, arrays, parts, array)
        return
    rows = {len(arrays[name]) for name in _own_ids(arrays)}
    names = [name for name in arrays if arrays[name].ndim > 1]
    if alone or lists is not None or rows & {len(arrays[n]) for n in names}:
        names = _chosen(path, arrays, names, array)
        yield from _of_rows(path, arrays, names, lists)
    else:
        (name,) = _chosen(path, arrays, [*arrays], array)
        yield _stem(path), path, lambda: arrays[name][...]


def _of_keys(path, arrays, parts, array):
    """Yields features of a file with one array per image."""
    of_part = {}
    for name, values in arrays.items():
        if values.dtype.kind == "f" and values.ndim:
            of_part.setdefault(parts[name][1], values)
    (wanted,) = _chosen(path, of_part, [*of_part], array, arrays)
    for name, (key, part) in parts.items():
        if part == wanted:
            where = f"{path}, `{name}`"
            yield key or name, where, lambda name=name: arrays[name][...]


def _of_rows(path, arrays, names, lists):
    """Yields features of images that are rows, or ranges of rows."""
    beside = {_last(name): values for name, values in arrays.items()}
    for name in names:
        values = arrays[name]
        if values.dtype.kind != "f" or values.ndim < 2:
            raise _unknown(path, _found(arrays))
        ends = np.arange(len(values))
        spans, used = np.stack([ends, ends + 1], 1), None
        if "pos_boxes" in beside:
            spans = beside["pos_boxes"][...]
        elif values.ndim == 3:
            sizes = [beside[n] for n in _COUNTS if n in beside]
            used = next((x[...] for x in sizes if len(x) == len(values)), None)
        keys = _row_ids(path, arrays, name, len(spans), lists)

        def read(row, values=values, spans=spans, used=used):
            start, stop = map(int, spans[row])
            if "pos_boxes" in beside:
                return values[start:stop]
            return values[row][: None if used is None else int(used[row])]

        for row, key in enumerate(keys):
            where = f"{path}, `{name}`, row {row}"
            yield key, where, functools.partial(read, row)


def _own_ids(arrays):
    """Returns the names of arrays that may be ids of a file's images."""
    return [
        name
        for name, values in arrays.items()
        if values.ndim
        and math.prod(values.shape) == len(values)
        and values.dtype.kind in "iufSUO"
        and _IDS.fullmatch(_last(name))
    ]


def _row_ids(path, arrays, name, count, lists):
    """Returns the ids of an array's rows, from a list or the same file."""
    known = lists or {i: arrays[i] for i in _own_ids(arrays)}
    found = [i for i, keys in known.items() if len(keys) == count]
    if split := _SPLIT.fullmatch(_last(name)):
        found = [i for i in found if i.endswith(split[2])] or found
    # A file may also hold names of images.
    found = [i for i in found if lists is None and "id" in _last(i)] or found
    if len(found) == 1:
        return lists[found[0]] if lists else _keys_of(arrays[found[0]])
    told = ", ".join(f"{i} {len(keys):,}".strip() for i, keys in known.items())
    raise ValueError(
        f"`--ids` must name one list of the ids of the {count:,} rows of "
        f"`{name}`. Received: {told or 'none'} for {path!r}, with "
        f"{_found(arrays)}. Give a list in their order: text, JSON or .npy."
    )


def _keys_of(values):
    """Returns the ids of an array, as integers or text."""
    return [
        key.decode("utf-8") if isinstance(key, bytes) else whole_number(key)
        for key in np.asarray(values[...]).reshape(-1).tolist()
    ]


def _chosen(path, arrays, names, array, shown=None):
    """Chooses the array of features, or the arrays of several splits."""
    names = [n for n in names if arrays[n].dtype.kind == "f"]
    split = {n: m[1] for n in names if (m := _SPLIT.fullmatch(_last(n)))}
    if array is not None:
        found = [n for n in names if array in (n, _last(n), split.get(n))]
    else:
        usual = [[n for n in names if _last(n) == one] for one in _USUAL]
        rest = [n for n in names if not _BESIDE.search(_last(n))]
        found = next(filter(None, [*usual, rest]), [])
    if not found:
        raise _unknown(path, _found(shown or arrays))
    if len(found) > 1 and len({split.get(n, n) for n in found}) > 1:
        raise ValueError(
            "`array` (--array) must name one array of features. Received: "
            f"{path!r}, with {_found(shown or arrays)}. Name one of "
            f"{', '.join(map(repr, found))}."
        )
    return found


def _of_tsv(path):
    """Yields features in base64 from the lines of a TSV file.

    The longest column holds float32 features, and the nearest number before it
    is the number of regions. VinVL's lines hold an image and a JSON object.
    """
    with open(path, "rb") as file:
        columns = Counter(line.count(b"\t") for line in file if line.strip())
        ((usual, _),) = columns.most_common(1)
        file.seek(0)
        for number, line in enumerate(file, start=1):
            fields = line.rstrip(b"\r\n").split(b"\t")
            about = fields[-1].startswith(b"{") and json.loads(fields[-1])
            if about:
                boxes, text = f"{about['num_boxes']}", about["features"]
                fields = [fields[0], boxes.encode(), text.encode()]
            # The first line may hold the names of the columns.
            names = number == 1 and not any(map(bytes.isdigit, fields))
            if line.strip() and not names:
                key = fields[0].decode("utf-8-sig", "replace")
                extra = line.count(b"\t") - usual
                read = functools.partial(_of_line, fields, extra)
                yield key, f"{path}, line {number}", read


def _of_line(fields, extra):
    """Returns the features of a line, `(regions, D)`."""
    if extra:
        usual = len(fields) - extra
        raise ValueError(f"there are {len(fields)} columns, not {usual}")
    longest = max(range(len(fields)), key=lambda i: (len(fields[i]), i))
    counts = [field for field in fields[1:longest] if field.isdigit()]
    if not counts:
        raise ValueError("there is no number of regions before the features")
    content = base64.b64decode(fields[longest], validate=True)
    return np.frombuffer(content, "<f4").reshape(int(counts[-1]), -1)


def _key_and_part(name):
    """Splits a name into image and kind: `9_boxes` into `("9", "boxes")`."""
    group, _, last = name.rpartition("/")
    if image_key(last) != last:
        return last, ""
    if found := _PART.fullmatch(last):
        return found[1], found[2]
    return (_last(group), last) if group else (last, "")


def _id_lists(path):
    """Reads the lists of ids in a file, by name."""
    path = os.fspath(path)
    if path.endswith(".npy"):
        return {"": _keys_of(np.load(path, allow_pickle=False))}
    if not re.search(r"\.json(\.gz)?$", path):
        return {"": read_image_ids(path)}
    content = read_json(path)
    if not isinstance(content, dict):
        content = {"": content}
    # A dict from id to row, as in bottom-up-attention-vqa.
    rows = [row for row in content.values() if type(row) is int]
    if sorted(rows) == [*range(len(content))]:
        return {"": sorted(content, key=content.get)}

    def image_id(entry):
        if not isinstance(entry, dict):
            return entry
        return next((entry[key] for key in _ID_KEYS if key in entry), None)

    lists = {n: x for n, x in content.items() if isinstance(x, list)}
    return {name: [*map(image_id, x)] for name, x in lists.items()}


def _unknown(path, found):
    """Makes the error for a file of unknown layout."""
    return ValueError(
        "`source` (--from) must name features in a known layout. "
        f"Received: {str(path)!r}, with {found}. {_READABLE}"
    )


def _last(name):
    return name.rpartition("/")[2]


def _stem(path):
    return os.path.splitext(os.path.basename(path))[0]


def _found(arrays):
    """Returns names, shapes and types of the first few arrays."""
    shown = [f"`{n}` {x.shape} {x.dtype}" for n, x in arrays.items()]
    return listed(shown) or "no array"
