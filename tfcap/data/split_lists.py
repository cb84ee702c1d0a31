"""Splits by their names, and lists of the images of a split."""

import dataclasses
import os
from collections import Counter

from tfcap._io import malformed
from tfcap._io import read_json
from tfcap._io import read_lines
from tfcap._io.json_file import read_bytes
from tfcap.data.caption_split import CaptionSplit
from tfcap.data.caption_split import find_rows
from tfcap.data.caption_split import take_rows
from tfcap.data.entry_problems import EntryProblems
from tfcap.data.entry_problems import is_image_id
from tfcap.data.entry_problems import warn_of_splits
from tfcap.data.image_names import DIGITS
from tfcap.data.image_names import as_number

#: Lists that Flickr8k and TGIF have beside their captions.
_LISTS = {
    "train": ("Flickr_8k.trainImages.txt", "splits/train.txt"),
    "val": ("Flickr_8k.devImages.txt", "splits/val.txt"),
    "test": ("Flickr_8k.testImages.txt", "splits/test.txt"),
}
_TOO_LONG = object()
_LAYOUT = (
    "Give a list in JSON, or a text with one image id or file name a line."
)


def take_splits(
    whole: CaptionSplit,
    split: str | list[str] | None,
    split_files: dict | None,
) -> CaptionSplit:
    """The images of some splits, which the file or lists beside it name.

    Raises:
        ValueError: If there is no such split or list, if a list names an
            image that is not there, or if an image is in two of them.
    """
    if split_files is None and any(whole.splits):
        counts = Counter(whole.splits)
        names = choose_splits(split, counts, whole.source)
        warn_of_splits(whole.source, counts, names)
        rows = [i for i, name in enumerate(whole.splits) if name in names]
        return take_rows(whole, rows)
    if split_files is None and split in (None, "all"):
        return whole
    if split_files is None:
        split_files = _lists_beside(whole.source, split)
    rows = {
        name: find_rows(whole, read_image_ids(path), str(path))
        for name, path in split_files.items()
    }
    _check_disjoint(whole, rows, split_files)
    counts = {name: len(numbers) for name, numbers in rows.items()}
    names = {
        row: name
        for name in choose_splits(split, counts, whole.source)
        for row in rows[name]
    }
    kept = sorted(names)
    return dataclasses.replace(
        take_rows(whole, kept), splits=[names[row] for row in kept]
    )


def _lists_beside(path, split):
    folder = os.path.dirname(path)
    existing = {
        name: os.path.join(folder, list_name)
        for name, lists in _LISTS.items()
        for list_name in lists
        if os.path.exists(os.path.join(folder, list_name))
    }
    if not existing:
        raise ValueError(
            "`split` must be left out for a file without splits, unless lists "
            f"of their images are beside it. Received: split={split!r}, path="
            f"{path!r}, and no {_LISTS['train'][0]} in its folder. Pass "
            "`split_files`, a dict of split name to the path of a list."
        )
    return existing


def _check_disjoint(whole, rows, split_files):
    """An image in two splits would be trained on and tested on."""
    split_of = {}
    for name, numbers in rows.items():
        problems = EntryProblems(split_files[name])
        for row in numbers:
            other = split_of.setdefault(row, name)
            if other != name:
                problem = f"an image is that of the split {other!r}, too,"
                hint = "Keep each image in one list."
                problems.add(problem, whole.filenames[row], hint)
        problems.check()


def read_image_ids(path: str | os.PathLike) -> list:
    """Reads a list of images, one side of a split.

    Args:
        path: String or path, gzipped or not, of a list in JSON of ids or file
            names, or of a text with one of them a line, as Flickr8k's
            `Flickr_8k.trainImages.txt`. Blank lines are skipped, and a line
            of digits alone is an integer, unless it begins with a zero, as
            names do.

    Returns:
        List of distinct integers or strings, in the order of the file: what
        `CaptionSplit.select()` takes.

    Raises:
        ValueError: If the file is cut off or malformed, empty, or names an
            image twice. Names the file, the first few entries and their
            number, and what to do.

    Example:

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "val.txt"
    >>> _ = path.write_text("391895\\nCOCO_val2014_000000522418.jpg\\n")
    >>> tfcap.data.read_image_ids(path)
    [391895, 'COCO_val2014_000000522418.jpg']

    Reference:

    - Vedantam et al., Context-aware Captions from Context-agnostic
      Supervision, CVPR 2017, whose split of COCO (113,287, 5,000 and 5,000
      images) Luo et al. 2018 and Vered et al. 2019 compare on
    """
    content = read_bytes(path)
    lines = read_lines(path, content)
    if next(filter(None, map(str.strip, lines)), "")[:1] in ("[", "{"):
        entries = read_json(path, content=content)
        if not isinstance(entries, list):
            raise malformed(path, "", "the content is no list", _LAYOUT)
        entries = [(f"entry {i}", entry) for i, entry in enumerate(entries)]
    else:
        entries = [
            (f"line {i}", _entry(line))
            for i, line in enumerate(map(str.strip, lines), start=1)
            if line
        ]
    if not entries:
        raise malformed(path, "", "there is no image", _LAYOUT)
    problems, seen = EntryProblems(path), set()
    for where, entry in entries:
        if entry is _TOO_LONG:
            problem = f"there is a number of more than {DIGITS} digits"
            problems.add(problem, where, "Correct the list.")
        elif not is_image_id(entry):
            problem = "there is neither an integer nor some text"
            problems.add(problem, where, _LAYOUT)
        elif entry in seen:
            hint = "Keep each image once."
            problems.add("an image is there again", f"{where}: {entry}", hint)
        else:
            seen.add(entry)
    problems.check()
    return [entry for _, entry in entries]


def _entry(line):
    """A line as an integer where that is written so, a name, `_TOO_LONG`."""
    if line.isdecimal() and len(line) > DIGITS:
        return _TOO_LONG
    number = as_number(line)
    return number if str(number) == line else line


def choose_splits(
    split: str | None, counts: dict, path: str | os.PathLike
) -> list:
    """The names of the splits that are asked for.

    Args:
        split: String, names joined by a plus (`"train+restval"`), or
            `"all"`; list of names; or None, which does where there is one
            split only.

    Raises:
        ValueError: If there is no such split, or if there are several and
            none is asked for.

    Example:

    >>> from tfcap.data.split_lists import choose_splits
    >>> choose_splits("train+val", {"train": 6, "val": 1, "test": 1}, "f.json")
    ['train', 'val']
    """
    available = ", ".join(f"{name!r} ({n:,})" for name, n in counts.items())
    if split == "all" and split not in counts:
        return list(counts)
    if split is None:
        if len(counts) == 1:
            return list(counts)
        raise ValueError(
            "`split` must be given for a file with several splits. Received: "
            f"split=None, path={str(path)!r}. It has the splits {available}."
        )
    names = split.split("+") if isinstance(split, str) else list(split)
    absent = [name for name in names if name not in counts]
    if absent or not names:
        raise ValueError(
            "`split` must name splits of the file. Received: "
            f"split={split!r}, path={str(path)!r}. It has the splits "
            f"{available}."
        )
    return names
