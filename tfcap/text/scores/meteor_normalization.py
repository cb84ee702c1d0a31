"""METEOR's own tokenization of a line."""

import re
from collections.abc import Mapping

_LETTER = "A-Za-zŠŽšžŸÀ-ÖØ-öø-žЀ-ӿԀ-ԧꙀ-ꙮ꙾-ꚗᴀ-ᵿ"
_ALNUM = "0-9" + _LETTER

#: Kinds of abbreviations: kept with their dot always, or before a number.
ALWAYS, BEFORE_NUMBERS = 1, 2

#: Pattern and replacement, in this order: those of the Moses tokenizer.
_RULES = (
    (r"([^0-9]),([^0-9])", r"\1 , \2"),
    (r"([0-9]),([^0-9])", r"\1 , \2"),
    (r"([^0-9]),([0-9])", r"\1 , \2"),
    (r"[`‘’]", "'"),
    (r"[“”]|''", ' " '),
    (r"–", "-"),
    (r"--", "-"),
    (rf"([{_ALNUM}.])-([{_ALNUM}])", r"\1 \2"),
    (rf"([^{_LETTER}])'([^{_LETTER}])", r"\1 ' \2"),
    (rf"([^{_ALNUM}])'([{_LETTER}])", r"\1 ' \2"),
    (rf"([{_LETTER}])'([^{_LETTER}])", r"\1 ' \2"),
    (rf"([{_LETTER}])'([{_LETTER}])", r"\1 '\2"),
    (r"([0-9])'(s)", r"\1 '\2"),
)
_SPACES = re.compile("[ \u2000-\u200a\u202f\u205f\u3000\xa0]+")
_BLANK = " \t\n\r\f"
#: Most lines: no rule changes them.
_PLAIN = re.compile("[a-z0-9 ]*").fullmatch


def normalize(line: str, abbreviations: Mapping[str, int]) -> list[str]:
    """Splits a line into words, punctuation kept, in lower case.

    Args:
        line: String.
        abbreviations: Dict of abbreviations without their last dot to
            `ALWAYS` or `BEFORE_NUMBERS`.

    Returns:
        List of strings.
    """
    if _PLAIN(line):
        return line.split()
    line = re.sub(rf"([^{_ALNUM}\s.'`,\-‘’])", r" \1 ", f" {line} ")
    line = _hide_dots(line)
    for pattern, replacement in _RULES:
        line = re.sub(pattern, replacement, line)
    words = _words(line)
    line = " ".join(
        _without_dot(word, following, abbreviations)
        for word, following in zip(words, [*words[1:], ""])
    )
    return _words(_SPACES.sub(" ", _show_dots(line)).lower())


def _words(line):
    return [word for word in re.split(f"[{_BLANK}]+", line) if word]


def _hide_dots(line):
    """Protects two and more dots from the rules of a single one."""
    line = re.sub(r"\.(\.+)", r" DOTMULTI\1", line)
    while "DOTMULTI." in line:
        line = re.sub(r"DOTMULTI\.([^.])", r"DOTDOTMULTI \1", line)
        line = line.replace("DOTMULTI.", "DOTDOTMULTI")
    return line


def _show_dots(line):
    while "DOTDOTMULTI" in line:
        line = line.replace("DOTDOTMULTI", "DOTMULTI.")
    return line.replace("DOTMULTI", ".")


def _without_dot(word, following, abbreviations):
    """Splits off the dot that ends a sentence, not that of an abbreviation."""
    if len(word) < 2 or not word.endswith("."):
        return word
    stem = word[:-1]
    kind = abbreviations.get(stem)
    if "." in stem and re.search(f"[{_LETTER}]", stem):
        return word.replace(".", "")
    if kind == ALWAYS or re.match("[a-z]", following):
        return word
    if kind == BEFORE_NUMBERS and re.match("[0-9]", following):
        return word
    return f"{stem} ."
