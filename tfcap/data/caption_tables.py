"""Reading tables of captions, by the names of their columns."""

import ast
import csv
import io
import json
import os
import re
import tokenize

from tfcap._io import malformed
from tfcap._io import read_lines
from tfcap.data.caption_split import CaptionSplit
from tfcap.data.caption_split import is_caption
from tfcap.data.entry_problems import FIX
from tfcap.data.entry_problems import LEFT_OUT
from tfcap.data.entry_problems import ONE
from tfcap.data.entry_problems import EntryProblems
from tfcap.data.entry_problems import is_image_id
from tfcap.data.entry_problems import is_left_out
from tfcap.data.entry_problems import warn_of_unread
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
    "number": ("commentnumber", "captionnumber"),
    "split": ("split", "setname"),
}
#: Names of columns of captions; there may be several, with numbers.
_CAPTIONS = (
    *("caption", "captionstr", "raw", "comment", "sentence", "text"),
    *("description", "title"),
)
_SEPARATORS = "\t|,;"
_DEEP = (RecursionError, MemoryError)
_URL = re.compile(r"\w+://\S+")
_NUMBERED = re.compile(r"(.*\S)#(\d+)")
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


def read_table(
    path: str | os.PathLike, content: bytes, skip_empty: bool
) -> tuple[CaptionSplit, EntryProblems]:
    """Reads a text with rows of images and captions.

    Columns are parted by tabs, `|`, commas or semicolons. Without their names
    in the first line they are an image or URL and a caption; or a caption and
    a URL; or, parted by `|`, an image, a number and a caption.

    Returns:
        See `read_records()`.
    """
    lines = read_lines(path, content)
    first = next((i for i, line in enumerate(lines) if line.strip()), 0)
    if not lines[first].strip():
        raise malformed(path, "", "there is no caption", _LAYOUT)
    separator, names, named = _layout(path, lines[first])
    problems, rows = EntryProblems(path), []
    lines = [f"{line}\n" for line in lines]
    # Without names, as in Flickr's files, quotation marks are the captions'.
    quoted = (
        separator in ",;"
        or separator == "\t"
        and (named or lines[first].startswith('"'))
    )
    spaced = named and f"{separator} " in lines[first]
    cells = _cells(
        lines[first + named :], separator, len(names), quoted, spaced
    )
    for i, row in cells:
        row = _mended(row, separator + " " * spaced, names)
        where = f"line {first + named + i}"
        if len(row) == len(names):
            rows.append((where, dict(zip(names, map(str.strip, row)))))
        elif "".join(row).strip():
            problem = f"there are not the columns {', '.join(names)}"
            problems.add(problem, where, _LAYOUT)
    for name in _roles(names)["captions"] if rows else ():
        if not rows[0][1][name].startswith(('["', "['")):
            continue
        for where, row in rows:
            row[name] = _as_list(row[name])
            if row[name] is None:
                problems.add(f"`{name}` is no list of captions", where, FIX)
    problems.check()
    return read_records(path, rows, skip_empty)


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
        known = known or _NUMBERED.fullmatch(first)
        url = len(others) == 1 and _URL.fullmatch(others[0])
        # Anything else might be names of columns that are not known.
        known = known or separator == "\t" and (url or _ID.fullmatch(first))
        if not others or not known:
            continue
        names = ["image", "caption"]
        if separator == "|" and len(others) > 1:
            names = ["image", "comment_number", "caption"]
        elif url:
            names = ["caption", "url"]
        return separator, names, False
    problem = "there is no table of images and captions in the first line"
    raise malformed(path, "", problem, _LAYOUT)


def _cells(lines, separator, columns, quoted, spaced):
    """Numbers of lines and their cells, with quotation marks if all are."""
    if quoted:
        options = {"delimiter": separator, "skipinitialspace": spaced}
        rows = csv.reader(lines, strict=True, **options)
        try:
            return [(rows.line_num, row) for row in rows]
        except csv.Error:
            pass  # A caption that is not quoted begins with such a mark.
    rows = [line.rstrip("\n").split(separator, columns - 1) for line in lines]
    return list(enumerate(rows, start=1))


def _mended(row, separator, names):
    """A row whose caption has separators, or lacks that of its number."""
    last = len(names) - 1
    unparted = row and _UNPARTED.fullmatch(row[-1])
    if unparted and len(row) == last and names[-2] == _roles(names)["number"]:
        return [*row[:-1], *unparted.groups()]
    if len(row) > len(names) and names[last] in _roles(names)["captions"]:
        return [*row[:last], separator.join(row[last:])]
    return row


def _as_list(text):
    """A list that is written as in JSON or Python; None if it is not whole."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        found = ast.literal_eval(text)
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        strings = sum(token.type == tokenize.STRING for token in tokens)
    except (ValueError, SyntaxError, *_DEEP, tokenize.TokenError):
        return None
    # NumPy writes no commas, which would join strings.
    return found if len(found) == strings else None


def _roles(names) -> dict:
    """Columns by what they hold; none where no image or caption is named."""
    bare = {re.sub(r"[\s_-]", "", name): name for name in names}
    roles = {
        role: next((bare[name] for name in known if name in bare), None)
        for role, known in _COLUMNS.items()
    }
    several = [
        [bare[name] for name in bare if re.fullmatch(rf"{base}s?\d*", name)]
        for base in _CAPTIONS
    ]
    several = list(filter(None, several))
    if not several or not (roles["name"] or roles["id"]):
        return {}
    unread = [name for found in several[1:] for name in found]
    return {**roles, "captions": several[0], "unread": unread}


def read_records(
    path: str | os.PathLike, records: list, skip_empty: bool
) -> tuple[CaptionSplit, EntryProblems]:
    """Reads images and captions of rows.

    Args:
        path: String or path of the file, for the messages.
        records: List of pairs of a place and a dict by column. Cells of
            captions hold one or a list of them.
        skip_empty: Boolean, see `load_captions()`.

    Returns:
        A `CaptionSplit` for `keep_captions()`, and the `EntryProblems`.

    Raises:
        ValueError: If a cell holds something else, or rows disagree.
    """
    problems, images = EntryProblems(path), {}
    names = dict.fromkeys(name for _, row in records for name in row)
    roles = _roles(list(names))
    if not roles:
        raise malformed(path, "", "there is no caption of an image", _LAYOUT)
    rows = [row for _, row in records]
    read = (*LEFT_OUT, roles["name"], roles["split"], *roles["captions"])
    warn_of_unread(path, rows, "the rows", roles["unread"], read)
    texts = (str(row.get(roles["name"])) for row in rows)
    numbered = any(map(_NUMBERED.fullmatch, texts))
    for where, row in records:
        found = _fields(row, roles, numbered, where, problems)
        if found is None or found[1] == _PHANTOM:
            continue
        key, *about, number = found
        image = images.setdefault(key, (*about, [], []))
        for role, value, before in zip(("name", "split"), about, image):
            if value != before:
                problem = f"an image has another {role} than before"
                problems.add(problem, f"{where}: {value!r}, {before!r}", FIX)
        image[2].extend(_captions(row, roles, where, problems, skip_empty))
        if number is not None:
            image[3].append(str(number))
    problems.check()
    if not images:
        raise malformed(path, "", "there is no caption", _LAYOUT)
    for key, (*_, numbers) in images.items():
        # One that is lost shows in the numbers.
        if sorted(numbers) != sorted(map(str, range(len(numbers)))):
            problem = "the captions are not numbered from 0 on, each once,"
            where = f"image {key!r}: {', '.join(numbers)}"
            problems.add(problem, where, FIX)
    files, splits, captions, _ = map(list, zip(*images.values()))
    ids = list(images) if roles["id"] else _known_ids(files, problems)
    problems.check()
    return CaptionSplit(
        ids, captions, files, splits, source=str(path)
    ), problems


def _fields(row, roles, numbered, where, problems):
    """Id, name, split and caption's number of a row; None if one is wrong."""
    name, part = (row.get(roles[x], "") for x in ("name", "split"))
    image_id, number = (row.get(roles[x]) for x in ("id", "number"))
    for role, value in (("name", name), ("split", part)):
        if not isinstance(value, str):
            problems.add(f"`{roles[role]}` is no text", where, FIX)
            return None
    if numbered:
        found = _NUMBERED.fullmatch(name)
        if found is None:
            problems.add("there is no image with a number", where, _LAYOUT)
            return None
        name, number = found.groups()
    if isinstance(image_id, str):
        digits = as_number(image_id)
        image_id = digits if str(digits) == image_id else image_id
    key = image_id if roles["id"] else name
    if not is_image_id(key):
        problem = f"`{roles['id'] or roles['name']}` is no id or name"
        problems.add(problem, where, FIX)
        return None
    return key, name, part, number


def _captions(row, roles, where, problems, skip_empty):
    """Captions of a row, one that is empty where they do not count."""
    if is_left_out(row, where, problems):
        return [""]
    texts = []
    for name in roles["captions"]:
        value = row.get(name)
        texts += value if isinstance(value, list) else [value]
    if len(roles["captions"]) > 1:
        texts = [x for x in texts if x not in ("", None)] or [""]
    name = roles["captions"][0]
    return [
        text
        for text in texts
        if is_caption(text, name, where, problems, skip_empty)
    ]


def _known_ids(names, problems):
    """Numbers of Flickr's photos, names of TGIF's GIFs, or else the names."""
    urls = [_URL.fullmatch(name) for name in names]
    for name in names if any(urls) and not all(urls) else ():
        if not _URL.fullmatch(name):
            problems.add("an image has no URL as others have", name, FIX)
    for known in _KNOWN:
        found = [known.fullmatch(name) for name in names]
        if all(found):
            first = {}
            for key, name in zip(found, names):
                other = first.setdefault(as_number(key[1]), name)
                if other != name:
                    problem = "an image is there under two names"
                    problems.add(problem, f"{other!r} and {name!r}", ONE)
            return list(first)
    return names
