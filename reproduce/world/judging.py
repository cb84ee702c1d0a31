"""Parsing of answers, and their graded relevance to a question."""

import functools
from typing import NamedTuple

import numpy as np

from reproduce.world.caption_words import NOUNS
from reproduce.world.words import ABSENT
from reproduce.world.words import BITS
from reproduce.world.words import HEDGES
from reproduce.world.words import MASKS
from reproduce.world.words import NO_FORMS
from reproduce.world.words import NUMBERS
from reproduce.world.words import SYNONYMS
from reproduce.world.words import TYPOS
from reproduce.world.words import YES_FORMS
from reproduce.world.words import plural

# Relevance of saying nothing, by `Truth.doubt`.
HEDGE_GRADES = (0.3, 0.5, 1.0)
SURE, SUBJECTIVE, UNSURE = 0, 1, 2
_MOST_THINGS = 8


class Truth(NamedTuple):
    """What holds in the scene of what a question asks.

    Args:
        polarity: Integer, 0 for open questions, `YES` or `NO` otherwise.
        asked: Integer, mask of the attribute slot that an answer names.
        value: Integer, the bits of that slot that hold, 0 where any mention
            that is true of the scene will do.
        topic: Integer, bits of what the question asks the existence of.
        number: Integer, how many there are, -1 where counting is no answer.
        frames: Integer, sentence frames that agree with the question.
        doubt: Integer, `SURE`, `SUBJECTIVE`, or `UNSURE` where the annotator
            honestly could not tell.
        refs: Tuple of integers, the attribute bits of each thing that the
            answer may be describing.
    """

    polarity: int = 0
    asked: int = 0
    value: int = 0
    topic: int = 0
    number: int = -1
    frames: int = 0
    doubt: int = SURE
    refs: tuple[int, ...] = ()


def judge(dialog_round, answer):
    """Relevance of any answer to a question, exactly as the scene has it.

    Right answers count 1, right ones that are soft ("i think so", "it looks
    red"), incomplete or adorned with what cannot be checked 0.5, hedges 0.3
    (0.5 where the question is a matter of taste, 1 where the annotator could
    not tell either), wrong and off-topic ones 0. The annotator's own answer
    counts 1, even if it is a slip.

    Args:
        dialog_round: `Round` of a `WorldDialog`.
        answer: String.

    Returns:
        Float in `[0, 1]`.
    """
    if answer == dialog_round.answer:
        return 1.0
    meaning = meaning_array([answer])
    return float(relevance(meaning, truth_array([dialog_round.truth]))[0])


def meaning_array(answers):
    """Parses strings into int64 rows `(n, 9)`, one column per claim."""
    rows = [parse_answer(answer) for answer in answers]
    return np.array(rows, np.int64).reshape(-1, len(Meaning._fields))


def truth_array(truths):
    """Packs truths into int64 rows `(n, 15)`: seven fields, eight things."""
    rows = [
        truth[:-1] + truth.refs + (0,) * (_MOST_THINGS - len(truth.refs))
        for truth in truths
    ]
    return np.array(rows, np.int64).reshape(-1, 7 + _MOST_THINGS)


def relevance(meanings, truths):
    """Grades answers by bitwise comparison of their claims with the truth.

    Args:
        meanings: Integer array `(..., 9)` from `meaning_array()`.
        truths: Integer array `(..., 15)` from `truth_array()`; the leading
            axes of the two broadcast.

    Returns:
        Float32 array of the broadcast leading shape, see `judge()`.
    """
    said = Meaning(*np.moveaxis(meanings, -1, 0))
    real = Truth(*np.moveaxis(truths[..., :7], -1, 0))
    refs = truths[..., 7:]
    counted = said.number >= 0
    miscounted = counted & (real.number >= 0) & (said.number != real.number)
    sound = ~miscounted
    for claim in (said.first, said.second, said.third):
        sound &= _holds(claim, refs)
    named = (said.first | said.second | said.third) & real.asked
    full = np.where(real.value == 0, named != 0, named == real.value)
    some = (named != 0) & ((named & ~real.value) == 0) & (real.value != 0)
    number = counted & (real.number >= 0)

    polar = real.polarity > 0
    silent = said.polarity == 0
    agrees = (said.polarity == real.polarity) & polar
    # "blue" or "2" answers "is it red?" or "are there any?" without a yes.
    implied = silent & polar & (full | (number & (real.topic > 0)))
    answers_open = silent & ~polar & (full | number)
    partly = silent & ~polar & some & ~full
    right = sound & (agrees | implied | answers_open)
    denied = said.denied != 0
    right &= ~denied | (said.denied == real.topic)
    loose = (counted & (real.number < 0)) | (
        (said.frame != 0) & ((said.frame & real.frames) == 0)
    )
    half = (right & ((said.soft > 0) | loose)) | (sound & partly)
    grade = np.where(half, 0.5, np.where(right, 1.0, 0.0))
    hedged = np.asarray(HEDGE_GRADES)[real.doubt]
    return np.where(said.hedge > 0, hedged, grade).astype(np.float32)


def _holds(claim, refs):
    """Whether a claim is empty or true of at least one thing."""
    held = claim == 0
    for i in range(refs.shape[-1]):
        held = held | ((claim & ~refs[..., i]) == 0)
    return held


def polarity_of(holds):
    """`YES` or `NO`."""
    return YES if holds else NO


YES, NO = 1, 2

_HEDGES = {tuple(hedge.split()) for hedge in HEDGES}
_FORMS = {
    tuple(form.split()): (polarity, soft, frame)
    for polarity, forms in ((YES, YES_FORMS), (NO, NO_FORMS))
    for form, soft, frame in forms
}
# Only these may open a longer answer: "it is" agrees, "it is red" describes.
_OPENERS = {"yes", "yep", "yeah", "yup", "sure", "no", "nope", "nah"}
_SOFTENERS = {"looks", "maybe", "think", "probably", "guess", "seems"}
_DETERMINERS = {"a", "an", "the", "other", "another", "this"}
_NUMBERS = {word: n for words in NUMBERS for n, word in enumerate(words)}
_NUMBERS["nothing"] = 0
_GROUND_WORDS = {
    "grass": ("grass", "grassy", "field", "lawn"),
    "sand": ("sand", "sandy", "beach", "desert"),
    "snow": ("snow", "snowy"),
    "water": ("water", "sea", "ocean"),
    "brick": ("brick", "bricks", "wall"),
    "night": ("night", "sky"),
}
# Captions know more names for a shape than dialogs do; all are understood.
_NOUNS = {
    word: BITS[shape]
    for names in (NOUNS, SYNONYMS)
    for shape, words in names.items()
    if BITS[shape] & MASKS["shape"]
    for word in words
}
_PLURALS = {plural(word): bits for word, bits in _NOUNS.items()}
_PLURALS |= {word: BITS[word] for word in ABSENT}
_PLURALS |= {"things": 0, "shapes": 0, "objects": 0, "ones": 0}
_ENTITIES = {
    word: BITS[value] for value, words in SYNONYMS.items() for word in words
}
_GROUNDS = {
    word: BITS[value]
    for value, words in _GROUND_WORDS.items()
    for word in words
}
_OTHERS = {
    "stripes": BITS["striped"],
    "dots": BITS["dotted"],
    "spots": BITS["dotted"],
    "left": BITS["left"],
    "right": BITS["right"],
    "top": BITS["top"],
    "upper": BITS["top"],
    "bottom": BITS["bottom"],
    "lower": BITS["bottom"],
}
WORD_BITS = _NOUNS | _ENTITIES | _GROUNDS | _PLURALS | _OTHERS


class Meaning(NamedTuple):
    """An answer's claims, as integers, so that many fit in one array.

    Args:
        polarity: Integer, 0 neither, `YES` or `NO`.
        soft: Integer, 1 for "i think so", "it looks red".
        hedge: Integer, 1 where nothing is said: "i can't tell".
        first: Integer, attribute bits claimed of one thing.
        second: Integer, bits claimed of another, after "and".
        third: Integer, bits claimed of one more.
        denied: Integer, bits of what is said not to be there.
        number: Integer, a count that is stated, -1 without.
        frame: Integer, bit of the sentence frame, 0 when it fits anything.
    """

    polarity: int = 0
    soft: int = 0
    hedge: int = 0
    first: int = 0
    second: int = 0
    third: int = 0
    denied: int = 0
    number: int = -1
    frame: int = 0


@functools.lru_cache(maxsize=1 << 17)
def parse_answer(answer):
    """Reads an answer in the words of the world; other words are ignored.

    Args:
        answer: String, from a dialog of the world or from a model.

    Returns:
        A `Meaning`.

    Example:

    >>> from reproduce.world.judging import parse_answer
    >>> meaning = parse_answer("yes, 2 of them")
    >>> meaning.polarity, meaning.number
    (1, 2)
    """
    words = answer.lower().replace(",", " , ").split()
    words = tuple(TYPOS.get(word, word) for word in words)
    plain = tuple(word for word in words if word != ",")
    if plain in _HEDGES:
        return Meaning(hedge=1)
    if plain in _FORMS:
        polarity, soft, frame = _FORMS[plain]
        return Meaning(polarity=polarity, soft=soft, frame=frame)
    polarity, soft, frame, rest = _opening(words)
    scan = _Scan(polarity, soft)
    scan.run(rest)
    claims = (scan.claims + [0, 0, 0])[:3]
    said = (scan.polarity, scan.soft, 0, *claims, scan.denied, scan.number)
    return Meaning(*said, frame)


def _opening(words):
    """Splits a leading "yes it is" off a longer answer."""
    if words and words[0] in _OPENERS:
        denial = words[0] == "no" and (
            denied_bits(words[1:]) or words[1:2] == ("pattern",)
        )
        for size in range(0 if denial else min(6, len(words)), 0, -1):
            if words[:size] in _FORMS:
                return *_FORMS[words[:size]], words[size:]
    return 0, 0, 0, words


def denied_bits(words):
    """Bits of the plural that directly follows "no", 0 where none does."""
    bits = 0
    for word in words:
        if word in _PLURALS:
            return bits | _PLURALS[word]
        if word in _GROUNDS:
            return bits | _GROUNDS[word]
        if word not in WORD_BITS:
            return 0
        bits |= WORD_BITS[word]
    return 0


class _Scan:
    """Left-to-right reading of the descriptive part of an answer."""

    def __init__(self, polarity, soft):
        self.polarity, self.soft = polarity, soft
        self.claims, self.bits, self.denied, self.number = [], 0, 0, -1

    def run(self, words):
        i = 0
        before = ""
        while i < len(words):
            i += self.read(words, i, before)
            before = words[i - 1]
        self.close()

    def read(self, words, i, before):
        """Takes in the word at `i`; returns how many words it used up."""
        word = words[i]
        if word == "no":
            denied = denied_bits(words[i + 1 :])
            if denied:
                self.polarity, self.denied = NO, denied
                return len(words) - i
            if words[i + 1 : i + 2] == ("pattern",):
                self.bits |= BITS["plain"]
        elif word == "and":
            self.close()
        elif word in ("middle", "center"):
            self.bits |= _middle(self.bits)
        elif word in WORD_BITS:
            self.bits |= WORD_BITS[word]
        elif word in _NUMBERS:
            # "a red one" stands for a thing, "just one" counts.
            if word != "one" or not (self.bits or before in _DETERMINERS):
                self.number = _NUMBERS[word]
        elif word in _SOFTENERS:
            self.soft = 1
        return 1

    def close(self):
        if self.bits:
            self.claims.append(self.bits)
        self.bits = 0


def _middle(bits):
    """The middle of whichever axis the answer has left open."""
    if bits & (BITS["left"] | BITS["right"]):
        return BITS["middle"]
    if bits & (BITS["top"] | BITS["bottom"]):
        return BITS["center"]
    return BITS["middle"] | BITS["center"]
