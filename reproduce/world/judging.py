"""Parsing of answers, and their graded relevance to a question."""

import functools
import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reproduce.world.caption_words import NOUNS
from reproduce.world.scenes import SHAPES
from reproduce.world.words import ABSENT
from reproduce.world.words import HEDGES
from reproduce.world.words import NO_FORMS
from reproduce.world.words import NUMBERS
from reproduce.world.words import SLOTS
from reproduce.world.words import SYNONYMS
from reproduce.world.words import TYPOS
from reproduce.world.words import VALUES
from reproduce.world.words import YES_FORMS
from reproduce.world.words import Frame
from reproduce.world.words import plural

# Relevance of saying nothing, by `Truth.doubt`.
HEDGE_GRADES = (0.3, 0.5, 1.0)
SURE, SUBJECTIVE, UNSURE = 0, 1, 2
_MOST_THINGS, _MOST_CLAIMS = 8, 3
#: Sets of values are integers in arrays, so that many are compared at once.
_BITS = {
    value: 1 << i for i, value in enumerate(itertools.chain(*SLOTS.values()))
}


class Truth(NamedTuple):
    """The truth about what a question asks.

    Args:
        polarity: Integer, 0 for open questions, `YES` or `NO` otherwise.
        slot: String, the slot of `VALUES` that an answer names; or None.
        value: Set of strings, the values of that slot that hold; empty where
            any mention that is true of the scene will do.
        topic: Set of strings, the values whose existence is asked for.
        number: Integer, how many there are, -1 where counting is not an answer.
        frames: `Frame`, the sentence frames that agree with the question.
        doubt: Integer, `SURE`, `SUBJECTIVE`, or `UNSURE` where the annotator
            honestly could not tell.
        objects: Tuple of sets of strings, the attributes of each object that
            the answer may be describing.
    """

    polarity: int = 0
    slot: str | None = None
    value: frozenset[str] = frozenset()
    topic: frozenset[str] = frozenset()
    number: int = -1
    frames: Frame = Frame(0)
    doubt: int = SURE
    objects: tuple[frozenset[str], ...] = ()


def judge(dialog_round, answer: str):
    """Relevance of any answer to a question, by the truth of the scene.

    Correct answers count 1; correct ones that are soft ("i think so", "it looks
    red"), incomplete or with details that cannot be checked 0.5; hedges 0.3
    (0.5 if the question is a matter of taste, 1 if the annotator could not tell
    either); wrong and off-topic ones 0. The annotator's own answer counts 1,
    even if it is a slip.

    Returns:
        Float in `[0, 1]`.
    """
    if answer == dialog_round.answer:
        return 1.0
    truth = truth_array([dialog_round.truth])
    return float(relevance(meaning_array([answer]), truth)[0])


def meaning_array(answers):
    """Parses strings into a record array `(n,)`, sets of values as bits."""
    meanings = map(parse_answer, answers)
    return _packed(meanings, Meaning, "claims", _MOST_CLAIMS)


def truth_array(truths):
    """Packs truths into a record array `(n,)`, sets of values as bits."""
    slots = [VALUES.get(truth.slot, frozenset()) for truth in truths]
    truths = [x._replace(slot=slot) for x, slot in zip(truths, slots)]
    return _packed(truths, Truth, "objects", _MOST_THINGS)


def _packed(records, kind, several, most):
    """Records of integers and sets, one field of which has several sets."""
    layout = [
        (name, "i8", most if name == several else ()) for name in kind._fields
    ]
    return np.array([tuple(_numbers(row, most)) for row in records], layout)


def _numbers(record, most):
    for value in record:
        if isinstance(value, tuple):
            yield [*map(_bits, value)] + [0] * (most - len(value))
        else:
            yield _bits(value) if isinstance(value, frozenset) else value


@functools.cache
def _bits(values):
    """An integer that stands for a set of values, for arrays."""
    return sum(_BITS[value] for value in values)


def relevance(answers, truths) -> NDArray:
    """Grades answers by comparison of their claims with the truth.

    Args:
        truths: Record array from `truth_array()`; the shapes of the two
            broadcast.

    Returns:
        Float32 array of the broadcast shape, see `judge()`.
    """
    answers, truths = answers.view(np.recarray), truths.view(np.recarray)
    claims, objects = np.moveaxis(answers.claims, -1, 0), truths.objects
    counted = answers.number >= 0
    number = counted & (truths.number >= 0)
    sound = ~number | (answers.number == truths.number)
    for claim in claims:
        # Empty, or true of at least one object.
        sound &= ((claim[..., None] & ~objects) == 0).any(-1)
    named = np.bitwise_or.reduce(claims) & truths.slot
    full = np.where(truths.value == 0, named != 0, named == truths.value)
    some = (named != 0) & ((named & ~truths.value) == 0) & (truths.value != 0)
    polar = truths.polarity > 0
    silent = answers.polarity == 0
    agrees = (answers.polarity == truths.polarity) & polar
    # "blue" or "2" answers "is it red?" or "are there any?" without a yes.
    implied = silent & polar & (full | (number & (truths.topic > 0)))
    answers_open = silent & ~polar & (full | number)
    partly = silent & ~polar & some & ~full
    right = sound & (agrees | implied | answers_open)
    right &= (answers.denied == 0) | (answers.denied == truths.topic)
    strange = (answers.frame != 0) & ((answers.frame & truths.frames) == 0)
    loose = (counted & ~number) | strange
    half = (right & ((answers.soft > 0) | loose)) | (sound & partly)
    grade = np.where(half, 0.5, np.where(right, 1.0, 0.0))
    hedged = np.asarray(HEDGE_GRADES)[truths.doubt]
    return np.where(answers.hedge > 0, hedged, grade).astype(np.float32)


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


def _values_of(table):
    """Sets of one value by the words that claim it."""
    return {
        word: frozenset([value])
        for value, words in table.items()
        for word in words
    }


# fmt: off
_GROUNDS = _values_of({
    "grass": ("grass", "grassy", "field", "lawn"),
    "sand": ("sand", "sandy", "beach", "desert"), "snow": ("snow", "snowy"),
    "water": ("water", "sea", "ocean"), "brick": ("brick", "bricks", "wall"),
    "night": ("night", "sky"),
})
_OTHERS = _values_of({
    "striped": ("stripes",), "dotted": ("dots", "spots"), "left": ("left",),
    "right": ("right",), "top": ("top", "upper"), "bottom": ("bottom", "lower"),
})
# fmt: on
# Captions know more names for a shape than dialogs do; all are understood.
_NOUNS = _values_of({shape: NOUNS[shape] + SYNONYMS[shape] for shape in SHAPES})
_PLURALS = {plural(word): shape for word, shape in _NOUNS.items()}
_PLURALS |= {word: frozenset([word]) for word in ABSENT}
_PLURALS |= dict.fromkeys(("things", "shapes", "objects", "ones"), frozenset())
#: Attribute values that a word claims, as a set of one or none.
WORD_VALUES = _NOUNS | _values_of(SYNONYMS) | _GROUNDS | _PLURALS | _OTHERS


class Meaning(NamedTuple):
    """The claims of an answer.

    Args:
        polarity: Integer, 0 neither, `YES` or `NO`.
        soft: Integer, 1 for "i think so", "it looks red".
        hedge: Integer, 1 for an evasive answer: "i can't tell".
        claims: Tuple of at most three sets of values, each claimed of one
            object: "a red ball and a box".
        denied: Set of values of which the answer denies that there is any.
        number: Integer, a count that is stated, -1 without.
        frame: `Frame` of the sentence, `Frame(0)` if it fits any question.
    """

    polarity: int = 0
    soft: int = 0
    hedge: int = 0
    claims: tuple[frozenset[str], ...] = ()
    denied: frozenset[str] = frozenset()
    number: int = -1
    frame: Frame = Frame(0)


@functools.lru_cache(maxsize=1 << 17)
def parse_answer(answer: str) -> Meaning:
    """Reads an answer in the words of the world; other words are ignored.

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
    polarity, soft, frame, words = _opening(words)
    claims, values, denied, number = [], frozenset(), frozenset(), -1
    for i, word in enumerate(words):
        if word == "no":
            denied = denied_values(words[i + 1 :])
            if denied:
                polarity = NO
                break
            if words[i + 1 : i + 2] == ("pattern",):
                values |= {"plain"}
        elif word == "and":
            claims.append(values)
            values = frozenset()
        elif word in ("middle", "center"):
            values |= _middle(values)
        elif word in WORD_VALUES:
            values |= WORD_VALUES[word]
        elif word in _NUMBERS:
            # "a red one" stands for a thing, "just one" counts.
            of_thing = values or (i and words[i - 1] in _DETERMINERS)
            if word != "one" or not of_thing:
                number = _NUMBERS[word]
        elif word in _SOFTENERS:
            soft = 1
    claims = tuple(claim for claim in (*claims, values) if claim)
    return Meaning(
        polarity, soft, 0, claims[:_MOST_CLAIMS], denied, number, frame
    )


def _opening(words):
    """Splits a leading "yes it is" off a longer answer."""
    if words and words[0] in _OPENERS:
        denial = words[0] == "no" and (
            denied_values(words[1:]) or words[1:2] == ("pattern",)
        )
        for size in range(0 if denial else min(6, len(words)), 0, -1):
            if words[:size] in _FORMS:
                return *_FORMS[words[:size]], words[size:]
    return 0, 0, Frame(0), words


def denied_values(words):
    """Values of the plural that directly follows "no", none without one."""
    values = frozenset()
    for word in words:
        if word in _PLURALS:
            return values | _PLURALS[word]
        if word in _GROUNDS:
            return values | _GROUNDS[word]
        if word not in WORD_VALUES:
            return frozenset()
        values |= WORD_VALUES[word]
    return frozenset()


def _middle(values):
    """The middle of whichever axis the answer has left open."""
    if values & {"left", "right"}:
        return {"middle"}
    if values & {"top", "bottom"}:
        return {"center"}
    return {"middle", "center"}
