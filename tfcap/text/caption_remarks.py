"""Remarks on what decoding left in captions that are scored."""

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
#: Of another tokenizer's pieces, the marks of WordPiece, SentencePiece, BPE.
_PIECE = re.compile(
    "(?:^|(?<=\\s))##\\w+|\u2581\\w*|(?<=\\w)\u0120\\w*|\u0120\\w*\\s+\u0120"
    r"|@@(?=\s|$)|</w>|@-@"
)
_PRINTED = re.compile(
    r"^\s*(?:[\w.]+\()*\[\s*(?:b?['\"].*|[\d\s,.\[\]-]+)\][^\[\]]*$"
    r"|^\s*(?:[\w.]+\()?b(?:'.*'|\".*\")[^'\"]*$",
    re.DOTALL,
)
_NUMBERS = re.compile(r"^\s*\d+(?:[\s,]+\d+)+\s*$")


def _after_end(text):
    """Texts behind the first end marker of a text, between other markers."""
    if not _END.search(text):
        return []
    begun = re.sub(rf"^(?:\s*(?:{_MARKER.pattern}))+", "", text, flags=re.I)
    _, *rest = _END.split(begun, 1)
    return [x for x in map(str.strip, _MARKER.split(*rest or [""])) if x]


#: What is looked for in a text, what it is called, and what to do.
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
    (
        _PRINTED.findall,
        "are printed lists, arrays or bytes",
        "Write a caption as a text, its words joined by spaces.",
    ),
    (
        _NUMBERS.findall,
        "are numbers",
        "If these are ids of words, write the words: `vocabulary.decode(ids)`.",
    ),
]
#: Share of captions that makes a first or last word a marker.
_NEARLY_ALL = 0.95


def caption_remarks(
    captions: list[str], references: list, words: list, reference_words: list
) -> tuple[str, ...]:
    """Remarks on what decoding seems to have left in captions or references.

    Scores count it as words, as other programs do. Looked for are special
    tokens by their usual names, words after an end token, marks of pieces of
    words, printed lists, ids instead of words, and a word that begins or ends
    nearly all results and is in no reference, or the other way round. A marker
    of an unusual name that is in both is not seen.

    Args:
        captions: List of M strings.
        references: List of M lists of strings.
        words: List of M lists of strings, the words of the captions.
        reference_words: List of M lists of lists of strings.

    Returns:
        Tuple of strings: what was seen, and what to do.

    Example:

    >>> from tfcap.text.caption_remarks import caption_remarks
    >>> print(*caption_remarks(["a <end>"], [["a"]], [["a"]], [[["a"]]]))
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
    if not remarks:
        of_images = itertools.chain.from_iterable(reference_words)
        remarks = _edges({"results": words, "references": list(of_images)})
    return tuple(remarks)


def _edges(words):
    """Remarks on what begins or ends one side and is not in the other."""
    for name, other in ("results", "references"), ("references", "results"):
        rows = [row for row in words[name] if row]
        known = {*itertools.chain.from_iterable(words[other])}
        for place, verb in (0, "begin"), (-1, "end"):
            firsts = Counter(row[place] for row in rows).most_common(1)
            for word, count in firsts:
                if 3 <= count >= _NEARLY_ALL * len(rows) and word not in known:
                    yield (
                        f"{count:,} of {len(rows):,} {name} {verb} with "
                        f"{word!r}, which is in none of the {other}. If it is "
                        "a marker, it counts as a word: take it out of the "
                        f"{name}."
                    )
