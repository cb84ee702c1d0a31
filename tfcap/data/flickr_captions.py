"""Reading the captions of Flickr8k and Flickr30k as they were published."""

import os
import re

from tfcap.data.caption_split import SKIP
from tfcap.data.caption_split import CaptionSplit
from tfcap.data.caption_split import keep_captions
from tfcap.data.entry_problems import EntryProblems
from tfcap.data.split_lists import take_splits
from tfcap.io import malformed
from tfcap.io import read_lines
from tfcap.io.text_file import warn_if_cut

#: The lists in the archive of Flickr8k's texts.
_LISTS = {
    "train": "Flickr_8k.trainImages.txt",
    "val": "Flickr_8k.devImages.txt",
    "test": "Flickr_8k.testImages.txt",
}
#: Flickr8k.token.txt has captions of it, but there is no such image.
_PHANTOM = "2258277193_586949ec62.jpg.1"
_PHOTO = re.compile(r"(\d{1,40})(_[0-9a-f]+)?\.jpg")
_FIX = "Correct the file, or get it again from where it is published."
_LAYOUT = (
    "Give `Flickr8k.token.txt`, `results_20130124.token` or a file like them: "
    "in each line the name of an image, `#` and a number, a tab, a caption."
)


def load_flickr_captions(
    path: str | os.PathLike,
    split: str | list[str] | None = None,
    split_files: dict | None = None,
    skip_empty: bool = False,
) -> CaptionSplit:
    """Reads the captions of Flickr8k or Flickr30k from the original files.

    Every line is checked, and what is wrong is named with the lines, since a
    caption too few shows in no score. Karpathy's `dataset_flickr8k.json` and
    `dataset_flickr30k.json`, whose splits most papers on Flickr30k share, are
    read by `load_captions()`.

    Args:
        path: String or path, `Flickr8k.token.txt`, `results_20130124.token`
            and files like them, gzipped or not.
        split: String or list of strings, optional, which of the splits to
            read; several may be joined by a plus, `"train+val"`. Must be
            given if `split_files` names several. Without either, all images
            of the file are read.
        split_files: Dict of split name to the path of a list of its images
            (see `read_image_ids()`), optional. Defaults to Flickr8k's own
            lists, those that lie in the folder of `path`, as `"train"`,
            `"val"` (`Flickr_8k.devImages.txt`) and `"test"`.
        skip_empty: Boolean, see `load_captions()`. Defaults to `False`.

    Returns:
        A `CaptionSplit`, in the order of the images in the file. Image ids
        are the numbers of the photos, which the file names begin with;
        Flickr8k and Flickr30k share them. Five captions of Flickr8k are of an
        image that does not exist, `2258277193_586949ec62.jpg.1`, and are left
        out.

    Raises:
        ValueError: If a file is cut off or malformed, if there is no such
            split, or if an image is in two of them. Names the file, the first
            few lines and their number, and what to do.

    Example:

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "Flickr8k.token.txt"
    >>> _ = path.write_text("1000268201_693b08cb0e.jpg#0\\tA child .\\n")
    >>> tfcap.data.load_flickr_captions(path).references()
    {1000268201: ['A child .']}

    Reference:

    - Hodosh et al., Framing Image Description as a Ranking Task, JAIR 2013
    - Young et al., From Image Descriptions to Visual Denotations, TACL 2014
    """
    whole = _read_captions(path, skip_empty)
    return take_splits(whole, split, split_files, _LISTS)


def _read_captions(path, skip_empty):
    problems = EntryProblems(path)
    captions, numbers = {}, {}
    lines = read_lines(path)
    warn_if_cut(path, lines)
    for i, line in enumerate(lines, start=1):
        name, number, caption = _parse(line)
        if not line.strip() or name == _PHANTOM:
            continue
        where = f"line {i}"
        if not name:
            problem = "there is no image with a number, a tab and a caption"
            problems.add(problem, where, _LAYOUT)
        elif not (caption or skip_empty):
            hint = f"Leave out such captions{SKIP}"
            problems.add("the caption is empty", where, hint)
        else:
            captions.setdefault(name, []).append(caption)
            numbers.setdefault(name, []).append(number)
    problems.check()
    if not captions:
        raise malformed(path, "", "there is no caption", _LAYOUT)
    ids = _photos(captions, problems)
    _check_numbers(numbers, problems)
    problems.check()
    whole = CaptionSplit(
        image_ids=ids,
        captions=list(captions.values()),
        filenames=list(captions),
        splits=[""] * len(ids),
        source=str(path),
    )
    return keep_captions(whole, problems, skip_empty)


def _parse(line):
    """Name, number and caption of a line; no name if it is no such line."""
    head, tab, caption = line.partition("\t")
    name, _, number = head.strip().rpartition("#")
    if not tab or not number.isdecimal() or len(number) > 9:
        return "", -1, ""
    return name, int(number), caption.strip()


def _photos(names, problems):
    """The number of each photo."""
    ids = {}
    for name in names:
        photo = _PHOTO.fullmatch(name)
        if photo is None:
            problem = "there is no photo of Flickr, `1000268201_693b08cb0e.jpg`"
            problems.add(problem, f"image {name!r}", _FIX)
            continue
        other = ids.setdefault(int(photo[1]), name)
        if other != name:
            problem = "a photo is there under two names"
            hint = "Keep one entry for each image."
            problems.add(problem, f"{other!r} and {name!r}", hint)
    return list(ids)


def _check_numbers(numbers, problems):
    """The captions of an image are numbered, which shows one that is lost."""
    for name, found in numbers.items():
        if sorted(found) != list(range(len(found))):
            problem = "the captions are not numbered from 0 on, each once,"
            where = f"image {name!r}: {', '.join(map(str, found))}"
            problems.add(problem, where, _FIX)
