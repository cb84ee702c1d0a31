"""WordNet's sets of synonyms, as METEOR's program brings them."""

import functools
import zipfile

from tfcap.text.missing_score import find_file
from tfcap.text.missing_score import find_package

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
    """The sets of synonyms that words are in: WordNet 3.0, English.

    They are those of METEOR's program in the package pycocoevalcap.

    Args:
        name: String, the score that is absent without them.

    Raises:
        MissingScoreError: If the package is missing, with what to do.
    """

    def __init__(self, name: str):
        program = find_file(name, meteor_folder(name) / "meteor-1.5.jar")
        with zipfile.ZipFile(program) as archive:
            rows = program_lines(archive, "synonym/english.synsets")
            self._sets = dict(zip(rows[::2], rows[1::2]))
            rows = program_lines(archive, "synonym/english.exceptions")
        self._bases = {}
        for base, forms in zip(rows[::2], rows[1::2]):
            for form in forms.split():
                self._bases.setdefault(form, []).append(base)
        # Words of captions come again and again.
        self.of = functools.lru_cache(1 << 17)(self.of)

    def of(self, word: str) -> frozenset[str]:
        """Returns the sets of synonyms that a word or its base form is in."""
        bases = self._bases.get(word) or [self._base(word)]
        rows = [self._sets.get(form, "") for form in (word, *bases)]
        return frozenset(number for row in rows for number in row.split())

    def _base(self, word):
        """The first base form in the dictionary, the word's ending removed."""
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


def meteor_folder(name: str):
    """Returns the folder of METEOR's program.

    Raises:
        MissingScoreError: If the package is missing.
    """
    return find_package(name) / "meteor"


def program_lines(archive: zipfile.ZipFile, name: str) -> list[str]:
    """Returns the lines of a table in METEOR's program."""
    return archive.read(name).decode().splitlines()
