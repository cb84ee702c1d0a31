"""Noun phrases for an object: "a big red one on the left"."""

import numpy as np

from reproduce.world.odds import zipf
from reproduce.world.words import PLACES
from reproduce.world.words import SLOTS
from reproduce.world.words import SYNONYMS
from reproduce.world.words import article
from reproduce.world.words import length

_TINTS = {
    "red": ("bright", "dark"),
    "blue": ("light", "dark"),
    "green": ("bright", "dark"),
    "yellow": ("bright",),
    "purple": ("dark",),
    "orange": ("bright",),
}
_WITH = {"striped": "with stripes", "dotted": "with dots"}


def value_in(values, slot):
    """The value that a set holds of a slot, None where it holds none."""
    return next((value for value in SLOTS[slot] if value in values), None)


class NounPhrases:
    """Descriptions of things in the words that one annotator favors."""

    def __init__(self, rng: np.random.Generator):
        self.rng = rng
        self._habits = {}

    def word(self, value):
        """The annotator's usual word for an attribute value."""
        if value not in self._habits:
            self._habits[value] = zipf(self.rng, SYNONYMS[value], 1.3)
        return self._habits[value]

    def position(self, values, brief=False):
        """Name the position of an object: `"on the left"`, briefly `"left"`."""
        row, column = value_in(values, "row"), value_in(values, "column")
        if row == "middle" and column == "center":
            return self._region("middle", brief)
        if row == "middle":
            return self._region(column, brief)
        if column == "center":
            return self._region(row, brief)
        if self.rng.random() < 0.5:
            high = "upper" if row == "top" else "lower"
            forms = PLACES["corner"]
            forms = forms[:1] if brief else forms[1:]
            form = zipf(self.rng, forms)
            return form.format(row=row, high=high, column=column)
        return self._region(row if self.rng.random() < 0.3 else column, brief)

    def _region(self, name, brief):
        forms = PLACES[name]
        if brief:
            return zipf(self.rng, forms[2:], 2.0)
        full = [form for form in forms if " the " in form]
        return zipf(self.rng, full, 1.3)

    def adjectives(self, values, slots, tint=0.0):
        """Attribute words in English order: size, pattern, color."""
        words = []
        for slot in ("size", "texture", "color"):
            value = value_in(values, slot)
            if slot not in slots or (value == "plain" and slots != {slot}):
                continue
            if slot == "color" and value in _TINTS:
                if self.rng.random() < tint:
                    words.append(zipf(self.rng, _TINTS[value]))
            words.append(self.word(value))
        return words

    def phrase(
        self,
        values: set[str],
        budget: int,
        asked: str | None = None,
        shape: float = 0.35,
        position: float = 0.55,
    ) -> str:
        """Describes a thing with two or three details that are true of it.

        Args:
            budget: Integer, tokens that may be used.
        """
        must = {asked} & {"size", "texture", "color"}
        slots = [s for s in ("color", "size", "texture") if s not in must]
        self.rng.shuffle(slots)
        slots = slots[: 1 + int(self.rng.random() < 0.5)]
        noun = value_in(values, "shape")
        by_name = asked == "shape" or self.rng.random() < shape
        head = self.word(noun) if by_name else "one"
        tail = self._tail(values, slots, position)
        definite = "the " if self.rng.random() < 0.1 else ""
        while True:
            words = self.adjectives(values, must | set(slots), 0.15)
            np = " ".join([*words, head])
            np = definite + np if definite else article(np)
            for end in (tail, ""):
                text = f"{np} {end}".rstrip()
                if length(text) <= budget and (words or by_name or end):
                    return text
            if not slots:
                return np
            slots.pop()

    def _tail(self, values, slots, position):
        texture = value_in(values, "texture")
        if "texture" in slots and texture in _WITH:
            if self.rng.random() < 0.4:
                slots.remove("texture")
                return _WITH[texture]
        if self.rng.random() < position:
            return self.position(values)
        return ""
