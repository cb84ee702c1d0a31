"""Errors and warnings about the entries of a file, all of them at once."""

import os
import re
import unicodedata
import warnings
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tfcap._io import malformed

FIX = "Correct the file, or get it again from where it is published."
ONE = "Keep one entry for each image."
_SHOWN = 5
#: Names of splits that published files have.
USUAL_SPLITS = frozenset(
    (
        "train restval val valid validation dev test testdev trainval "
        "in-domain near-domain out-domain"
    ).split()
)
#: What VizWiz says of captions that do not count, and of others.
LEFT_OUT = ("is_rejected", "is_precanned")
_ABOUT = ("text_detected", "caption", "raw")
#: Truths in JSON or a table, in small letters; pandas writes 1.0 for them
#: where others of a column are missing.
_TRUE, _FALSE = ("true", "1", "1.0"), ("false", "0", "0.0", "")
#: What may say which captions count.
_MARKS = USUAL_SPLITS.union(
    (True, "True", "true", "TRUE", False, "False", "false", "FALSE")
)
#: What tokenizers of the Penn Treebank write for brackets.
_BRACKETS = re.compile(r"-[lr][rsc]b-", re.IGNORECASE)
#: Largest share of things with fewer parts than most that may be a loss.
_FEW = 0.05


def listed(items: list) -> str:
    """Names the first few of many things, and their number.

    Example:

    >>> from tfcap.data.entry_problems import listed
    >>> listed([7, 8, 9])
    '7, 8, 9'
    >>> listed(list(range(42)))
    '0, 1, 2, 3, 4 and 37 more'
    """
    # A name that is a whole damaged file helps nobody.
    shown = ", ".join(f"{str(item):.200}" for item in items[:_SHOWN])
    more = len(items) - _SHOWN
    return f"{shown} and {more:,} more" if more > 0 else shown


class EntryProblems:
    """Problems of the entries of one file.

    A file with one bad entry often has thousands, and whoever has to mend it
    wants to know of all kinds of them at once.

    Example:

    >>> from tfcap.data.entry_problems import EntryProblems
    >>> problems = EntryProblems("results.json")
    >>> problems.add("`caption` is missing", "entry 3", "Add it.")
    >>> problems.add("`caption` is missing", "entry 8", "Add it.")
    >>> problems.check()
    Traceback (most recent call last):
    ValueError: `path` must name a well-formed file. Received:
    path='results.json', where `caption` is missing in 2 places (entry 3,
    entry 8). Add it.
    """

    def __init__(self, path: str | os.PathLike):
        self.path = path
        self._entries = {}

    def add(self, problem: str, where: str, hint: str):
        """Notes a problem."""
        self._entries.setdefault((problem, hint), []).append(where)

    def check(self):
        """Raises what was noted, if anything was.

        Raises:
            ValueError: Names the file, each problem with its first few
                entries and their number, and what to do.
        """
        if not self._entries:
            return
        messages = [
            f"{problem} in {len(entries):,} place{'s'[: len(entries) > 1]} "
            f"({listed(entries)})"
            for (problem, _), entries in self._entries.items()
        ]
        hints = dict.fromkeys(hint for _, hint in self._entries)
        raise malformed(self.path, "", "; ".join(messages), " ".join(hints))


def is_image_id(value):
    """Check whether a value may identify an image: an integer or a string."""
    if isinstance(value, str):
        return bool(value)
    return isinstance(value, int) and not isinstance(value, bool)


def is_left_out(entry: dict, where: str, problems: EntryProblems) -> bool:
    """Check whether a data set marks a caption as one that does not count.

    VizWiz-Captions has captions that were rejected as spam, and ready-made
    ones that say that a photograph is too bad; its own reader skips both.
    """
    found = False
    for name in filter(entry.__contains__, LEFT_OUT):
        mark = str(entry[name]).strip().lower()
        if mark not in (*_TRUE, *_FALSE):
            problem = f"`{name}` is neither true nor false"
            problems.add(problem, f"{where}: {entry[name]!r:.40}", FIX)
        found = found or mark in _TRUE
    return found


def warn_of_unread(
    path: str | os.PathLike,
    entries: list,
    things: str,
    names: Sequence[str] = (),
    read: Sequence[str] = LEFT_OUT,
):
    """Warns of what may say which captions count, and is not read.

    Args:
        entries: List of dicts. What is true or false in them, or the name of
            a split, may say so.
        names: Sequence of other names that may.
        read: Sequence of the names that are read.
    """
    read = {*read, *_ABOUT}
    marks = [
        name
        for entry in entries
        for name, value in entry.items()
        if (name in names or type(value) in (bool, str) and value in _MARKS)
        and name not in read
    ]
    if marks:
        _warn(
            path,
            f"{listed([*dict.fromkeys(marks)])} of {things} is not read, and "
            "captions count whatever it says. If some are not to count, take "
            "them out of the file.",
        )


def number_ids(image_ids: Sequence[int]) -> NDArray:
    """Ids that are integers, as an array of 64 bits.

    Raises:
        ValueError: If one is larger.

    Example:

    >>> from tfcap.data.entry_problems import number_ids
    >>> number_ids([7, 2**40])
    array([            7, 1099511627776])
    """
    try:
        return np.asarray(image_ids, object).astype(np.int64)
    except OverflowError as error:
        large = max(image_ids, key=abs)
        raise ValueError(
            "`image_ids` must be integers of 64 bits, or strings. "
            f"Received: {large!r:.40} among them. Write them as text."
        ) from error


def warn_of_fewer(
    path: str | os.PathLike,
    names,
    counts: Sequence[int],
    parts: str,
    things: str,
):
    """Warns where a few have fewer parts than the others, as after a cut.

    Either no more than one of twenty have fewer than most do; or the last
    one alone has, where all others have as many.

    Example:

    >>> import warnings
    >>> from tfcap.data.entry_problems import warn_of_fewer
    >>> with warnings.catch_warnings(record=True, action="always") as told:
    ...     warn_of_fewer("f.txt", "abc", [5, 5, 3], "captions", "images")
    >>> print(told[0].message)
    f.txt: 1 of 3 images have fewer captions than the 5 of the others (c: 3).
    If they were lost, get the file again.
    """
    if not len(counts):
        return
    ((usual, _),) = Counter(counts).most_common(1)
    short = [i for i, count in enumerate(counts) if count < usual]
    last = len(counts) - 1
    cut = short == [last] and last > 1 and len({*counts[:last]}) == 1
    # Of two or three parts, one less is no sign.
    cut = cut and usual > 3
    if usual < 2 or not short or not (cut or len(short) <= _FEW * len(counts)):
        return
    items = [f"{names[i]}: {counts[i]}" for i in short]
    _warn(
        path,
        f"{len(short):,} of {len(counts):,} {things} have fewer {parts} than "
        f"the {usual} of the others ({listed(items)}). If they were lost, get "
        "the file again.",
    )


def warn_of_splits(path: str | os.PathLike, counts: dict, chosen):
    """Warns of splits that are neither asked for nor usual."""
    odd = {n: k for n, k in counts.items() if n not in USUAL_SPLITS}
    odd = [f"{n!r}: {k:,}" for n, k in odd.items() if n not in chosen]
    if odd and len(counts) > 1:
        _warn(
            path,
            f"there are splits with unusual names ({listed(odd)}). If "
            "they are misspelt, their images are lost: correct the file.",
        )


def warn_of_repeated(path: str | os.PathLike, ids, things: str):
    """Warns where ids that are to be distinct are there twice.

    Args:
        ids: Iterable of what was found in the place of an id; None where it
            is absent, which is no fault.
    """
    known = [i for i in ids if isinstance(i, int | str)]
    twice = [i for i, count in Counter(known).items() if count > 1]
    if twice:
        _warn(
            path,
            f"{len(twice):,} ids of {things} are there more than once "
            f"({listed(twice)}). If entries were doubled, correct the file.",
        )


def warn_of_words(
    path: str | os.PathLike, ids: list, texts: list, tokens: list
):
    """Warns of tokens that are not those of their text.

    Compared are letters and digits alone, without case and accents.
    """
    wrong = [
        f"image {image_id!r}, sentence {i}"
        for image_id, row, split in zip(ids, texts, tokens)
        for i, (text, words) in enumerate(zip(row, split))
        if not _agree(text, _BRACKETS.sub("", " ".join(words)))
    ]
    if wrong:
        _warn(
            path,
            f"{len(wrong):,} sentences have other words in `tokens` than in "
            f"`raw` ({listed(wrong)}). Words are learned from the one, and "
            "scores are counted by the other: see which is right.",
        )


def warn_of_sentences(path: str | os.PathLike, images: list, ids: list):
    """Warns where images of Karpathy's list other sentences than they have."""
    wrong = []
    for image_id, image in zip(ids, images):
        sentences = image["sentences"]
        own = image.get("imgid")
        listed_ids = image.get("sentids")
        sentence_ids = [sentence.get("sentid") for sentence in sentences]
        moved = own is not None and any(
            sentence.get("imgid", own) != own for sentence in sentences
        )
        known = isinstance(listed_ids, list) and None not in sentence_ids
        if (known and listed_ids != sentence_ids) or moved:
            wrong.append(f"image {image_id!r}")
    if wrong:
        _warn(
            path,
            f"{len(wrong):,} images have other sentences than their `sentids` "
            f"or `imgid` tell ({listed(wrong)}). If some were lost or moved, "
            "get the file again.",
        )


def _agree(text, words):
    text, words = _letters(text), _letters(words)
    # Some tokens were made without what is not ASCII.
    return text == words or _ascii(text) == _ascii(words) != ""


def _letters(text):
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text)
    return "".join(filter(str.isalnum, text.casefold()))


def _ascii(text):
    return "".join(filter(str.isascii, text))


def _warn(path, text):
    warnings.warn(f"{path}: {text}", stacklevel=2)
