"""METEOR's tables for English, read from pycocoevalcap."""

import functools
import importlib.util
import re
import zipfile
from collections.abc import Mapping

from tfcap.text.missing_score import MissingScoreError
from tfcap.text.missing_score import find_file
from tfcap.text.scores.meteor_paraphrases import Paraphrases

_LETTER = "A-Za-zŠŽšžŸÀ-ÖØ-öø-žЀ-ӿԀ-ԧꙀ-ꙮ꙾-ꚗᴀ-ᵿ"
_ALNUM = "0-9" + _LETTER

#: Abbreviations that keep their dot always, or only before a number.
ALWAYS, BEFORE_NUMBERS = 1, 2

#: Patterns and replacements of the Moses tokenizer, in their order.
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
#: Most lines, which no rule changes.
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
    """Protects several dots from the rules for a single one."""
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


#: Endings of inflected English words and of their base forms, nouns, verbs
#: and adjectives, as WordNet's `morphy` tries them.
_ENDINGS = (
    *(("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch")),
    *(("shes", "sh"), ("men", "man"), ("ies", "y")),
    *(("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e")),
    *(("ed", ""), ("ing", "e"), ("ing", "")),
    *(("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
)


class SynonymSets:
    """WordNet's synonym sets of English words, version 3.0.

    They are read from METEOR's program in the package pycocoevalcap.

    Args:
        name: String, the score that is absent without them.

    Raises:
        MissingScoreError: If the package is missing.
    """

    def __init__(self, name: str):
        program = find_file(name, "meteor", "meteor-1.5.jar")
        with zipfile.ZipFile(program) as archive:
            rows = program_lines(archive, "synonym/english.synsets")
            self._sets = dict(zip(rows[::2], rows[1::2]))
            rows = program_lines(archive, "synonym/english.exceptions")
        self._bases = {}
        for base, forms in zip(rows[::2], rows[1::2]):
            for form in forms.split():
                self._bases.setdefault(form, []).append(base)
        # Words recur in captions.
        remember = functools.lru_cache(1 << 17)
        self.of, self.meanings = remember(self.of), remember(self.meanings)

    def of(self, word: str) -> frozenset[int]:
        """Returns the synonym sets of a word and its base forms."""
        bases = self._bases.get(word) or [self._base(word)]
        rows = [self._sets.get(form, "") for form in (word, *bases)]
        return frozenset(int(number) for row in rows for number in row.split())

    def meanings(self, words: frozenset[str]) -> frozenset[str | int]:
        """Returns words, and their synonym sets."""
        return words.union(*(self.of(word.replace(" ", "_")) for word in words))

    def _base(self, word):
        """The first base form in the dictionary, empty if there is none."""
        ending = ""
        if word.endswith("ful"):
            word, ending = word[:-3], "ful"
        if word.endswith("ss") or len(word) <= 2:
            return ""
        for inflected, base in _ENDINGS:
            form = word[: len(word) - len(inflected)] + base
            if word.endswith(inflected) and form in self._sets:
                return form + ending
        return ""


def program_lines(archive: zipfile.ZipFile, name: str) -> list[str]:
    """Returns the lines of a table in METEOR's program."""
    return archive.read(name).decode().splitlines()


NAME = "METEOR"


class MeteorResources:
    """METEOR's abbreviations, function words, stems, synonyms, paraphrases.

    They are read from its program in the package pycocoevalcap; the stems are
    those of snowballstemmer. The table of paraphrases (5.3 million pairs) is
    converted once, in about 15 seconds, to a file of arrays in the cache folder
    (`$TFCAP_CACHE`, else `~/.cache/tfcap`).

    Raises:
        MissingScoreError: If one of the packages is missing.
    """

    def __init__(self):
        program = find_file(NAME, "meteor", "meteor-1.5.jar")
        table = find_file(NAME, "meteor", "data", "paraphrase-en.gz")
        self._stemmer = _stemmer()
        with zipfile.ZipFile(program) as archive:
            lines = functools.partial(program_lines, archive)
            self.function_words = frozenset(lines("function/english.words"))
            self._abbreviations = dict(
                map(_abbreviation, lines("nonbreaking/english.prefixes"))
            )
        self.synsets = SynonymSets(NAME).of
        self.paraphrases = Paraphrases(table)

        # Words recur in captions.
        remember = functools.lru_cache(1 << 17)
        self.words = remember(self.words)
        self.stem = remember(self.stem)

    def words(self, line: str) -> tuple[str, ...]:
        """Returns the words of a line."""
        return tuple(normalize(line, self._abbreviations))

    def stem(self, word: str) -> str:
        """Returns the stem of a word."""
        return self._stemmer.stemWord(word)


@functools.cache
def meteor_resources() -> MeteorResources:
    """Returns the resources, read at the first call."""
    return MeteorResources()


def _abbreviation(line):
    word, *number = line.split() or [""]
    return word, BEFORE_NUMBERS if number else ALWAYS


def _stemmer():
    """The English stemmer; from version 3.0 on, its stems differ."""
    hint = "Install it: pip install 'snowballstemmer<3', or 'tfcap[coco]'."
    if importlib.util.find_spec("snowballstemmer") is None:
        reason = "the package snowballstemmer is not installed"
        raise MissingScoreError(NAME, reason, hint)
    import snowballstemmer

    stemmer = snowballstemmer.stemmer("english")
    if stemmer.stemWord("biologist") != "biologist":
        reason = "snowballstemmer 3 gives other stems than METEOR 1.5"
        raise MissingScoreError(NAME, reason, hint)
    return stemmer
