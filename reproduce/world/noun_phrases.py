"""How an annotator describes a thing: "a big red one on the left"."""

from reproduce.world.conversation import zipf
from reproduce.world.words import BITS
from reproduce.world.words import MASKS
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


def value_in(bits, slot):
    """The value that `bits` have in a slot, None where they have none."""
    return next((v for v in SLOTS[slot] if BITS[v] & bits), None)


class NounPhrases:
    """Descriptions of things in the words that one annotator favors.

    Args:
        rng: `np.random.Generator`.
    """

    def __init__(self, rng):
        self.rng = rng
        self._habits = {}

    def word(self, value):
        """The annotator's usual word for an attribute value."""
        if value not in self._habits:
            self._habits[value] = zipf(self.rng, SYNONYMS[value], 1.3)
        return self._habits[value]

    def place(self, bits, brief=False):
        """Where a thing is: `"on the left"`, briefly `"left"`."""
        row, column = value_in(bits, "row"), value_in(bits, "column")
        if row == "middle" and column == "center":
            return self._place("middle", brief)
        if row == "middle":
            return self._place(column, brief)
        if column == "center":
            return self._place(row, brief)
        if self.rng.random() < 0.5:
            high = "upper" if row == "top" else "lower"
            forms = PLACES["corner"]
            forms = forms[:1] if brief else forms[1:]
            form = zipf(self.rng, forms)
            return form.format(row=row, high=high, column=column)
        return self._place(row if self.rng.random() < 0.3 else column, brief)

    def _place(self, name, brief):
        forms = PLACES[name]
        if brief:
            return zipf(self.rng, forms[2:], 2.0)
        full = [form for form in forms if " the " in form]
        return zipf(self.rng, full, 1.3)

    def adjectives(self, bits, slots, tint=0.0):
        """Attribute words in English order: size, pattern, color."""
        words = []
        for slot in ("size", "texture", "color"):
            value = value_in(bits, slot)
            if slot not in slots or (value == "plain" and slots != {slot}):
                continue
            if slot == "color" and value in _TINTS:
                if self.rng.random() < tint:
                    words.append(zipf(self.rng, _TINTS[value]))
            words.append(self.word(value))
        return words

    def phrase(self, bits, budget, asked=0, shape=0.35, place=0.55):
        """Describes a thing with two or three details that are true of it.

        Args:
            bits: Integer, the thing's attributes.
            budget: Integer, tokens that may be used.
            asked: Integer, mask of a slot that must be named.
            shape: Float, how often the thing is called by its noun.
            place: Float, how often it is said where it is.

        Returns:
            String; details that would not fit are left out, none is cut.
        """
        must = {s for s in ("size", "texture", "color") if MASKS[s] == asked}
        slots = [s for s in ("color", "size", "texture") if s not in must]
        self.rng.shuffle(slots)
        slots = slots[: 1 + int(self.rng.random() < 0.5)]
        noun = value_in(bits, "shape")
        by_name = asked == MASKS["shape"] or self.rng.random() < shape
        head = self.word(noun) if by_name else "one"
        tail = self._tail(bits, slots, place)
        definite = "the " if self.rng.random() < 0.1 else ""
        while True:
            words = self.adjectives(bits, must | set(slots), 0.15)
            np = " ".join([*words, head])
            np = definite + np if definite else article(np)
            for end in (tail, ""):
                text = f"{np} {end}".rstrip()
                if length(text) <= budget and (words or by_name or end):
                    return text
            if not slots:
                return np
            slots.pop()

    def _tail(self, bits, slots, place):
        texture = value_in(bits, "texture")
        if "texture" in slots and texture in _WITH:
            if self.rng.random() < 0.4:
                slots.remove("texture")
                return _WITH[texture]
        if self.rng.random() < place:
            return self.place(bits)
        return ""
