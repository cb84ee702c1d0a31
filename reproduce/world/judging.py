"""Graded relevance of answers to the questions of the synthetic world."""

from typing import NamedTuple

import numpy as np

from reproduce.world.meaning import NO
from reproduce.world.meaning import YES
from reproduce.world.meaning import Meaning
from reproduce.world.meaning import parse_answer

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
