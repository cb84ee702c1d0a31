"""Reading what `SpeakerReport.save()` wrote."""

import math

import numpy as np

from tfcap._io import malformed
from tfcap._io import read_json
from tfcap.text.missing_score import MissingScore

FORMAT = "tfcap-speaker-report"
_WRONG = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
#: Names of fields in earlier files.
_FORMER = {"cure": "hint"}
_WRITE = "Write one with `SpeakerReport.save()`."


def read_report(path):
    """Reads a speaker's report.

    Raises:
        ValueError: If the file is something else, or cut off.
    """
    content = read_json(path, hint=_WRITE)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise malformed(path, "", "there is other JSON", _WRITE)
    place = "`images`"
    try:
        fields = _images(content["images"])
        place = "`absent`"
        fields["absent"] = {
            name: MissingScore(
                **{
                    _FORMER.get(k, k): _checked(_is_text, v)
                    for k, v in why.items()
                }
            )
            for name, why in content["absent"].items()
        }
        place = "`scores`"
        fields["scores"] = {k: _number(v) for k, v in content["scores"].items()}
    except _WRONG as error:
        problem = f"something is missing or wrong ({error!r:.200})"
        raise malformed(path, place, problem, _WRITE) from error
    return fields


def _images(rows):
    """Lists and arrays of what the rows of a file hold."""
    names = rows[0].keys()
    if any(row.keys() != names for row in rows):
        raise ValueError("images differ in what they have")
    columns = {name: [row[name] for row in rows] for name in names}

    def texts(value):
        return isinstance(value, list) and all(map(_is_text, value))

    def numbers(name):
        return np.array(list(map(_number, columns.pop(name))), "float64")

    return {
        "image_ids": [_checked(_is_id, v) for v in columns.pop("image_id")],
        "captions": [_checked(_is_text, v) for v in columns.pop("caption")],
        "references": [_checked(texts, v) for v in columns.pop("human")],
        "ranks": numbers("rank"),
        "human_ranks": numbers("human_rank"),
        "each": {name: numbers(name) for name in list(columns)},
    }


def _checked(check, value):
    if not check(value):
        raise TypeError(f"there is {value!r:.40}")
    return value


def _is_text(value):
    return isinstance(value, str)


def _is_id(value):
    return type(value) in (int, str)


def _number(value):
    """A number as the file holds it: None where it is none."""
    number = type(value) in (int, float) and math.isfinite(value)
    _checked(lambda value: number or value is None, value)
    return math.nan if value is None else float(value)
