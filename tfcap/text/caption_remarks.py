"""Remarks on leftovers of decoding in captions to be scored."""

import itertools
import re
from collections import Counter

from tfcap.text.tokenizers import NAMES


def _bare(tokens):
    """Alternatives of special tokens without brackets."""
    return "|".join(sorted({token.strip("<>[]|_").lower() for token in tokens}))


_ENDS = _bare(
    [
        *(*NAMES["eos"], "eot", "eot_id", "eoc", "eof", "im_end"),
        *("endofchunk", "end_of_turn"),
    ]
)
_ALL = _bare(
    [
        *itertools.chain.from_iterable(NAMES.values()),
        *(*_ENDS.split("|"), "mask", "go", "image", "im_start"),
        *("start_of_turn", "oov", "null"),
    ]
)
_BRACKETED = (
    r"<\s?[|_/]?(?:{0})[|_/]?\s?>|\[(?:{0})\]|#{{1,2}}(?:{0})#{{1,2}}"
    r"|(?<!\S)_{{1,2}}(?:{0})_{{0,2}}(?!\S)"
)
_END = re.compile(
    rf"{_BRACKETED.format(_ENDS)}|\b(?:endseq|xxeos)\b", re.IGNORECASE
)
_MARKER = re.compile(
    rf"{_BRACKETED.format(_ALL)}|<[|\uff5c][\w\u2581]+[|\uff5c]>|\u2047"
    r"|\b(?:start|end)seq\b"
    r"|\bxx(?:bos|eos|pad|unk|maj|up|rep)\b",
    re.IGNORECASE,
)
#: Marks of subword tokens: WordPiece, SentencePiece and BPE.
_PIECE = re.compile(
    "(?:^|(?<=\\s))##\\w+|\u2581\\w*|(?<=\\w)\u0120\\w*|\u0120\\w*\\s+\u0120"
    r"|@@(?=\s|$)|</w>|@-@"
)


def _after_end(text):
    """Texts after the first end marker, split at further markers."""
    if not _END.search(text):
        return []
    begun = re.sub(rf"^(?:\s*(?:{_MARKER.pattern}))+", "", text, flags=re.I)
    _, *rest = _END.split(begun, 1)
    return [x for x in map(str.strip, _MARKER.split(*rest or [""])) if x]


#: How to find a leftover in a text, its description, and the cure.
_KINDS = [
    (
        _MARKER.findall,
        "have markers",
        "Markers count as words: decode without special ids, or cut captions "
        "at their end marker.",
    ),
    (
        _after_end,
        "go on after an end marker",
        "Cut captions at their first end marker.",
    ),
    (
        _PIECE.findall,
        "have marks of pieces of words",
        "Join the pieces with `decode()` of the tokenizer.",
    ),
]


def caption_remarks(captions: list[str], references: list) -> tuple[str, ...]:
    """Describes leftovers of decoding in captions or references.

    They are special tokens by their usual names, words after an end token, and
    marks of subword tokens. Scores count them as words, as other programs do.

    Args:
        captions: List of M strings.
        references: List of M lists of strings.

    Returns:
        Tuple of strings, each a finding and its cure.

    Example:

    >>> from tfcap.text.caption_remarks import caption_remarks
    >>> print(*caption_remarks(["a <end>"], [["a"]]))
    1 of 1 results have markers (<end>). Markers count as words: decode without
    special ids, or cut captions at their end marker.
    """
    of_images = itertools.chain.from_iterable(references)
    texts = {"results": captions, "references": list(of_images)}
    remarks = []
    for find, what, cure in _KINDS:
        found = {k: [*filter(None, map(find, v))] for k, v in texts.items()}
        counts = [
            f"{len(rows):,} of {len(texts[name]):,} {name}"
            for name, rows in found.items()
            if rows
        ]
        if counts:
            rows = itertools.chain(*found.values())
            things = Counter(itertools.chain.from_iterable(rows))
            shown = ", ".join(f"{x:.40}" for x, _ in things.most_common(4))
            remarks.append(f"{' and '.join(counts)} {what} ({shown}). {cure}")
    return tuple(remarks)
