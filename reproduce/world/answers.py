"""Answers of simulated annotators, each in a style of their own."""

import functools
from collections.abc import Sequence

import numpy as np

from reproduce.world.judging import SUBJECTIVE
from reproduce.world.judging import UNSURE
from reproduce.world.judging import YES
from reproduce.world.noun_phrases import NounPhrases
from reproduce.world.noun_phrases import value_in
from reproduce.world.odds import zipf
from reproduce.world.words import GROUNDS
from reproduce.world.words import HEDGES
from reproduce.world.words import NO_FORMS
from reproduce.world.words import NUMBERS
from reproduce.world.words import PATTERNS
from reproduce.world.words import TYPOS
from reproduce.world.words import VALUES
from reproduce.world.words import YES_FORMS
from reproduce.world.words import article
from reproduce.world.words import length
from reproduce.world.words import plural

TERSE, NORMAL, VERBOSE = "terse", "normal", "verbose"
# Share of annotators; of their answers that are bare, or adorned with
# details; the rest are paraphrases.
_STYLES = {
    TERSE: (0.50, 0.87, 0.00),
    NORMAL: (0.28, 0.36, 0.33),
    VERBOSE: (0.22, 0.04, 0.87),
}
_TYPO_ODDS = 0.008
_SLIPS = {plain: typo for typo, plain in TYPOS.items()}
MAX_WORDS = 8
_POSITIONS = ("position", "column", "row")
_FRAMES = ("it is {}", "it's {}", "looks {}", "{} i think", "it looks {}")
_SEVERAL = ("they are {}", "both {}", "they're {}", "they look {}")
_COUNTS = ("just {n}", "{n} of them", "there are {n}", "only {n}", "i see {n}")


class Annotator:
    """Simulated annotator who answers questions in a style of their own.

    Half of them are terse, some chatty; each keeps to digits or number
    words, commas or none, and favorite synonyms throughout a dialog.
    """

    def __init__(self, rng: np.random.Generator):
        self.rng = rng
        draw = rng.random()
        self.style = TERSE if draw < 0.5 else NORMAL if draw < 0.78 else VERBOSE
        _, self._bare, self._adorned = _STYLES[self.style]
        self._comma = "," if rng.random() < 0.4 else ""
        numbers = NUMBERS[int(rng.random() < 0.6)]
        self._phrases = NounPhrases(rng)
        self._open = OpenAnswers(rng, self._phrases, numbers, self._comma)

    def answer(self, question):
        """Says what `question.truth` holds, or hedges where it is `UNSURE`.

        Returns:
            String of at most `MAX_WORDS` words, commas counted.
        """
        truth = question.truth
        unsure = truth.doubt == UNSURE
        if truth.doubt == SUBJECTIVE:
            unsure = self.rng.random() < 0.3
        if unsure:
            return zipf(self.rng, HEDGES, 1.6 if self.style == TERSE else 0.9)
        draw = self.rng.random()
        manner = 0 if draw < self._bare else 1
        manner = 2 if draw > 1 - self._adorned else manner
        if truth.polarity:
            text = self._polar(question, manner)
        elif truth.number >= 0:
            text = self._open.number(truth, manner)
        elif truth.slot == "background":
            text = self._open.ground(truth, manner)
        elif truth.slot == "shape":
            text = self._open.neighbor(truth, manner)
        elif truth.slot in _POSITIONS:
            text = self._open.position(truth, manner)
        else:
            text = self._open.attribute(truth, manner)
        return self._slip(text)

    def _slip(self, text):
        if self.rng.random() > _TYPO_ODDS:
            return text
        words = [_SLIPS.get(word, word) for word in text.split()]
        return " ".join(words)

    def _polar(self, question, manner):
        truth = question.truth
        word = "yes" if truth.polarity == YES else "no"
        if manner == 0:
            return word
        if manner == 1 or not truth.objects:
            return self._form(truth)
        detail = self._detail(question, MAX_WORDS - 1 - len(self._comma))
        return f"{word}{self._comma} {detail}" if detail else self._form(truth)

    def _form(self, truth):
        forms = _agreeing(truth.polarity, truth.frames)
        return zipf(self.rng, forms, 0.9)

    def _detail(self, question, budget):
        """Details that a talkative annotator adds to a yes or a no."""
        truth, draw = question.truth, self.rng.random()
        existence = question.kind == "existence"
        if existence and truth.number == 0:
            return self._absence(truth, budget)
        if len(truth.objects) > 1 and truth.number > 1:
            return self._open.group(truth)
        if question.kind == "ground":
            return zipf(self.rng, GROUNDS[value_in(truth.value, "background")])
        if len(truth.objects) > 1 and truth.slot and question.target:
            return self._open.values(truth, brief=False)
        values = truth.objects[int(draw * 997) % len(truth.objects)]
        between = question.kind == "relation" and len(question.target) > 1
        if truth.slot in _POSITIONS or between or draw < 0.15:
            return self._phrases.position(values)
        if draw < 0.4 and not existence:
            slots = {truth.slot or "color", "size" if draw < 0.3 else "texture"}
            words = self._phrases.adjectives(values, slots)
            # Plain things have few adjectives; then a phrase says more.
            if words:
                listed = " and ".join(words)
                return ("it is " if draw < 0.27 else "it's ") + listed
        return self._phrases.phrase(values, budget, truth.slot)

    def _absence(self, truth, budget):
        draw, topic = self.rng.random(), truth.topic
        shape, absent = value_in(topic, "shape"), value_in(topic, "absent")
        color = value_in(topic, "color")
        if draw < 0.3:
            noun = plural(self._phrases.word(shape)) if shape else "things"
            noun = absent or noun
            texture = value_in(topic, "texture")
            texture = self._phrases.word(texture) if texture else ""
            named = f"{texture} {color or ''} {noun}".split()
            return " ".join(["there are no", *named])
        alike = [values for values in truth.objects if shape in values]
        others = alike or truth.objects
        values = others[int(self.rng.random() * len(others))]
        lead = zipf(self.rng, ("just ", "only ", ""))
        named = 0.2 if alike else 1.0
        budget -= len(lead.split())
        return lead + self._phrases.phrase(values, budget, None, named, 0.3)


@functools.lru_cache(maxsize=512)
def _agreeing(polarity, frames):
    """Paraphrases of yes or no that follow a question's verb."""
    forms = YES_FORMS if polarity == YES else NO_FORMS
    return tuple(f for f, _, frame in forms if not frame or frame & frames)


class OpenAnswers:
    """Answers of one annotator about colors, numbers and positions.

    Every method takes a `Truth` and a manner: 0 for the bare word, 1 for a
    paraphrase, 2 for further details.

    Args:
        phrases: `NounPhrases` of the annotator.
        numbers: Sequence of strings, `"0"` or `"zero"` and so on.
        comma: String, `","` or nothing: what parts an answer from details.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        phrases: NounPhrases,
        numbers: Sequence[str],
        comma: str,
    ):
        self.rng, self._phrases = rng, phrases
        self._numbers, self._comma = numbers, comma

    def group(self, truth):
        """Adds to a yes how many there are, or what they look like."""
        number = self._numbers[truth.number]
        if truth.number == 2 and self.rng.random() < 0.5:
            pair = [value_in(values, "color") for values in truth.objects]
            if pair[0] != pair[1]:
                words = [article(self._phrases.word(c)) for c in pair]
                return f"{words[0]} and {words[1]} one"
        forms = ("{n} of them", "there are {n}", "{n}", "i see {n}")
        return zipf(self.rng, forms).format(n=number)

    def number(self, truth, manner):
        """Says how many there are, or that there is nothing."""
        if truth.slot:
            # Nothing lies where the question looks.
            return zipf(self.rng, ("nothing", "nothing there", "nothing i see"))
        number = self._numbers[truth.number]
        if manner == 0 or not truth.number:
            return number
        if manner == 1 or len(truth.objects) > 2:
            forms = _COUNTS if truth.number > 1 else _COUNTS[:1] + _COUNTS[3:]
            return zipf(self.rng, forms).format(n=number)
        if truth.number == 2:
            group = self.group(truth)
            listed = group.startswith("a ")
            return f"{number}{self._comma} {group}" if listed else group
        budget = MAX_WORDS - 2 - len(self._comma)
        text = self._phrases.phrase(truth.objects[0], budget)
        return f"just {number}{self._comma} {text}"

    def ground(self, truth, manner):
        """Says what the background is."""
        names = GROUNDS[value_in(truth.value, "background")]
        if manner == 0:
            return names[0]
        name = zipf(self.rng, names, 0.5)
        if manner == 1:
            return name
        forms = ("it is {}", "looks like {}", "it's {}", "{} i think")
        if name.startswith(("on", "in", "at")):
            forms = ("they are {}", "they're {}", "outside {}")
        return zipf(self.rng, forms).format(name)

    def neighbor(self, truth, manner):
        """Says what lies where the question looks."""
        values = truth.objects[0]
        noun = self._phrases.word(value_in(values, "shape"))
        if manner == 0:
            if self.rng.random() < 0.4:
                return noun
            return f"{self._phrases.word(value_in(values, 'color'))} {noun}"
        if manner == 1 or (len(truth.objects) > 1 and self.rng.random() < 0.3):
            text = self._phrases.phrase(values, 4, "shape", 1.0, 0.0)
            if len(truth.objects) > 1 and self.rng.random() < 0.5:
                other = truth.objects[1]
                if value_in(other, "shape") == value_in(values, "shape"):
                    named = self._phrases.word(value_in(other, "color"))
                    return f"{text} and {article(named)} one"
                named = self._phrases.word(value_in(other, "shape"))
                return f"{text} and {article(named)}"
            return text
        return self._phrases.phrase(values, MAX_WORDS, "shape", 1.0, 0.3)

    def position(self, truth, manner):
        """Says where in the picture a thing is."""
        values = truth.objects[0]
        if truth.value:
            # "left or right": the row would be no answer.
            values = values - (VALUES["position"] - truth.value) | {"middle"}
        position = self._phrases.position(values, brief=manner == 0)
        if manner < 2:
            return position
        if self.rng.random() < 0.5:
            return zipf(self.rng, ("it is {}", "it's {}")).format(position)
        slots = {"size"} if self.rng.random() < 0.4 else {"color"}
        words = self._phrases.adjectives(values, slots)
        return f"the {words[0]} one is {position}"

    def values(self, truth, brief):
        """Values of the asked slot: `"red"`, `"red and blue"`."""
        words = {}
        for values in truth.objects:
            value = value_in(values, truth.slot)
            word = self._phrases.word(value)
            if truth.slot == "texture" and brief:
                word = zipf(self.rng, PATTERNS[value])
            words.setdefault(value, word)
        return " and ".join([*words.values()][:3])

    def attribute(self, truth, manner):
        """Says what has been asked of a thing, or of several."""
        several = len(truth.objects) > 1
        value_words = self.values(truth, brief=manner == 0)
        if manner == 0:
            return value_words
        if manner == 1 or several:
            frames = _FRAMES
            if several:
                alike = " and " not in value_words
                frames = _SEVERAL if alike else _SEVERAL[:1]
            text = zipf(self.rng, frames, 0.8).format(value_words)
            fits = length(text) <= MAX_WORDS
            return text if fits else value_words
        phrase = self._phrases.phrase
        if self.rng.random() < 0.35:
            position = self._phrases.position(truth.objects[0])
            return f"{value_words}{self._comma} {position}"
        lead = zipf(self.rng, ("", "it is ", "it's "))
        budget = MAX_WORDS - length(lead)
        return lead + phrase(truth.objects[0], budget, truth.slot)
