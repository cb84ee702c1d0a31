"""Images by their ids or file names, in different spellings."""

import posixpath
import re
import unicodedata
from collections.abc import Iterable

#: Maximum digits of an image's number: 64 bits in files have 19, and Python
#: converts no more than some thousand.
DIGITS = 40
_ENDING = re.compile(r"\.[A-Za-z][A-Za-z0-9]{1,4}$")
#: A number, one that a table wrote as a fraction, or the end of COCO's names.
_NUMBER = re.compile(r"(?:[^/]*_(?=\d{12}$))?0*(\d{1,40})(?:\.0+)?").fullmatch


def as_number(name: int | str) -> int | str:
    """Converts digits to a number; with leading zeros, they stay a name.

    Example:

    >>> from tfcap.data.image_names import as_number
    >>> as_number("42"), as_number("0042"), as_number("42.jpg")
    (42, '0042', '42.jpg')
    """
    digits = isinstance(name, str) and name.isdecimal()
    whole = digits and len(name) <= DIGITS and str(int(name)) == name
    return int(name) if whole else name


def whole_number(value):
    """Converts a whole number that a table wrote as a fraction to an integer.

    Example:

    >>> from tfcap.data.image_names import whole_number
    >>> whole_number(42.0), whole_number(4.2), whole_number("42.0")
    (42, 4.2, '42.0')
    """
    whole = isinstance(value, float) and value.is_integer()
    return int(value) if whole else value


def image_key(name: int | str) -> int | str:
    """Returns the common part of the ids and the file names of one image.

    A file's folder and ending are left out. The rest is a number if it consists
    of digits, maybe with leading zeros or a final `.0`, or ends in COCO's
    twelve digits.

    Example:

    >>> from tfcap.data.image_names import image_key
    >>> image_key("val/COCO_val2014_000000000042.jpg"), image_key("42.0")
    (42, 42)
    >>> image_key("a/dog_7.png")
    'dog_7'
    """
    if not isinstance(name, str):
        return whole_number(name)
    # macOS separates letters and their accents.
    name = unicodedata.normalize("NFC", name.strip())
    stem = _ENDING.sub("", posixpath.basename(name.replace("\\", "/")))
    number = _NUMBER(stem) if stem.isascii() else None
    return int(number[1]) if number else stem or name


def _without_folder(name):
    return posixpath.basename(name) if isinstance(name, str) else name


#: Forms in which names are compared, the strictest first.
_FORMS = (lambda name: name, _without_folder, image_key)


class ImageNames:
    """Indices of images by their names.

    Args:
        names: Iterable of integers or strings; empty ones name nothing.

    Example:

    >>> from tfcap.data.image_names import ImageNames
    >>> names = ImageNames(["COCO_val2014_000000000042.jpg", "7", "07"])
    >>> names.find(42), names.find("7"), names.find(7), names.find(8)
    ((0,), (1,), (1, 2), ())
    """

    def __init__(self, names: Iterable[int | str]):
        self._rows = [{} for _ in _FORMS]
        for row, name in enumerate(names):
            for rows, form in zip(self._rows, _FORMS):
                if name != "":
                    rows[form(name)] = (*rows.get(form(name), ()), row)

    def exact(self, name: int | str) -> tuple[int, ...]:
        """Returns the indices of the images that have exactly this name."""
        return self._rows[0].get(name, ())

    def find(self, name: int | str) -> tuple[int, ...]:
        """Returns indices of images with this name, or an equivalent one."""
        found = (r.get(form(name), ()) for r, form in zip(self._rows, _FORMS))
        return next(filter(None, found), ())
