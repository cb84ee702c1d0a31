"""Numbers in the prose of a page: which a text has, and how they are set."""

import bisect
import functools
import re
from collections import Counter

_DIGITS = r"(?:(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+)"
#: A number as it is written in a field of a claim.
WRITTEN = rf"[-+]?{_DIGITS}"
# Not of a name, such as R@10, BLEU-4, MobileNetV2, 3f or 3e-4.
_NUMBER = re.compile(
    rf"(?<![\w.@])(?<![A-Za-z]-)(?<!\d-)[-+]?(?>{_DIGITS})(?!\w)"
    rf"|(?<=\d-)(?>{_DIGITS})(?!\w)"
)
#: Tables that commands write, which tests of pages cover.
_TABLES = re.compile(r"<!-- (tables?) .*?-->\n.*?<!-- end of \1 -->", re.DOTALL)
#: What is no prose: code, targets of links, comments.
_CODE = re.compile(r"```.*?```|`[^`\n]*`|\]\([^)\s]*\)|<!--.*?-->", re.DOTALL)
#: Numbers that name or cite something, and say nothing that is measured.
_NAMES = re.compile(
    r"(?:ICCV|CVPR|NIPS|ICLR|TRECVID|et al\.,?) \(?\d{4}|, 20\d\d(?=[ (:])"
    r"|arXiv \d+\.\d+|Tables? \d\b(?:(?:,| and| to) \d\b)*|Figure \d|\b95 %"
    r"|(?:equation|section) \d(?:\.\d)?|recall@\d+|v[01]\.\d"
)
#: Settings that tell a point, where a claim's own words name them.
_SETTINGS = re.compile(
    rf"(?:lambda|rho|gamma|alpha|seed|weight|shift) (?:of )?{_DIGITS}"
)


@functools.lru_cache(maxsize=4)
def masked(text: str, code: bool = False) -> str:
    """A text of the same length with blanks for tables that are generated.

    Args:
        code: Boolean, whether for code, links and names, too.
    """
    text = _TABLES.sub(_blank, text)
    if code:
        text = _NAMES.sub(_blank, _CODE.sub(_blank, text))
    return text


def _blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def numbers(text: str, spans=()) -> list[tuple[int, str]]:
    """Numbers of prose as they are written, with their places.

    Args:
        spans: Pairs of places, begin and end, that are left out.

    Example:

    >>> from reproduce.evidence.prose import numbers
    >>> numbers("R@10 rises by 5.7 [-.7, 1,000], `x=3`.")
    [(14, '5.7'), (19, '-.7'), (24, '1,000')]
    """
    plain = masked(text, code=True)
    return [
        (match.start(), match[0])
        for match in _NUMBER.finditer(plain)
        if not any(low <= match.start() < high for low, high in spans)
    ]


def free_numbers(words: str, given: str = "") -> list[str]:
    """Numbers in a claim's own words that it neither measures nor names."""
    left = Counter(n for _, n in numbers(_SETTINGS.sub(_blank, words)))
    return list((left - Counter(given.split())).elements())


def is_written(text: str, value: float) -> bool:
    """Check that a number, rounded as it is written, is this value.

    Example:

    >>> from reproduce.evidence.prose import is_written
    >>> is_written("+.03", 0.0349), is_written("+.04", 0.0349)
    (True, False)
    """
    unit = 10.0 ** -_decimals(text)
    return abs(float(text.replace(",", "")) - value) <= unit * (0.5 + 1e-6)


def rewritten(text: str, value: float, plus: bool = False) -> str:
    """A value set as another number was: digits, sign, leading zero.

    Args:
        plus: Boolean, whether a number above 0 has its sign.

    Example:

    >>> from reproduce.evidence.prose import rewritten
    >>> rewritten(".03", -0.0449), rewritten("5.7", 3.25, plus=True)
    ('-.04', '+3.2')
    """
    if is_written(text, value):
        return text
    new = f"{value:{'+' if plus else ''},.{_decimals(text)}f}"
    if not re.search(r"\d,\d", text) and len(text.lstrip("+-")) < 5:
        new = new.replace(",", "")
    if not re.search(r"[1-9]", new):
        new = new.lstrip("-")
    if re.match(r"[-+]?\.", text):
        new = re.sub(r"^([-+]?)0\.", r"\1.", new)
    return new


def _decimals(text):
    return len(text.partition(".")[2])


def section_of(text: str, place: int) -> str:
    """Heading under which a place of a page stands, `""` before the first."""
    places, heads = _headings(text)
    before = bisect.bisect(places, place)
    return heads[before - 1] if before else ""


@functools.lru_cache(maxsize=4)
def _headings(text):
    plain = masked(_CODE.sub(_blank, text))
    found = [*re.finditer(r"^#+ (.*)$", plain, re.MULTILINE)]
    return [m.start() for m in found], [m[1] for m in found]
