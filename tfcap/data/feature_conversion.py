"""Converting features that another project wrote into a feature file."""

import math
import os
from collections import Counter

import numpy as np

from tfcap.data.caption_split import CaptionSplit
from tfcap.data.caption_split import row_finder
from tfcap.data.entry_problems import is_image_id
from tfcap.data.entry_problems import listed
from tfcap.data.extraction import leave_out
from tfcap.data.feature_writer import FeatureWriter
from tfcap.data.foreign_features import DAMAGE
from tfcap.data.foreign_features import find_features
from tfcap.data.image_names import image_key
from tfcap.text.progress_bar import ProgressBar


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

    Read are HDF5 and `.npz` files with an array `(n, P, D)` and ids, or with
    one array an image; `.npy` files with a list of ids; TSV files with base64
    columns, as those of bottom-up attention; and folders of any of these, or
    of one `.npy` or `.npz` an image. Grids `(D, height, width)` are turned to
    `(height, width, D)`. Images with fewer positions than others are padded
    with zeros, and batches then have an `image_mask`. Boxes are left out.

    One image is in memory at a time. Called again after an interruption, it
    goes on with the images that are not done.

    Args:
        source: String or path of a file or folder.
        path: String or path of the feature file to write.
        captions: `CaptionSplit` whose images are taken, under its ids, found
            by id or by file name. Defaults to `None`, all images: names that
            are numbers, or COCO's and VisDial's file names, become integers
            where all are such.
        ids: String or path of a list of the images' ids, in the order of the
            features: text, JSON or `.npy`, or a JSON object of such lists by
            split. Defaults to `None`, those in `source`.
        array: String, name of the array of features, where a file has
            several. Defaults to `None`.
        progress: Boolean, whether to show progress. Defaults to `True`.
        skip_unreadable: Boolean, whether damaged images are left out and
            listed instead of refused, see `load_skipped()`. Defaults to
            `False`.

    Raises:
        ValueError: If the layout is unknown, with what was found; if an image
            is missing, damaged, there twice, or of another width, with its id
            and place.
        OSError: If there is no such file, or if the disk fails.

    Example:

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> path = os.path.join(folder, "features.npz")
    >>> np.savez(path, image_id=[7, 9], features=np.eye(2, 4)[:, None])
    >>> out = os.path.join(folder, "features.h5")
    >>> tfcap.data.convert_features(path, out, progress=False)
    >>> tfcap.data.load_features(out, [9]).tolist()
    [[[0.0, 1.0, 0.0, 0.0]]]

    Reference:

    - Anderson et al., Bottom-Up and Top-Down Attention, CVPR 2018, whose
      regions most of these files hold
    """
    with ProgressBar(quiet=not progress) as bar:
        entries = find_features(source, array, ids, bar)
        known = _by_id(source, entries, captions, skip_unreadable)
        shapes = {
            image_id: _without_ones(entry.shape)
            for image_id, entry in known.items()
            if entry.shape is not None
        }
        _check_not_empty(source, shapes)
        axis = _feature_axis(source, [*shapes.values()])
        size = _width(source, {i: s[axis] for i, s in shapes.items()})
        counts = {i: math.prod(s) // size for i, s in shapes.items()}
        most = max(counts.values())
        grids = {s[:-1] if axis else s[1:] for s in shapes.values()}
        grid = grids.pop() if len(grids) == 1 else ()
        name = os.path.basename(os.path.realpath(source))
        writer = FeatureWriter(
            path,
            [*known],
            grid if len(grid) == 2 else (most, 1),
            size,
            layer=" ".join(filter(None, [name, array])),
            # Of what is damaged nobody knows.
            counts=[counts.get(image_id, most) for image_id in known],
        )
        if progress:
            least = min(counts.values())
            fewest = "" if least == most else f"{least:,} to "
            print(
                f"{source}: {len(known):,} images, {fewest}{most:,} positions "
                f"of {size:,} features",
                flush=True,
            )
        places = {entry: place for place, entry in enumerate(entries)}
        with writer:
            _write(
                writer, [*known.values()], places, axis, bar, skip_unreadable
            )


def _write(writer, entries, order, axis, bar, skip_unreadable):
    """Writes what is not done yet, an image at a time, as the source has them.

    In another order, each step back in an archive reads it from its start.
    """
    skipped = {} if skip_unreadable else None
    rows = writer.remaining.tolist()
    for row in sorted(rows, key=lambda row: order[entries[row]]):
        try:
            values = _rows(entries[row], axis)
        except ValueError as error:
            if skipped is None:
                raise _damaged(entries[row].where, str(error)) from error
            skipped[row] = f"{entries[row].where}: {error}"
            continue
        padded = np.zeros((1, *writer.shape[1:]), values.dtype)
        padded[0, : len(values)] = values
        writer.write([row], padded)
        bar("images", int(writer.done.sum()), len(entries))
    leave_out(writer, skipped)


def _rows(entry, axis):
    """Features of an image, `(positions, D)`."""
    try:
        values = np.asarray(entry.read())
    except DAMAGE as error:
        raise ValueError(str(error)) from error
    if values.shape != entry.shape:
        raise ValueError(f"the shape is {values.shape}, not {entry.shape}")
    values = values.reshape(_without_ones(entry.shape))
    return np.moveaxis(values, axis, -1).reshape(-1, values.shape[axis])


def _damaged(source, problems):
    return ValueError(
        "`source` (--from) must hold whole features. Received: "
        f"{str(source)!r}, where {problems}. If it was downloaded or copied, "
        "compare its size with the original; skip_unreadable=True "
        "(--skip-unreadable) leaves out and lists such images."
    )


def _by_id(source, entries, captions, skip_unreadable):
    """Features by the ids that they get."""
    broken = [entry for entry in entries if entry.shape is None]
    if broken and not skip_unreadable:
        problems = []
        for entry in broken:
            try:
                entry.read()
            except ValueError as error:
                problems.append(f"{entry.where}: {error}")
        raise _damaged(
            source, f"{len(broken):,} are damaged ({listed(problems)})"
        )
    known, twice = {}, []
    # What is damaged may be there again, whole.
    pairs = _with_ids(source, entries, captions)
    for image_id, entry in sorted(pairs, key=lambda pair: not pair[1].shape):
        if image_id not in known:
            known[image_id] = entry
        elif entry.shape:
            both = (known[image_id].where, entry.where)
            where = " and ".join(w.removeprefix(f"{source}, ") for w in both)
            twice.append(f"{image_id}: {where}")
    if twice:
        raise ValueError(
            "`source` (--from) must hold each image once. Received: "
            f"{str(source)!r}, where {len(twice):,} are there again "
            f"({listed(twice)}). Name a part of it, or leave one of each out."
        )
    wanted = known if captions is None else captions.image_ids
    missing = [image_id for image_id in wanted if image_id not in known]
    if missing:
        raise ValueError(
            "`captions` (--captions) must be of images whose features are "
            f"there. Received: {str(source)!r}, which lacks {len(missing):,} "
            f"of {len(wanted):,} ({listed(missing)}) and has such as "
            f"{listed([entry.key for entry in entries])}. Choose the splits "
            "that are there, or convert a folder of all files."
        )
    return {image_id: known[image_id] for image_id in wanted}


def _with_ids(source, entries, captions):
    """Pairs of an id and features, of the images that are wanted."""
    wrong = [e for e in entries if not is_image_id(e.key)]
    if wrong:
        raise ValueError(
            "`ids` (--ids) must be integers or text. Received: "
            f"{wrong[0].key!r:.80} of {wrong[0].where}, and "
            f"{len(wrong) - 1:,} more. Give a list of the images' ids."
        )
    if captions is None:
        ids = [image_key(entry.key) for entry in entries]
        if any(isinstance(image_id, str) for image_id in ids):
            ids = [str(entry.key) for entry in entries]
        return [*zip(ids, entries)]
    find = row_finder(captions)
    return [
        (captions.image_ids[row], entry)
        for entry in entries
        for row in find(entry.key)
    ]


def _without_ones(shape):
    """A shape without the ones before it, as of a batch of one image."""
    while len(shape) > 2 and shape[0] == 1:
        shape = shape[1:]
    return shape


def _check_not_empty(source, shapes):
    empty = [i for i, shape in shapes.items() if min(shape, default=1) < 1]
    if empty or not shapes:
        raise ValueError(
            "`source` (--from) must hold features of every image. Received: "
            f"{str(source)!r}, with none of {listed(empty) or 'any'}. Leave "
            "these images out, or extract their features."
        )


def _feature_axis(source, shapes):
    """The axis of features, 0 or -1: the others are positions."""
    kinds = {len(shape) for shape in shapes}
    if len(kinds) != 1 or not kinds <= {1, 2, 3}:
        examples = listed(list(dict.fromkeys(shapes)))
        raise ValueError(
            "`source` (--from) must hold (D,), (P, D), (height, width, D) or "
            "(D, height, width) of every image, and the same of all. Received: "
            f"{str(source)!r}, with {examples}. --array names another array."
        )
    first, last = ({shape[axis] for shape in shapes} for axis in (0, -1))
    one = shapes[0]
    if len(last) > 1 and len(first) == 1 and max(last) < one[0]:
        return 0
    if len(one) < 3 or len(first) > 1 or len(last) > 1:
        return -1
    if one[0] != one[2] and one[1] in (one[0], one[2]):
        return 0 if one[1] == one[2] else -1  # a square grid
    return 0 if one[0] > one[2] else -1


def _width(source, widths):
    """Features of a position, the same of all images."""
    ((usual, count),) = Counter(widths.values()).most_common(1)
    others = [f"{i}: {w:,}" for i, w in widths.items() if w != usual]
    if others:
        raise ValueError(
            "`source` (--from) must hold features of one width. Received: "
            f"{str(source)!r}, with {usual:,} of {count:,} images and others "
            f"of {len(others):,} ({listed(others)}). Convert those of each "
            "backbone by themselves."
        )
    return usual
