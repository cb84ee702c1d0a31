"""Answers to questions that ask for more than a yes or a no."""

from reproduce.world.conversation import zipf
from reproduce.world.noun_phrases import value_in
from reproduce.world.words import BITS
from reproduce.world.words import GROUNDS
from reproduce.world.words import MASKS
from reproduce.world.words import PATTERNS
from reproduce.world.words import PLACE
from reproduce.world.words import SLOTS
from reproduce.world.words import article
from reproduce.world.words import length

MAX_WORDS = 8
_FRAMES = ("it is {}", "it's {}", "looks {}", "{} i think", "it looks {}")
_SEVERAL = ("they are {}", "both {}", "they're {}", "they look {}")
_COUNTS = ("just {n}", "{n} of them", "there are {n}", "only {n}", "i see {n}")


class OpenAnswers:
    """What one annotator says of colors, numbers and places.

    Every method takes a `Truth` and a manner: 0 for the bare word, 1 for a
    paraphrase, 2 for further details.

    Args:
        rng: `np.random.Generator`.
        phrases: `NounPhrases` of the annotator.
        numbers: Sequence of strings, `"0"` or `"zero"` and so on.
        comma: String, `","` or nothing: what parts an answer from details.
    """

    def __init__(self, rng, phrases, numbers, comma):
        self.rng, self._phrases = rng, phrases
        self._numbers, self._comma = numbers, comma

    def group(self, truth):
        """Adds to a yes how many there are, or what they look like."""
        number = self._numbers[truth.number]
        if truth.number == 2 and self.rng.random() < 0.5:
            pair = [value_in(fact, "color") for fact in truth.refs]
            if pair[0] != pair[1]:
                words = [article(self._phrases.word(c)) for c in pair]
                return f"{words[0]} and {words[1]} one"
        forms = ("{n} of them", "there are {n}", "{n}", "i see {n}")
        return zipf(self.rng, forms).format(n=number)

    def number(self, truth, manner):
        """Says how many there are, or that there is nothing."""
        if truth.asked:
            # Nothing lies where the question looks.
            return zipf(self.rng, ("nothing", "nothing there", "nothing i see"))
        number = self._numbers[truth.number]
        if manner == 0 or not truth.number:
            return number
        if manner == 1 or len(truth.refs) > 2:
            forms = _COUNTS if truth.number > 1 else _COUNTS[:1] + _COUNTS[3:]
            return zipf(self.rng, forms).format(n=number)
        if truth.number == 2:
            group = self.group(truth)
            listed = group.startswith("a ")
            return f"{number}{self._comma} {group}" if listed else group
        budget = MAX_WORDS - 2 - len(self._comma)
        said = self._phrases.phrase(truth.refs[0], budget)
        return f"just {number}{self._comma} {said}"

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
        fact = truth.refs[0]
        noun = self._phrases.word(value_in(fact, "shape"))
        if manner == 0:
            if self.rng.random() < 0.4:
                return noun
            return f"{self._phrases.word(value_in(fact, 'color'))} {noun}"
        if manner == 1 or (len(truth.refs) > 1 and self.rng.random() < 0.3):
            said = self._phrases.phrase(fact, 4, MASKS["shape"], 1.0, 0.0)
            if len(truth.refs) > 1 and self.rng.random() < 0.5:
                other = truth.refs[1]
                if value_in(other, "shape") == value_in(fact, "shape"):
                    named = self._phrases.word(value_in(other, "color"))
                    return f"{said} and {article(named)} one"
                named = self._phrases.word(value_in(other, "shape"))
                return f"{said} and {article(named)}"
            return said
        return self._phrases.phrase(fact, MAX_WORDS, MASKS["shape"], 1.0, 0.3)

    def position(self, truth, manner):
        """Says where in the picture a thing is."""
        fact = truth.refs[0]
        if truth.value:
            # "left or right": the row would be no answer.
            fact &= truth.value | BITS["middle"] | ~PLACE
            fact |= BITS["middle"]
        place = self._phrases.place(fact, brief=manner == 0)
        if manner < 2:
            return place
        if self.rng.random() < 0.5:
            return zipf(self.rng, ("it is {}", "it's {}")).format(place)
        slots = {"size"} if self.rng.random() < 0.4 else {"color"}
        words = self._phrases.adjectives(fact, slots)
        return f"the {words[0]} one is {place}"

    def values(self, truth, brief):
        """Values of the asked slot: `"red"`, `"red and blue"`."""
        slot = next(s for s in SLOTS if MASKS[s] == truth.asked)
        words = []
        for fact in truth.refs:
            value = value_in(fact, slot)
            word = self._phrases.word(value)
            if slot == "texture" and brief:
                word = zipf(self.rng, PATTERNS[value])
            if not any(BITS[value] & seen for seen, _ in words):
                words.append((BITS[value], word))
        return " and ".join(word for _, word in words[:3])

    def attribute(self, truth, manner):
        """Says what has been asked of a thing, or of several."""
        several = len(truth.refs) > 1
        said = self.values(truth, brief=manner == 0)
        if manner == 0:
            return said
        if manner == 1 or several:
            frames = _FRAMES
            if several:
                alike = " and " not in said
                frames = _SEVERAL if alike else _SEVERAL[:1]
            text = zipf(self.rng, frames, 0.8).format(said)
            fits = length(text) <= MAX_WORDS
            return text if fits else said
        phrase = self._phrases.phrase
        if self.rng.random() < 0.35:
            place = self._phrases.place(truth.refs[0])
            return f"{said}{self._comma} {place}"
        lead = zipf(self.rng, ("", "it is ", "it's "))
        budget = MAX_WORDS - length(lead)
        return lead + phrase(truth.refs[0], budget, truth.asked)
