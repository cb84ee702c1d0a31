"""CHAIR: objects in captions that are not in the image."""

import functools
import os
from collections.abc import Iterable
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfcap._io import read_lines
from tfcap.text.caption_tokenization import caption_tokenize
from tfcap.text.scores.scores import ResampledScores
from tfcap.text.scores.scores import Scores
from tfcap.text.scores.scores import check_aligned

#: Endings of plurals, and of their singulars.
_PLURALS = (
    *(("s", ""), ("es", ""), ("ies", "y"), ("ves", "f"), ("ves", "fe")),
    *(("men", "man"), ("mice", "mouse"), ("geese", "goose")),
)
#: Pairs of words that name no object of the list.
_OTHERS = frozenset(["home plate", "train track"])
#: Words for persons, and nouns before which they name none.
_YOUNG = tuple(
    "bird cat dog horse sheep cow elephant bear zebra giraffe animal "
    "cub".split()
)
_QUALIFIERS = {"baby": _YOUNG, "adult": _YOUNG, "passenger": ("jet", "train")}


class ObjectSynonyms:
    """Objects, each with all the words that stand for it.

    Words are looked up in the singular, and names of several words before
    those of one. The rules of the published evaluation apply, too: a "baby
    elephant" and a "passenger train" mention no person, a "toilet seat" and
    the "seat" of a toilet no chair, a "train track" no train, and the "home
    plate" nothing.

    CHAIR is defined by the published list of the 80 objects of COCO,
    `data/synonyms.txt` of https://github.com/LisaAnne/Hallucination (4 KB; BSD
    2-Clause licence according to its README). It is not part of this package;
    pass the path of a copy to `of()`.

    Args:
        groups: Iterable of sequences of strings, the names of each object, of
            which the first is returned. If two groups share a name, the later
            one counts.

    Raises:
        ValueError: If there are no names.

    Example:

    >>> from tfcap.text.scores.chair import ObjectSynonyms
    >>> objects = ObjectSynonyms(
    ...     [["person", "woman"], ["dog", "puppy"], ["hot dog"]]
    ... )
    >>> objects.mentioned("two women feed puppies a hot dog".split())
    ['person', 'dog', 'hot dog']

    Reference:

    - Rohrbach et al., Object Hallucination in Image Captioning, EMNLP 2018,
      section 2.1; the list builds upon that of Lu et al., Neural Baby Talk,
      CVPR 2018
    """

    def __init__(self, groups: Iterable[Sequence[str]]):
        self._names = {}
        for group in groups:
            names = [" ".join(caption_tokenize(name)) for name in group]
            names = [name for name in names if name]
            self._names |= dict.fromkeys(names, names[0] if names else "")
        if not self._names:
            raise ValueError(
                "`groups` must hold names of objects. Received: none. Give a "
                "line for each object: its name, comma, a synonym."
            )
        known = {word for name in self._names for word in name.split()}
        phrases = {name: name for name in _OTHERS}
        for word, nouns in _QUALIFIERS.items():
            phrases |= {f"{word} {noun}": noun for noun in nouns}
        phrases["toilet seat"] = "toilet"
        self._phrases = {
            phrase: self._names.get(noun)
            for phrase, noun in phrases.items()
            # A phrase is needed only if one of its words is in a name.
            if known.intersection(phrase.split())
        }
        self._phrases |= self._names
        self._known = known.union(*(x.split() for x in self._phrases))
        self._longest = max(len(name.split()) for name in self._phrases)

    @classmethod
    def of(cls, objects) -> "ObjectSynonyms":
        """Reads a file by its path, or makes synonyms of groups of names.

        A file, like the published list, has a line for each object, with its
        names separated by commas.

        Raises:
            ValueError: If there are no names.
            OSError: If the file does not exist.
        """
        if isinstance(objects, cls):
            return objects
        if isinstance(objects, str | os.PathLike):
            objects = [line.split(",") for line in read_lines(objects)]
        return cls(objects)

    def mentioned(self, words: Sequence[str]) -> list[str]:
        """Returns the objects that a caption mentions, as often as it does.

        Args:
            words: List of strings, a tokenized caption.
        """
        words = [self._singular(word) for word in words]
        found, spelled, start = [], [], 0
        while start < len(words):
            for size in range(self._longest, 0, -1):
                name = " ".join(words[start : start + size])
                if name in self._phrases and start + size <= len(words):
                    found.append(self._phrases[name])
                    spelled.append(name)
                    start += size
                    break
            else:
                start += 1
        toilet = self._names.get("toilet")
        seats = toilet is not None and toilet in found
        return [
            thing
            for thing, name in zip(found, spelled)
            if thing is not None and not (seats and name == "seat")
        ]

    def object_of(self, name: str) -> str:
        """Returns the object that a name stands for; else the name itself."""
        return self._names.get(" ".join(caption_tokenize(name)), name)

    def _singular(self, word):
        """The singular of a word if it occurs in names, else the word."""
        if word in self._known:
            return word
        for plural, ending in _PLURALS:
            singular = word[: len(word) - len(plural)] + ending
            if word.endswith(plural) and singular in self._known:
                return singular
        return word


def chair(
    candidates: Sequence[Sequence],
    references: Sequence[Sequence[Sequence]],
    objects: Any,
    annotated: Sequence[Iterable[str]] | None = None,
) -> tuple[Scores, Scores]:
    """CHAIR: share of mentioned objects not in the image. Lower is better.

    ```python
    truth = objects that references mention | annotated objects
    CHAIR_i = mentions of objects not in truth / mentions of objects
    CHAIR_s = captions with such a mention / captions
    ```

    As published, the truth of an image is the objects annotated in it and
    those that its references mention; without annotations, only the latter
    count, which makes both scores higher.

    Args:
        candidates: List of tokenized captions.
        references: List of lists of tokenized captions: `references[i]` are
            those of `candidates[i]`.
        objects: Path of a file with a line for each object, its names
            separated by commas, or a list of lists of names; published scores
            use the published list.
        annotated: List, as long, of iterables of the names of objects in each
            image, optional, such as COCO's annotations.

    Returns:
        Two `Scores` in [0, 1], CHAIR-i and CHAIR-s. `corpus` of the first is
        the share of all mentions, not the mean of `each`; a caption without
        mentions has 0. If no caption has any, the corpus score is NaN.

    Raises:
        ValueError: If lists are empty or of different lengths.
        TypeError: If captions are not tokenized.

    Example:

    >>> from tfcap.text.scores.chair import chair
    >>> objects = [["dog", "puppy"], ["cat"]]
    >>> instance, sentence = chair(
    ...     [["two", "dogs"], ["a", "cat", "and", "a", "dog"]],
    ...     [[["a", "puppy"]], [["a", "cat"]]],
    ...     objects,
    ... )
    >>> round(instance.corpus, 4), sentence.corpus, instance.each
    (0.3333, 0.5, array([0. , 0.5]))

    Reference:

    - Rohrbach et al., Object Hallucination in Image Captioning, EMNLP 2018,
      equations 1 and 2. Words are split as for other scores, and singulars are
      found by simple rules; the authors' code uses two packages.
    """
    check_aligned(candidates, references)
    objects = ObjectSynonyms.of(objects)
    # Kept, because an array or a lazy sequence makes a new object each time.
    references = list(references)
    if annotated is not None and len(annotated) != len(candidates):
        raise ValueError(
            "`annotated` must hold the objects of each image. Received: "
            f"{len(annotated)} entries for {len(candidates)} captions."
        )
    counts = np.zeros((len(candidates), 2))
    truths = {}
    for i, (caption, several) in enumerate(zip(candidates, references)):
        if id(several) not in truths:
            mentions = map(objects.mentioned, several)
            truths[id(several)] = {x for found in mentions for x in found}
        truth = truths[id(several)]
        if annotated is not None:
            truth = truth.union(map(objects.object_of, annotated[i]))
        found = objects.mentioned(caption)
        counts[i] = sum(thing not in truth for thing in found), len(found)
    each = counts[:, 0] / np.maximum(counts[:, 1], 1)
    corpus = _share(counts, np.ones((1, len(counts))))[0]
    wrong = (counts[:, 0] > 0).astype(float)
    return (
        ResampledScores(float(corpus), each, functools.partial(_share, counts)),
        Scores(float(wrong.mean()), wrong),
    )


def _share(counts, weights):
    """Hallucinated share of all mentions; see `Scores.resampled()`."""
    wrong, mentions = (weights @ counts).T
    return np.where(mentions > 0, wrong / np.maximum(mentions, 1), np.nan)
