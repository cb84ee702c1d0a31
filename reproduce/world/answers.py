"""Answers of simulated annotators, each in a style of their own."""

import functools

import numpy as np

from reproduce.world.judging import SUBJECTIVE
from reproduce.world.judging import UNSURE
from reproduce.world.judging import YES
from reproduce.world.words import GROUNDS
from reproduce.world.words import HEDGES
from reproduce.world.words import NO_FORMS
from reproduce.world.words import NUMBERS
from reproduce.world.words import PATTERNS
from reproduce.world.words import PLACES
from reproduce.world.words import SLOTS
from reproduce.world.words import SYNONYMS
from reproduce.world.words import TYPOS
from reproduce.world.words import VALUES
from reproduce.world.words import YES_FORMS
from reproduce.world.words import article
from reproduce.world.words import length
from reproduce.world.words import plural
from reproduce.world.words import zipf

# Shares of the answers that are bare, or adorned with details, of a terse, a
# normal and a talkative annotator; the rest are paraphrases.
_TERSE, _NORMAL, _TALKATIVE = (0.87, 0.00), (0.36, 0.33), (0.04, 0.87)
# An answer's manner: the bare word, a paraphrase, further details.
_BARE, _PARAPHRASE, _ADORNED = 0, 1, 2
_TYPO_ODDS = 0.008
_SLIPS = {plain: typo for typo, plain in TYPOS.items()}
MAX_WORDS = 8
_POSITIONS = ("position", "column", "row")
_FRAMES = ("it is {}", "it's {}", "looks {}", "{} i think", "it looks {}")
_SEVERAL = ("they are {}", "both {}", "they're {}", "they look {}")
_COUNTS = ("just {n}", "{n} of them", "there are {n}", "only {n}", "i see {n}")
_GROUND_FRAMES = ("it is {}", "looks like {}", "it's {}", "{} i think")
_TINTS = {
    **dict.fromkeys(("red", "green"), ("bright", "dark")),
    **dict.fromkeys(("yellow", "orange"), ("bright",)),
    "blue": ("light", "dark"),
    "purple": ("dark",),
}
_WITH = {"striped": "with stripes", "dotted": "with dots"}


def value_in(values, slot):
    """The value that a set holds of a slot, None where it holds none."""
    return next((value for value in SLOTS[slot] if value in values), None)


class Annotator:
    """Simulated annotator who answers questions in a style of their own.

    Half of them are terse, some chatty; each keeps to digits or number
    words, commas or none, and favorite synonyms throughout a dialog.
    """

    def __init__(self, rng: np.random.Generator):
        self.rng = rng
        draw = rng.random()
        self.style = _NORMAL if draw < 0.78 else _TALKATIVE
        self.style = _TERSE if draw < 0.5 else self.style
        self._comma = "," if rng.random() < 0.4 else ""
        self._numbers = NUMBERS[int(rng.random() < 0.6)]
        self._habits = {}

    def answer(self, question):
        """Says what `question.truth` holds, or hedges where it is `UNSURE`.

        Returns:
            String of at most `MAX_WORDS` words, commas counted.
        """
        truth = question.truth
        unsure = truth.doubt == UNSURE
        if truth.doubt == SUBJECTIVE:
            unsure = self.chance(0.3)
        if unsure:
            return self.zipf(HEDGES, 1.6 if self.style == _TERSE else 0.9)
        draw, (bare, adorned) = self.rng.random(), self.style
        manner = _BARE if draw < bare else _PARAPHRASE
        manner = _ADORNED if draw > 1 - adorned else manner
        if truth.polarity:
            text = self._polar(question, manner)
        elif truth.number >= 0:
            text = self._number(truth, manner)
        else:
            about = {"background": self._ground, "shape": self._neighbor}
            about |= dict.fromkeys(_POSITIONS, self._position)
            text = about.get(truth.slot, self._attribute)(truth, manner)
        if self.rng.random() > _TYPO_ODDS:
            return text
        return " ".join(_SLIPS.get(word, word) for word in text.split())

    def chance(self, odds):
        """True with some probability."""
        return self.rng.random() < odds

    def zipf(self, items, power=1.0):
        """One of `items`, the earlier the likelier."""
        return zipf(self.rng, items, power)

    def _polar(self, question, manner):
        truth = question.truth
        word = "yes" if truth.polarity == YES else "no"
        if manner == _BARE:
            return word
        if manner == _ADORNED and truth.objects:
            detail = self._detail(question, MAX_WORDS - 1 - len(self._comma))
            return f"{word}{self._comma} {detail}"
        return self.zipf(_agreeing(truth.polarity, truth.frames), 0.9)

    def _detail(self, question, budget):
        """Details that a talkative annotator adds to a yes or a no."""
        truth, draw = question.truth, self.rng.random()
        existence = question.kind == "existence"
        if existence and truth.number == 0:
            return self._absence(truth, budget)
        if len(truth.objects) > 1 and truth.number > 1:
            return self._group(truth)
        if question.kind == "ground":
            return self.zipf(GROUNDS[value_in(truth.value, "background")])
        if len(truth.objects) > 1 and truth.slot and question.target:
            return self._values(truth, brief=False)
        values = truth.objects[int(draw * 997) % len(truth.objects)]
        between = question.kind == "relation" and len(question.target) > 1
        if truth.slot in _POSITIONS or between or draw < 0.15:
            return self.place(values)
        if draw < 0.4 and not existence:
            slots = {truth.slot or "color", "size" if draw < 0.3 else "texture"}
            words = self.adjectives(values, slots)
            # Plain things have few adjectives; then a phrase says more.
            if words:
                lead = "it is" if draw < 0.27 else "it's"
                return f"{lead} {' and '.join(words)}"
        return self.phrase(values, budget, truth.slot)

    def _absence(self, truth, budget):
        draw, topic = self.rng.random(), truth.topic
        shape, absent = value_in(topic, "shape"), value_in(topic, "absent")
        if draw < 0.3:
            noun = plural(self.word(shape)) if shape else "things"
            color = value_in(topic, "color") or ""
            return " ".join(f"there are no {color} {absent or noun}".split())
        alike = [values for values in truth.objects if shape in values]
        others = alike or truth.objects
        values = others[int(self.rng.random() * len(others))]
        lead = self.zipf(("just ", "only ", ""))
        named = 0.2 if alike else 1.0
        budget -= len(lead.split())
        return lead + self.phrase(values, budget, None, named, 0.3)

    def _group(self, truth):
        """Adds to a yes how many there are, or what they look like."""
        if truth.number == 2 and self.chance(0.5):
            pair = [value_in(values, "color") for values in truth.objects]
            if pair[0] != pair[1]:
                words = [article(self.word(color)) for color in pair]
                return f"{' and '.join(words)} one"
        forms = ("{n} of them", "there are {n}", "{n}", "i see {n}")
        return self.zipf(forms).format(n=self._numbers[truth.number])

    def _number(self, truth, manner):
        """Says how many there are, or that there is nothing."""
        if truth.slot:
            # Nothing lies where the question looks.
            return self.zipf(("nothing", "nothing there", "nothing i see"))
        number = self._numbers[truth.number]
        if manner == _BARE or not truth.number:
            return number
        if manner == _PARAPHRASE or len(truth.objects) > 2:
            forms = _COUNTS if truth.number > 1 else _COUNTS[:1] + _COUNTS[3:]
            return self.zipf(forms).format(n=number)
        if truth.number == 2:
            group = self._group(truth)
            listed = group.startswith("a ")
            return f"{number}{self._comma} {group}" if listed else group
        budget = MAX_WORDS - 2 - len(self._comma)
        text = self.phrase(truth.objects[0], budget)
        return f"just {number}{self._comma} {text}"

    def _ground(self, truth, manner):
        """Says what the background is."""
        names = GROUNDS[value_in(truth.value, "background")]
        if manner == _BARE:
            return names[0]
        name = self.zipf(names, 0.5)
        if manner == _PARAPHRASE:
            return name
        forms = _GROUND_FRAMES
        if name.startswith(("on", "in", "at")):
            forms = ("they are {}", "they're {}", "outside {}")
        return self.zipf(forms).format(name)

    def _neighbor(self, truth, manner):
        """Says what lies where the question looks."""
        values, *others = truth.objects
        shape = value_in(values, "shape")
        noun = self.word(shape)
        if manner == _BARE:
            if self.chance(0.4):
                return noun
            return f"{self.word(value_in(values, 'color'))} {noun}"
        if manner == _ADORNED and not (others and self.chance(0.3)):
            return self.phrase(values, MAX_WORDS, "shape", 1.0, 0.3)
        text = self.phrase(values, 4, "shape", 1.0, 0.0)
        if not others or not self.chance(0.5):
            return text
        if value_in(others[0], "shape") == shape:
            named = self.word(value_in(others[0], "color"))
            return f"{text} and {article(named)} one"
        named = self.word(value_in(others[0], "shape"))
        return f"{text} and {article(named)}"

    def _position(self, truth, manner):
        """Says where in the picture a thing is."""
        values = truth.objects[0]
        if truth.value:
            # "left or right": the row would be no answer.
            values = values - (VALUES["position"] - truth.value) | {"middle"}
        place = self.place(values, brief=manner == _BARE)
        if manner != _ADORNED:
            return place
        if self.chance(0.5):
            return self.zipf(("it is {}", "it's {}")).format(place)
        slots = {"size"} if self.chance(0.4) else {"color"}
        return f"the {self.adjectives(values, slots)[0]} one is {place}"

    def _values(self, truth, brief):
        """Values of the asked slot: `"red"`, `"red and blue"`."""
        words = {}
        for values in truth.objects:
            value = value_in(values, truth.slot)
            word = self.word(value)
            if truth.slot == "texture" and brief:
                word = self.zipf(PATTERNS[value])
            words.setdefault(value, word)
        return " and ".join([*words.values()][:3])

    def _attribute(self, truth, manner):
        """Says what has been asked of a thing, or of several."""
        several = len(truth.objects) > 1
        words = self._values(truth, brief=manner == _BARE)
        if manner == _BARE:
            return words
        if manner == _PARAPHRASE or several:
            frames = _FRAMES
            if several:
                frames = _SEVERAL[:1] if " and " in words else _SEVERAL
            text = self.zipf(frames, 0.8).format(words)
            return text if length(text) <= MAX_WORDS else words
        if self.chance(0.35):
            return f"{words}{self._comma} {self.place(truth.objects[0])}"
        lead = self.zipf(("", "it is ", "it's "))
        budget = MAX_WORDS - length(lead)
        return lead + self.phrase(truth.objects[0], budget, truth.slot)

    def word(self, value):
        """The annotator's usual word for an attribute value."""
        if value not in self._habits:
            self._habits[value] = self.zipf(SYNONYMS[value], 1.3)
        return self._habits[value]

    def place(self, values, brief=False):
        """Name the position of an object: `"on the left"`, briefly `"left"`."""
        row, column = value_in(values, "row"), value_in(values, "column")
        if row == "middle":
            name = "middle" if column == "center" else column
        elif column == "center":
            name = row
        elif self.chance(0.5):
            high = "upper" if row == "top" else "lower"
            forms = PLACES["corner"]
            form = self.zipf(forms[:1] if brief else forms[1:])
            return form.format(row=row, high=high, column=column)
        else:
            name = row if self.chance(0.3) else column
        if brief:
            return self.zipf(PLACES[name][2:], 2.0)
        full = [form for form in PLACES[name] if " the " in form]
        return self.zipf(full, 1.3)

    def adjectives(self, values, slots, tint=0.0):
        """Attribute words in English order: size, pattern, color."""
        words = []
        for slot in ("size", "texture", "color"):
            value = value_in(values, slot)
            if slot not in slots or (value == "plain" and slots != {slot}):
                continue
            if value in _TINTS and self.chance(tint):
                words.append(self.zipf(_TINTS[value]))
            words.append(self.word(value))
        return words

    def phrase(self, values, budget, asked=None, shape=0.35, position=0.55):
        """Describes a thing with two or three details that are true of it.

        Args:
            budget: Integer, tokens that may be used.
        """
        must = {asked} & {"size", "texture", "color"}
        slots = [s for s in ("color", "size", "texture") if s not in must]
        self.rng.shuffle(slots)
        slots = slots[: 1 + int(self.chance(0.5))]
        by_name = asked == "shape" or self.chance(shape)
        head = self.word(value_in(values, "shape")) if by_name else "one"
        tail = self._tail(values, slots, position)
        definite = self.chance(0.1)
        while True:
            words = self.adjectives(values, must | set(slots), 0.15)
            noun = " ".join([*words, head])
            noun = f"the {noun}" if definite else article(noun)
            for end in (tail, ""):
                text = f"{noun} {end}".rstrip()
                if length(text) <= budget and (words or by_name or end):
                    return text
            if not slots:
                return noun
            slots.pop()

    def _tail(self, values, slots, position):
        texture = value_in(values, "texture")
        if "texture" in slots and texture in _WITH and self.chance(0.4):
            slots.remove("texture")
            return _WITH[texture]
        return self.place(values) if self.chance(position) else ""


@functools.lru_cache(maxsize=512)
def _agreeing(polarity, frames):
    """Paraphrases of yes or no that follow a question's verb."""
    forms = YES_FORMS if polarity == YES else NO_FORMS
    return tuple(f for f, _, frame in forms if not frame or frame & frames)
