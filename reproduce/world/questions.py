"""Questions about scenes, as text, and a reader that is never mistaken."""

import collections
import functools
import itertools

import numpy as np

from reproduce.world.reader import read_caption
from reproduce.world.scenes import BACKGROUNDS
from reproduce.world.scenes import COLORS
from reproduce.world.scenes import COLUMNS
from reproduce.world.scenes import ROWS
from reproduce.world.scenes import SHAPES
from reproduce.world.scenes import SIZES
from reproduce.world.scenes import TEXTURES
from reproduce.world.truth import answer_counts
from reproduce.world.truth import read_answers
from tfcap.data import Question

#: How each kind of question is asked, and its options.
_ASKED = {
    "exists": ("Is there a {}?", ("no", "yes")),
    "color": ("What color is the {}?", COLORS),
    "size": ("How large is the {}?", SIZES),
    "texture": ("What pattern does the {} have?", TEXTURES),
    "row": ("How high up is the {}?", ROWS),
    "column": ("On which side is the {}?", COLUMNS),
    "side": (
        "On which side of the {1} is the {0}?",
        ("left", "right", "level"),
    ),
    "height": (
        "Is the {} above or below the {}?",
        ("above", "below", "level"),
    ),
    "ground": ("What is the ground?", BACKGROUNDS),
    "number": ("How many things are there?", tuple("12345678")),
}
_SHAPES = {"exists": 1, "ground": 0, "number": 0, "side": 2, "height": 2}
#: Questions by their texts, see `reproduce.world.truth.true_answers()`.
_KEYS = {
    text.format(*shapes): (kind, *shapes)
    for kind, (text, _) in _ASKED.items()
    for shapes in itertools.combinations(SHAPES, _SHAPES.get(kind, 1))
}
#: Texts of questions.
TEXTS = {key: text for text, key in _KEYS.items()}


def scene_questions(truth) -> list[list[Question]]:
    """All questions that apply to scenes.

    Args:
        truth: `reproduce.world.truth.Truth` of M scenes.

    Returns:
        List of M lists of `tfcap.data.Question`.

    Example:

    >>> from reproduce.world import Scene, Thing
    >>> from reproduce.world.truth import Truth
    >>> ball = Thing("ball", "red", "large", "plain", 20.0, 30.0, 9.0)
    >>> asked = scene_questions(Truth([Scene("sand", (ball,))]))[0]
    >>> [(q.text, q.options[q.answer]) for q in asked[8:10]]
    [('What color is the ball?', 'red'), ('How large is the ball?', 'large')]
    """
    return [
        [_question(*pair) for pair in truth.answers(row).items()]
        for row in range(len(truth))
    ]


def _question(key, answer):
    options = _ASKED[key[0]][1]
    return Question(TEXTS[key], options, options.index(said(answer)), key[0])


def said(answer):
    """An answer in words."""
    words = ("no", "yes")
    return words[answer] if isinstance(answer, bool) else str(answer)


class ExactReader:
    """Reads captions of scenes without an error, and questions by their text.

    It believes what a caption says with a probability of `TRUST`; otherwise,
    and where the caption says nothing, it answers as often as answers occur in
    other scenes. The signature is that of readers of `tfcap.rewards.Utility`.
    """

    TRUST = 0.9

    def __init__(self):
        self._answers = functools.lru_cache(1 << 17)(self._answers)

    def __call__(self, captions, questions, options):
        return [
            self._scores(self._answers(caption), _KEYS[question], each)
            for caption, question, each in zip(captions, questions, options)
        ]

    def _answers(self, caption):
        answers = read_answers(read_caption(caption))
        return {key: said(answer) for key, answer in answers.items()}

    def _scores(self, answers, key, options):
        usual = _usual(key)
        if key not in answers:
            return np.log([usual[option] for option in options])
        doubt = 1.0 - self.TRUST
        return np.log(
            [
                doubt * usual[option] + self.TRUST * (option == answers[key])
                for option in options
            ]
        )


@functools.cache
def _usual(key):
    """Shares of the answers to a question in other scenes."""
    options = _ASKED[key[0]][1]
    counts = collections.Counter(dict.fromkeys(options, 1))
    for answer, count in answer_counts()[key].items():
        counts[said(answer)] += count
    return {option: counts[option] / counts.total() for option in options}
