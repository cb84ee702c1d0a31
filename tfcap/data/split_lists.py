"""Splits by name, and lists of the images of a split."""

import dataclasses
import os
from collections import Counter

from tfcap._io import malformed
from tfcap._io import read_json
from tfcap._io import read_lines
from tfcap._io.json_file import read_bytes
from tfcap.data.caption_split import CaptionSplit
from tfcap.data.caption_split import find_rows
from tfcap.data.entry_problems import is_image_id
from tfcap.data.image_names import as_number

#: Lists that Flickr8k and TGIF have beside their captions.
_LISTS = {
    "train": ("Flickr_8k.trainImages.txt", "splits/train.txt"),
    "val": ("Flickr_8k.devImages.txt", "splits/val.txt"),
    "test": ("Flickr_8k.testImages.txt", "splits/test.txt"),
}
_LAYOUT = "Give a JSON list, or a text with one image id or file name per line."


def take_splits(
    whole: CaptionSplit, split: str | list[str] | None
) -> CaptionSplit:
    """Selects the images of splits that the file or lists beside it define.

    Raises:
        ValueError: If a split or list does not exist, if a list names an
            unknown image, or if an image is in two lists.
    """
    if any(whole.splits):
        names = choose_splits(split, Counter(whole.splits), whole.source)
        rows = [i for i, name in enumerate(whole.splits) if name in names]
        return whole.take(rows)
    if split in (None, "all"):
        return whole
    lists = _lists_beside(whole.source, split)
    rows = {
        name: find_rows(whole, read_image_ids(path), path)
        for name, path in lists.items()
    }
    split_of = {}
    for name, numbers in rows.items():
        for row in numbers:
            # It would be used for both training and testing.
            if row in split_of:
                problem = f"{whole.filenames[row]!r} is in another split, too"
                hint = "Keep each image in one list."
                raise malformed(lists[name], "", problem, hint)
            split_of[row] = name
    counts = {name: len(numbers) for name, numbers in rows.items()}
    names = choose_splits(split, counts, whole.source)
    kept = sorted({row for name in names for row in rows[name]})
    splits = [split_of[row] for row in kept]
    return dataclasses.replace(whole.take(kept), splits=splits)


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
            f"of its images are beside it. Received: split={split!r}, path="
            f"{path!r}, and no {_LISTS['train'][0]} in its folder. Take the "
            "images of a list by `select(read_image_ids(list))`."
        )
    return existing


def read_image_ids(path: str | os.PathLike) -> list:
    """Reads the image ids of a split from a list.

    Args:
        path: String or path of a file, gzipped or not: a JSON list of ids or
            file names, or a text with one of them per line, such as
            Flickr8k's `Flickr_8k.trainImages.txt`. Blank lines are skipped. A
            line of digits is an integer unless it begins with a zero.

    Returns:
        List of distinct integers or strings, in the order of the file, for
        `CaptionSplit.select()`.

    Raises:
        ValueError: If the file is cut off, malformed or empty, or names an
            image twice. The message names the file, the entry and a remedy.

    Example:

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "val.txt"
    >>> _ = path.write_text("391895\\nCOCO_val2014_000000522418.jpg\\n")
    >>> tfcap.data.read_image_ids(path)
    [391895, 'COCO_val2014_000000522418.jpg']

    Reference:

    - Vedantam et al., Context-aware Captions from Context-agnostic
      Supervision, CVPR 2017, whose split of COCO (113,287, 5,000 and 5,000
      images) Luo et al. 2018 and Vered et al. 2019 use
    """
    content = read_bytes(path)
    lines = [line.strip() for line in read_lines(path, content)]
    if next(filter(None, lines), "")[:1] in ("[", "{"):
        entries = read_json(path, content=content)
        if not isinstance(entries, list):
            raise malformed(path, "", "the content is no list", _LAYOUT)
        noun, entries = "entry", dict(enumerate(entries))
    else:
        noun, lines = "line", enumerate(lines, start=1)
        entries = {i: as_number(line) for i, line in lines if line}
    if not entries:
        raise malformed(path, "", "there is no image", _LAYOUT)
    seen = set()
    for i, entry in entries.items():
        if not is_image_id(entry) or entry in seen:
            problem = f"{entry!r:.60} is no integer or text, or there already"
            raise malformed(path, f"{noun} {i}", problem, _LAYOUT)
        seen.add(entry)
    return [*entries.values()]


def choose_splits(
    split: str | None, counts: dict, path: str | os.PathLike
) -> list:
    """Returns the names of the requested splits.

    Args:
        split: String, names joined by a plus (`"train+restval"`), or
            `"all"`; list of names; or None if there is only one split.

    Raises:
        ValueError: If a requested split does not exist, or if `split` is None
            and there are several.

    Example:

    >>> from tfcap.data.split_lists import choose_splits
    >>> choose_splits("train+val", {"train": 6, "val": 1, "test": 1}, "f.json")
    ['train', 'val']
    """
    alone = split is None and len(counts) == 1
    if alone or split == "all" and split not in counts:
        return list(counts)
    names = split.split("+") if isinstance(split, str) else list(split or ())
    if not names or not {*names} <= {*counts}:
        available = ", ".join(f"{name!r} ({n:,})" for name, n in counts.items())
        raise ValueError(
            "`split` must name splits of the file, and must be given if there "
            f"are several. Received: split={split!r}, path="
            f"{str(path)!r}. It has the splits {available}."
        )
    return names
