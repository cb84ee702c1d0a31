"""Splits that are lists of images beside one file of captions."""

import dataclasses
import os

from tfcap.data.caption_split import find_rows
from tfcap.data.caption_split import take_rows
from tfcap.data.entry_problems import EntryProblems
from tfcap.data.image_lists import read_image_ids
from tfcap.data.split_names import choose_splits
from tfcap.io import is_there


def take_splits(whole, split, split_files, own_lists):
    """The images of some splits, where each split is a list in a file.

    Args:
        whole: `CaptionSplit` of all images of the file of captions.
        split: String or list of strings, see `choose_splits()`; or None.
        split_files: Dict of split name to the path of a list of its images;
            or None.
        own_lists: Dict of split name to the path of the data set's own list,
            from the folder of the captions: what stands in for `split_files`.

    Returns:
        A `CaptionSplit` in the order of `whole`; `whole` if neither `split`
        nor `split_files` is given.

    Raises:
        ValueError: If there is no such split or list, if a list names an
            image that is not there, or if an image is in two of them.
    """
    if split is None and split_files is None:
        return whole
    if split_files is None:
        split_files = _lists_beside(whole.source, own_lists)
    rows = {
        name: find_rows(whole, read_image_ids(path), str(path))
        for name, path in split_files.items()
    }
    _check_disjoint(whole, rows, split_files)
    counts = {name: len(found) for name, found in rows.items()}
    names = {
        row: name
        for name in choose_splits(split, counts, whole.source)
        for row in rows[name]
    }
    kept = sorted(names)
    return dataclasses.replace(
        take_rows(whole, kept), splits=[names[row] for row in kept]
    )


def _lists_beside(path, own_lists):
    folder = os.path.dirname(path)
    lists = {
        name: os.path.join(folder, list_name)
        for name, list_name in own_lists.items()
    }
    found = {name: path for name, path in lists.items() if is_there(path)}
    if not found:
        raise ValueError(
            "`split_files` must be given where the data set's own lists do "
            f"not lie beside the captions. Received: path={path!r}, and no "
            f"{', '.join(own_lists.values())} in its folder. Pass a dict of "
            "split name to the path of a list of images."
        )
    return found


def _check_disjoint(whole, rows, split_files):
    """An image in two splits would be trained on and tested on."""
    split_of = {}
    for name, found in rows.items():
        problems = EntryProblems(split_files[name])
        for row in found:
            other = split_of.setdefault(row, name)
            if other != name:
                problem = f"an image is that of the split {other!r}, too,"
                cure = "Keep each image in one list."
                problems.add(problem, whole.filenames[row], cure)
        problems.check()
