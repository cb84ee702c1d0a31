"""Reading tables of captions, by the names of their columns."""

import csv
import json
import os
import re
from collections import Counter

from tfcap._io import malformed
from tfcap._io import read_lines
from tfcap.data.caption_split import ImageEntries
from tfcap.data.entry_problems import FIX
from tfcap.data.entry_problems import ID
from tfcap.data.entry_problems import field
from tfcap.data.image_names import DIGITS
from tfcap.data.image_names import as_number
from tfcap.data.photographs import IMAGE_ENDINGS

#: Names of columns by what they hold, the first that is there, without case,
#: spaces, `_` and `-`.
_COLUMNS = {
    "name": (
        *("image", "imagepath", "filename", "imagename", "imagefile"),
        *("filepath", "path", "file", "img", "imgpath", "imgname"),
        *("imgfile", "imageurl", "url"),
    ),
    "id": ("imageid", "imgid"),
    "split": ("split", "setname"),
}
#: Names of columns of captions; there may be several, with numbers.
_CAPTIONS = (
    *("caption", "captionstr", "raw", "comment", "sentence", "text"),
    *("description", "title"),
)
_SEPARATORS = "\t|,;"
_URL = re.compile(r"\w+://\S+")
#: What Flickr's files have behind the name of an image.
_NUMBER = re.compile(r"(?<=\S)#\d+$")
#: A URL, or an id with a digit, as names of columns have none.
_ID = re.compile(r"\w+://\S+|\S*\d\S*")
#: The row of Kaggle's Flickr30k that lacks a separator after the number.
_UNPARTED = re.compile(r"\s*(\d+)\s+(\S.*)", re.DOTALL)
#: Flickr8k.token.txt has captions of it, but there is no such image.
_PHANTOM = "2258277193_586949ec62.jpg.1"
#: What photos of Flickr and GIFs of TGIF are known by.
_KNOWN = (
    re.compile(rf"(\d{{1,{DIGITS}}})(?:_[0-9a-f]+)?\.jpg"),
    re.compile(r"\w+://(?:\S*/)?([^/\s]+)\.gif"),
)
_LAYOUT = (
    "Give a table with names of columns, such as `image,caption`, or in each "
    "line the name of an image, a tab and a caption."
)


def read_table(path: str | os.PathLike, content: bytes) -> ImageEntries:
    """Reads a text with rows of images and captions.

    Columns are parted by tabs, `|`, commas or semicolons. Without their names
    in the first line they are an image or URL and a caption; or a caption and
    a URL; or, parted by `|`, an image, a number and a caption.

    Raises:
        ValueError: If a row has not the columns of the others.
    """
    lines = read_lines(path, content)
    first = next((i for i, line in enumerate(lines) if line.strip()), 0)
    separator, names, named = _layout(path, lines[first])
    # Without names, as in Flickr's files, quotation marks are the captions'.
    quoted = separator in ",;" or (
        separator == "\t" and (named or lines[first].startswith('"'))
    )
    spaced = named and f"{separator} " in lines[first]
    rows = _cells(lines[first + named :], separator, len(names), quoted, spaced)
    records = []
    for i, row in rows:
        number = first + named + i
        row = _mended(row, separator + " " * spaced, names)
        if len(row) == len(names):
            records.append((number, dict(zip(names, map(str.strip, row)))))
        elif "".join(row).strip():
            problem = f"there are not the columns {', '.join(names)}"
            raise malformed(path, f"line {number}", problem, _LAYOUT)
    for name in _roles(names)["captions"] if records else ():
        if records[0][1][name].startswith(('["', "['")):
            for number, row in records:
                try:
                    row[name] = json.loads(row[name])
                except (ValueError, RecursionError) as error:
                    problem = f"`{name}` is not a JSON list"
                    where, hint = f"line {number}", "Write lists as JSON."
                    raise malformed(path, where, problem, hint) from error
    return read_records(path, "line", records)


def _layout(path, line):
    """Separator, names of columns, and whether these are in the line."""
    for separator in _SEPARATORS:
        cells = line.split(separator)
        names = [cell.strip().strip('"').strip().lower() for cell in cells]
        if _roles(names):
            return separator, names, True
    for separator in _SEPARATORS:
        first, *others = (x.strip(' "') for x in line.split(separator))
        known = first.lower().endswith(IMAGE_ENDINGS)
        known = known or _NUMBER.search(first)
        url = len(others) == 1 and _URL.fullmatch(others[0])
        # Anything else might be names of columns that are not known.
        known = known or separator == "\t" and (url or _ID.fullmatch(first))
        if others and known:
            names = ["caption", "url"] if url else ["image", "caption"]
            if separator == "|" and len(others) > 1:
                names = ["image", "comment_number", "caption"]
            return separator, names, False
    problem = "there is no table of images and captions in the first line"
    raise malformed(path, "", problem, _LAYOUT)


def _cells(lines, separator, columns, quoted, spaced):
    """Numbers of lines and their cells, with quotation marks if all are."""
    if quoted:
        options = {"delimiter": separator, "skipinitialspace": spaced}
        ended = [f"{line}\n" for line in lines]
        rows = csv.reader(ended, strict=True, **options)
        try:
            return [(rows.line_num, row) for row in rows]
        except csv.Error:
            pass  # A caption that is not quoted begins with such a mark.
    rows = [line.split(separator, columns - 1) for line in lines]
    return list(enumerate(rows, start=1))


def _mended(row, separator, names):
    """A row whose caption has separators, or lacks that of its number."""
    last = len(names) - 1
    unparted = row and _UNPARTED.fullmatch(row[-1])
    if unparted and len(row) == last and names[-2].endswith("number"):
        return [*row[:-1], *unparted.groups()]
    if len(row) > len(names) and names[last] in _roles(names)["captions"]:
        return [*row[:last], separator.join(row[last:])]
    return row


def _roles(names) -> dict:
    """Columns by what they hold; none where no image or caption is named."""
    bare = {re.sub(r"[\s_-]", "", name): name for name in names}
    roles = {
        role: next((bare[name] for name in known if name in bare), None)
        for role, known in _COLUMNS.items()
    }
    several = (
        [bare[name] for name in bare if re.fullmatch(rf"{base}s?\d*", name)]
        for base in _CAPTIONS
    )
    captions = next(filter(None, several), None)
    if not captions or not (roles["name"] or roles["id"]):
        return {}
    return {**roles, "captions": captions}


def read_records(
    path: str | os.PathLike, noun: str, records: list
) -> ImageEntries:
    """Reads images and captions of rows.

    Args:
        path: String or path of the file, for the messages.
        noun: String, what a row is called, such as `"line"`.
        records: List of pairs of a number and a dict by column. Cells of
            captions hold one or a list of them.

    Returns:
        An `ImageEntries`.

    Raises:
        ValueError: If a cell holds something else, or rows disagree.
    """
    roles = _roles(list(dict.fromkeys(x for _, row in records for x in row)))
    if not roles:
        raise malformed(path, "", "there is no caption of an image", _LAYOUT)
    entries, key = ImageEntries(path, noun), roles["id"] or roles["name"]
    numbered = any(
        _NUMBER.search(str(row.get(roles["name"]))) for _, row in records
    )
    for number, row in records:
        where = f"{noun} {number}"
        name, split = (
            field(path, where, row, roles[role], "text", default="")
            for role in ("name", "split")
        )
        image_id = field(path, where, row, key, ID)
        if numbered and not _NUMBER.search(name):
            problem = "there is no image with a number"
            raise malformed(path, where, problem, _LAYOUT)
        name = _NUMBER.sub("", name)
        image_id = as_number(image_id) if roles["id"] else name
        if name == _PHANTOM:
            continue
        entries.add(where, image_id, name, split, again=True)
        for text in _texts(row, roles["captions"]):
            said = {**row, roles["captions"][0]: text}
            entries.say(image_id, number, said, roles["captions"][0])
    if not roles["id"]:
        entries.images = _by_known_ids(path, entries.images)
    return entries


def _texts(row, columns):
    """Captions of a row, one that is empty where it has none."""
    texts = []
    for name in columns:
        value = row.get(name)
        texts += value if isinstance(value, list) else [value]
    if len(columns) > 1:
        texts = [text for text in texts if text not in ("", None)] or [""]
    return texts


def _by_known_ids(path, images):
    """Images by Flickr's numbers, TGIF's names, or else the names."""
    urls = [name for name in images if _URL.fullmatch(name)]
    if 0 < len(urls) < len(images):
        name = next(name for name in images if name not in urls)
        problem = f"the image {name!r:.60} has no URL, as others have"
        raise malformed(path, "", problem, FIX)
    for known in _KNOWN:
        found = [known.fullmatch(name) for name in images]
        if all(found):
            ids = Counter(as_number(match[1]) for match in found)
            image_id, count = ids.most_common(1)[0]
            if count > 1:
                problem = f"the image {image_id!r} is there under two names"
                hint = "Keep one name for each image."
                raise malformed(path, "", problem, hint)
            return dict(zip(ids, images.values()))
    return images
