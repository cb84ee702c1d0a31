"""Tables of English that METEOR uses, read from pycocoevalcap."""

import functools
import gzip
import importlib.util
import os
import zipfile

import numpy as np

from tfcap._io import load_arrays
from tfcap._io import save_arrays
from tfcap._io.cache import cache_folder
from tfcap._io.cache import keep
from tfcap.text.missing_score import MissingScoreError
from tfcap.text.missing_score import find_file
from tfcap.text.scores.meteor_normalization import ALWAYS
from tfcap.text.scores.meteor_normalization import BEFORE_NUMBERS
from tfcap.text.scores.meteor_normalization import normalize
from tfcap.text.scores.synonym_sets import SynonymSets
from tfcap.text.scores.synonym_sets import meteor_folder
from tfcap.text.scores.synonym_sets import program_lines

NAME = "METEOR"


class MeteorResources:
    """METEOR's abbreviations, function words, stems, synonyms, paraphrases.

    They are those of its program in the package pycocoevalcap; the stems are
    of snowballstemmer. The table of paraphrases, 5.3 million pairs, is
    prepared once, in some ten seconds, as a file of arrays in the cache
    folder (`$TFCAP_CACHE`, else `~/.cache/tfcap`).

    Raises:
        MissingScoreError: If the package is missing, with what to do.
    """

    def __init__(self):
        folder = meteor_folder(NAME)
        program = find_file(NAME, folder / "meteor-1.5.jar")
        paraphrases = find_file(NAME, folder / "data" / "paraphrase-en.gz")
        self._stemmer = _stemmer()
        with zipfile.ZipFile(program) as archive:
            lines = functools.partial(program_lines, archive)
            self.function_words = frozenset(lines("function/english.words"))
            self._abbreviations = dict(
                map(_abbreviation, lines("nonbreaking/english.prefixes"))
            )
        self.synsets = SynonymSets(NAME).of
        self.sources, self._text, self._starts = _load(paraphrases)

        # Words of captions come again and again.
        remember = functools.lru_cache(1 << 17)
        self.words = remember(self.words)
        self.stem = remember(self.stem)
        self.paraphrases = remember(self.paraphrases)

    def words(self, line: str) -> tuple[str, ...]:
        """Returns the words of a line."""
        return tuple(normalize(line, self._abbreviations))

    def stem(self, word: str) -> str:
        """Returns the stem of a word."""
        return self._stemmer.stemWord(word)

    def paraphrases(self, phrase: str) -> dict[str, int]:
        """Returns the paraphrases of a phrase, and their order."""
        row = self.sources.get(phrase)
        if row is None:
            return {}
        start, end = self._starts[row : row + 2]
        texts = self._text[start : end - 1].tobytes().decode().split("\n")
        return {text: rank for rank, text in reversed([*enumerate(texts)])}


@functools.cache
def meteor_resources() -> MeteorResources:
    """Returns the resources, read at the first call."""
    return MeteorResources()


def _abbreviation(line):
    word, *number = line.split() or [""]
    return word, BEFORE_NUMBERS if number else ALWAYS


def _stemmer():
    """The stemmer of English; of 3.0 on it gives other stems."""
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


def _load(path):
    """The table of paraphrases: rows of phrases, text, starts of rows."""
    with open(path, "rb") as file:
        # A gzip file ends with the checksum and the size of its content.
        file.seek(-8, os.SEEK_END)
        name = f"paraphrases-{file.read(8).hex()}.npz"
    prepared = cache_folder("meteor") / name
    try:
        arrays = load_arrays(prepared, ("phrases", "text", "starts"))
    except (OSError, ValueError):  # not there, closed, or damaged
        arrays = _prepare(path)
        keep("METEOR's paraphrases", prepared, lambda p: save_arrays(p, arrays))
    phrases = arrays["phrases"].tobytes().decode().split("\n")
    rows = {phrase: row for row, phrase in enumerate(phrases)}
    return rows, arrays["text"], arrays["starts"].tolist()


def _prepare(path):
    """Groups the table, lines of probability, phrase and paraphrase.

    Returns:
        Dict of arrays: `phrases`, the bytes of the distinct ones with line
        ends between; `text`, the bytes of all paraphrases, each with a line
        end; `starts`, where in it those of a phrase start.
    """
    with gzip.open(path) as file:
        content = file.read()
    ends = np.flatnonzero(np.frombuffer(content, np.uint8) == ord("\n"))
    first, second, third = ends[0::3] + 1, ends[1::3], ends[2::3] + 1
    phrases, rows, text, starts, total = [], [], [], [0], 0
    previous = None
    for a, b, c in zip(first.tolist(), second.tolist(), third.tolist()):
        phrase = content[a:b]
        if phrase != previous:
            if previous is not None:
                text.append(b"".join(rows))
                total += len(text[-1])
                starts.append(total)
            phrases.append(phrase)
            previous, rows = phrase, []
        rows.append(content[b + 1 : c])
    text.append(b"".join(rows))
    starts.append(total + len(text[-1]))
    return {
        "phrases": np.frombuffer(b"\n".join(phrases), np.uint8),
        "text": np.frombuffer(b"".join(text), np.uint8),
        "starts": np.array(starts, np.int64),
    }
