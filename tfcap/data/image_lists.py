"""Lists of images: the splits of the papers that publish nothing else."""

from tfcap.data.coco_captions import is_image_id
from tfcap.data.entry_problems import EntryProblems
from tfcap.io import malformed
from tfcap.io import read_json
from tfcap.io import read_lines
from tfcap.io.json_file import read_bytes

#: Digits of an image's number at most: integers of 64 bits have 19.
_DIGITS = 40
_TOO_LONG = object()
_LAYOUT = (
    "Give a list in JSON, or a text with one image id or file name a line."
)


def read_image_ids(path):
    """Reads a list of images, one side of a split.

    Args:
        path: String or path, gzipped or not, of a list in JSON of ids or file
            names, or of a text with one of them a line, as Flickr8k's
            `Flickr_8k.trainImages.txt`. Blank lines are skipped, and a line
            of digits alone is an integer.

    Returns:
        List of distinct integers or strings, in the order of the file: what
        `CaptionSplit.select()` takes.

    Raises:
        ValueError: If the file is cut off or malformed, empty, or names an
            image twice. Names the file, the first few entries and their
            number, and the cure.

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
    for place, entry in entries:
        if entry is _TOO_LONG:
            problem = f"there is a number of more than {_DIGITS} digits"
            problems.add(problem, place, "Correct the list.")
        elif not is_image_id(entry):
            problem = "there is neither an integer nor some text"
            problems.add(problem, place, _LAYOUT)
        elif entry in seen:
            cure = "Keep each image once."
            problems.add("an image is there again", f"{place}: {entry}", cure)
        else:
            seen.add(entry)
    problems.check()
    return [entry for _, entry in entries]


def _entry(line):
    """A line as an integer or a name, or `_TOO_LONG`."""
    if not line.isdecimal():
        return line
    # Python reads no more than some thousands, and files hold 64 bits.
    return int(line) if len(line) <= _DIGITS else _TOO_LONG
