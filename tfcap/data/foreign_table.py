"""Features in base64 in the lines of TSV files, as of bottom-up attention.

The columns are told by what is in them: the last of the longest has float32
features, and the nearest number before it tells of how many regions they are.
VinVL's lines have an image and an object in JSON instead.
"""

import binascii
import json
import os
from collections import Counter
from collections.abc import Callable

import numpy as np

from tfcap.data.entry_problems import listed
from tfcap.data.foreign_arrays import ForeignFeatures
from tfcap.data.foreign_arrays import unknown_layout

#: Bytes of a line: that of a hundred regions has a million.
_LONGEST = 1 << 26


def of_tsv(path: str, tell: Callable) -> list:
    """Features in base64 in the lines of a file.

    Args:
        tell: Function of a name, of what is done and of all that is to do.
    """
    lines = _lines(path, tell)
    whole = Counter(line[3:5] for line in lines if not line[5])
    ((places, width), _), *_ = whole.most_common(1) or [((None, 0), 0)]
    file = open(path, "rb")
    entries = []
    for number, start, key, of, size, problem, count in lines:
        if not problem and of != places:
            problem = f"there are {of[0]} columns, not {places[0]}"
        elif not problem and size != width:
            problem = f"there are {size:,} features a region, not {width:,}"

        def read(start=start, count=count, problem=problem):
            if problem:
                raise ValueError(problem)
            file.seek(start)
            text = _fields(file.readline())[places[2]]
            try:
                content = binascii.a2b_base64(text, strict_mode=True)
            except binascii.Error as error:
                raise ValueError(str(error)) from error
            return np.frombuffer(content, "<f4").reshape(count, -1)

        shape = None if problem else (count, width)
        entries.append(
            ForeignFeatures(key, shape, read, f"{path}, line {number}")
        )
    return entries


def _lines(path, tell):
    """Number, offset and what is told of each line of a file."""
    lines, number, start = [], 0, 0
    with open(path, "rb") as file:
        while line := file.readline(_LONGEST + 1):
            number += 1
            if len(line) > _LONGEST:
                raise ValueError(
                    f"line {number} has more than {_LONGEST:,} bytes"
                )
            fields = _fields(line)
            # A first line of names of columns is none of an image.
            names = number == 1 and not any(map(bytes.isdigit, fields))
            if line.strip() and not names:
                lines.append((number, start, *_line(fields)))
            start = file.tell()
            if number % 1000 == 0:
                tell("lines", start, os.path.getsize(path))
    if all(places is None for _, _, _, places, *_ in lines):
        columns = [f"{field[:24]!r}" for field in fields]
        raise unknown_layout(path, f"text in columns {listed(columns)}")
    return lines


def _fields(line):
    """Columns of a line; what an object in JSON holds are columns, too."""
    fields = line.rstrip(b"\r\n").split(b"\t")
    if len(fields) == 2 and fields[1].startswith(b"{"):
        try:
            about = json.loads(fields[1])
            boxes, text = str(about["num_boxes"]), about["features"]
            return [fields[0], boxes.encode(), text.encode()]
        except (AttributeError, KeyError, TypeError, ValueError):
            return fields[:1]
    return fields


def _line(fields):
    """Parts of a line, before its features are decoded.

    Returns:
        Tuple: the image; the number of columns, and which of them have the
        number of regions and the features; the features of a region; a
        problem, or `""`; and the number of regions.
    """
    key = fields[0].decode("utf-8-sig", "replace")
    longest = max(map(len, fields))
    text = max(i for i, field in enumerate(fields) if len(field) == longest)
    # Boxes may lie between them.
    counts = [i for i in range(1, text) if fields[i].isdigit()]
    if not counts or len(fields[counts[-1]]) > 9:
        return key, None, 0, "there is no number of regions before features", 0
    places, count = (len(fields), counts[-1], text), int(fields[counts[-1]])
    text = fields[text]
    size = len(text) // 4 * 3 - text[-2:].count(b"=")
    if len(text) % 4 or not size or not count or size % (4 * count):
        problem = (
            f"{len(text):,} characters of base64 are not {count} rows of "
            "float32"
        )
        return key, places, 0, problem, 0
    return key, places, size // (4 * count), "", count
