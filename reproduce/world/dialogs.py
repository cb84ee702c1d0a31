"""Ten rounds of questions and answers about a scene."""

import dataclasses
from bisect import bisect
from itertools import accumulate

import numpy as np

from reproduce.world.answers import Annotator
from reproduce.world.conversation import Conversation
from reproduce.world.judging import NO
from reproduce.world.judging import UNSURE
from reproduce.world.judging import YES
from reproduce.world.judging import Truth
from reproduce.world.questions import KINDS
from reproduce.world.scene import COLORS
from reproduce.world.words import VALUES

ROUNDS = 10
_WRONG_ODDS = 0.03
_ASKS = tuple(ask for ask, _ in KINDS.values())
_ODDS = tuple(accumulate(odds for _, odds in KINDS.values()))
# What hardly stands out from the ground that it lies on.
_CAMOUFLAGE = {
    "grass": ("green",),
    "sand": ("yellow", "orange"),
    "snow": ("white",),
    "water": ("blue",),
    "brick": ("red", "orange"),
    "night": ("black", "purple"),
}


@dataclasses.dataclass(frozen=True)
class Round:
    """A question, what the annotator said, and what holds.

    Args:
        question: String, without a question mark.
        kind: String, a kind of question: `"color"`, `"existence"`, ...
        target: Tuple of integers, the things of the scene that are asked
            about.
        truth: `Truth`, by which `judge()` grades any other answer.
        pronoun: Boolean, whether only the history tells what is meant.
    """

    question: str
    answer: str
    kind: str
    target: tuple[int, ...]
    truth: Truth
    pronoun: bool


@dataclasses.dataclass(frozen=True)
class WorldDialog:
    """A caption and the dialog that follows from it.

    Args:
        caption: String, all that the questioner has seen.
    """

    caption: str
    rounds: list[Round]


def make_dialog(
    scene, caption: str, rng: np.random.Generator, rounds: int = ROUNDS
) -> WorldDialog:
    """Plays a dialog between one who sees a caption and one who sees a scene.

    Args:
        caption: String; the things it names may be asked about by pronoun.

    Example:

    >>> from reproduce.world.dialogs import make_dialog
    >>> from reproduce.world.scene import Scene, Thing
    >>> ball = Thing("ball", "red", "large", "plain", 20.0, 30.0, 9.0)
    >>> rng = np.random.default_rng(0)
    >>> dialog = make_dialog(Scene("grass", (ball,)), "a ball on grass", rng)
    >>> len(dialog.rounds)
    10
    """
    talk = Conversation(scene, caption, rng)
    annotator = Annotator(rng)
    played, asked = [], set()
    while len(played) < rounds:
        ask = _ASKS[bisect(_ODDS, rng.random() * _ODDS[-1])]
        question = ask(talk)
        if question is None or question.text in asked:
            continue
        asked.add(question.text)
        if question.focus is not None:
            talk.focus = question.focus
        if question.truth.doubt == 0 and rng.random() < _doubt(scene, question):
            truth = question.truth._replace(doubt=UNSURE)
            question = question._replace(truth=truth)
        spoken = question
        if rng.random() < _WRONG_ODDS:
            spoken = question._replace(truth=_mistaken(question.truth, rng))
        played.append(
            Round(
                question.text,
                annotator.answer(spoken),
                question.kind,
                question.target,
                question.truth,
                question.pronoun,
            )
        )
    return WorldDialog(caption, played)


def _doubt(scene, question):
    """Chance that an honest annotator cannot tell."""
    if question.kind in ("count", "ground"):
        return 0.015
    if not question.target or question.kind == "existence":
        return 0.035
    i = question.target[0]
    thing = scene.things[i]
    chance = 0.035 + 0.6 * (1 - scene.visible(i))
    chance += 0.06 * (thing.size == "small")
    chance += 0.18 * (thing.color in _CAMOUFLAGE[scene.background])
    return chance


def _mistaken(truth, rng):
    """The truth of another scene, for an annotator who slips."""
    if truth.polarity:
        flipped = NO if truth.polarity == YES else YES
        # Without things to describe: details would give the slip away.
        return truth._replace(polarity=flipped, objects=())
    if truth.number > 0:
        return truth._replace(number=max(1, truth.number - 1))
    if truth.slot == "color":
        wrong = frozenset([COLORS[int(rng.random() * len(COLORS))]])
        objects = [own - VALUES["color"] | wrong for own in truth.objects]
        return truth._replace(value=wrong, objects=tuple(objects))
    return truth
