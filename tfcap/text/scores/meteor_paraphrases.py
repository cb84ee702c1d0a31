"""METEOR's table of paraphrases, as arrays."""

import gzip
import os
from array import array

import numpy as np

from tfcap._io import load_arrays
from tfcap._io import save_arrays
from tfcap._io.cache import cache_folder
from tfcap._io.cache import keep

_LONGEST = 7  # words of a phrase


class Paraphrases:
    """Phrases and their paraphrases, found for many words at once.

    A phrase is a node of a prefix tree of words. The node of a single word is
    the number of the word.

    Args:
        path: Path of METEOR's table, gzipped lines of probability, phrase and
            paraphrase. It is converted once, in about 15 seconds, to a file of
            arrays in the cache folder.
    """

    def __init__(self, path: str | os.PathLike):
        arrays = _load(path)
        words = arrays["words"].tobytes().decode().split("\n")
        self.words = {word: number for number, word in enumerate(words)}
        self._steps, self._starts = arrays["steps"], arrays["starts"]
        self._targets = arrays["targets"]

    def phrases(
        self, words: np.ndarray, sentences: np.ndarray
    ) -> list[np.ndarray]:
        """Finds all sequences of words that may be phrases of the table.

        Args:
            words: Array of shape `(n,)`, numbers of words, -1 for others.
            sentences: Array of shape `(n,)`, the sentence that each is in.

        Returns:
            Three arrays: places where these start, their numbers of words,
            and their nodes.
        """
        places, found = np.flatnonzero(words >= 0), []
        nodes = words[places]
        ended, words = np.append(sentences, -1), np.append(words, -1)
        for length in range(2, _LONGEST + 1):
            ends = np.minimum(places + length - 1, len(words) - 1)
            inside = (ended[ends] == ended[places]) & (words[ends] >= 0)
            keys = nodes[inside] * len(self.words) + words[ends[inside]]
            known, at = _find(self._steps, keys)
            places = places[inside][known]
            nodes = len(self.words) + at[known]
            found.append((places, np.full(len(places), length), nodes))
        return [np.concatenate(parts) for parts in zip(*found)]

    def among(
        self, nodes: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Finds the phrases that are paraphrases of others.

        Args:
            nodes: Array of shape `(n,)`, nodes of phrases, ascending.

        Returns:
            Three arrays: indices into `nodes` of a phrase and of its
            paraphrase, and the rank of this among all its paraphrases.
        """
        starts = self._starts[nodes]
        which, place = expand(self._starts[nodes + 1] - starts)
        found, at = _find(nodes, self._targets[starts[which] + place])
        return which[found], at[found], place[found]


def expand(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numbers items in rows: the row of each, and its place in the row."""
    rows = np.repeat(np.arange(len(counts)), counts)
    starts = np.cumsum(counts) - counts
    return rows, np.arange(len(rows)) - starts[rows]


def _find(ascending, values):
    """Whether each value is there, and where."""
    at = np.searchsorted(ascending, values)
    found = at < len(ascending)
    found[found] = ascending[at[found]] == values[found]
    return found, at


def _load(path):
    with open(path, "rb") as file:
        # A gzip file ends with the checksum and the size of its content.
        file.seek(-8, os.SEEK_END)
        name = f"phrases-{file.read(8).hex()}.npz"
    prepared = cache_folder("meteor") / name
    try:
        return load_arrays(prepared, ("words", "steps", "starts", "targets"))
    except (OSError, ValueError):  # missing, unreadable, or damaged
        arrays = _prepare(path)
        keep("METEOR's paraphrases", prepared, lambda p: save_arrays(p, arrays))
        return arrays


def _prepare(path):
    """Builds the tree of the table's phrases, and lists their paraphrases.

    Returns:
        Dict of arrays: `words`, the bytes of the distinct ones with line ends
        between; `steps`, ascending, a node times the number of words plus the
        word that leads to the next node, whose number is that of words plus
        the place here; `starts`, where the paraphrases of each node start, and
        where all end; `targets`, the nodes of the paraphrases.
    """
    numbers, sources, targets = {}, array("i"), array("i")
    with gzip.open(path) as file:
        for _, phrase, paraphrase in zip(file, file, file):
            sources.append(numbers.setdefault(phrase, len(numbers)))
            targets.append(numbers.setdefault(paraphrase, len(numbers)))
    words, flat, lengths = {}, array("i"), array("i")
    for phrase in numbers:
        row = phrase[:-1].split(b" ")
        flat.extend([words.setdefault(word, len(words)) for word in row])
        lengths.append(len(row))
    del numbers
    flat, lengths = np.array(flat, np.int64), np.array(lengths)
    starts = np.cumsum(lengths) - lengths
    nodes, steps, count = flat[starts], [], len(words)
    for k in range(1, _LONGEST):
        longer = lengths > k
        keys = nodes[longer] * len(words) + flat[starts[longer] + k]
        found, inverse = np.unique(keys, return_inverse=True)
        nodes[longer] = count + inverse
        steps.append(found)
        count += len(found)
    order = np.argsort(nodes[sources], kind="stable")
    rows = np.bincount(nodes[sources], minlength=count)
    return {
        "words": np.frombuffer(b"\n".join(words), np.uint8),
        "steps": np.concatenate(steps),
        "starts": np.append(0, np.cumsum(rows)).astype(np.int32),
        "targets": nodes[targets][order].astype(np.int32),
    }
