"""Truth of answers in dialogs of the embedded world."""

import re
from collections.abc import Sequence

import numpy as np

from reproduce.world.judging import meaning_array
from reproduce.world.judging import relevance
from reproduce.world.judging import truth_array

#: Tokens that were split off a word: "is n't", "can not".
_CLITIC = re.compile(r" (?=n't\b|'\w)|(?<=\bcan) (?=not\b)")


def answer_truth(rounds: Sequence, answers: Sequence[str]) -> dict:
    """Shares of answers that are true, in part, evasive, false and empty.

    An answer is judged by the scene alone: one that repeats the slip of an
    annotator is false.

    Args:
        rounds: Sequence of `reproduce.world.dialogs.Round`.
        answers: Strings, an answer to each; tokens may be apart: "is n't".

    Returns:
        Dict of floats that add up to 1: `true_share`, `partly_share` (soft,
        incomplete, or more than can be checked), `evasive_share`, wherever the
        truth is known, `false_share`, off-topic ones among them, and
        `empty_share`.

    Example:

    >>> from reproduce.world import Scene, Thing
    >>> from reproduce.world.dialogs import make_dialog
    >>> from reproduce.world.truth import answer_truth
    >>> ball = Thing("ball", "red", "large", "plain", 20.0, 30.0, 9.0)
    >>> rng = np.random.default_rng(0)
    >>> dialog = make_dialog(Scene("grass", (ball,)), "a ball on grass", rng)
    >>> shares = answer_truth(dialog.rounds[:2], ["a purple moon", ""])
    >>> shares["false_share"], shares["empty_share"]
    (0.5, 0.5)
    """
    if len(rounds) != len(answers):
        raise ValueError(
            "`answers` must be one to each round. Received: "
            f"{len(answers)} answers to {len(rounds)} rounds."
        )
    said = meaning_array([_CLITIC.sub("", text) for text in answers])
    grades = relevance(said, truth_array([one.truth for one in rounds]))
    empty = np.array([not text.strip() for text in answers])
    evasive = (said["hedge"] > 0) & (grades < 1) & ~empty
    rest = ~empty & ~evasive
    shares = {
        "true_share": ~empty & (grades == 1),
        "partly_share": rest & (grades > 0) & (grades < 1),
        "evasive_share": evasive,
        "false_share": rest & (grades == 0),
        "empty_share": empty,
    }
    return {name: float(mask.mean()) for name, mask in shares.items()}
