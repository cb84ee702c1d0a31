"""The words of the synthetic world's dialogs and what each of them claims.

Attributes are sets of values: "a big red one" claims `{"large", "red"}`, and
is true of an object if these are a subset of its own.
"""

import enum

from reproduce.world.scenes import BACKGROUNDS
from reproduce.world.scenes import COLUMNS
from reproduce.world.scenes import LOOKS
from reproduce.world.scenes import ROWS
from reproduce.world.scenes import draw

# Absent from every scene, and asked about all the same.
ABSENT = ("people", "trees", "animals", "cars", "buildings", "birds")
SLOTS = {
    **LOOKS,
    "column": COLUMNS,
    "row": ROWS,
    "background": BACKGROUNDS,
    "absent": ABSENT,
}
# No value belongs to two slots; `"position"` stands for two of them.
VALUES = {slot: frozenset(values) for slot, values in SLOTS.items()}
VALUES["position"] = VALUES["column"] | VALUES["row"]
#: All values of looks.
LOOK_VALUES = frozenset().union(*LOOKS.values())
#: Sentence frames that may follow "yes" or "no".
Frame = enum.IntFlag(
    "Frame", "IT_IS THEY_ARE THERE_IS THERE_ARE I_CAN IT_DOES EXISTS"
)
# The first word of each is the usual one; annotators have habits among them.
# fmt: off
SYNONYMS = {
    "ball": ("ball", "sphere"), "box": ("box", "square", "block"),
    "cone": ("cone", "triangle"), "star": ("star",), "heart": ("heart",),
    "cross": ("cross",), "ring": ("ring", "hoop"),
    "moon": ("moon", "crescent"),
    "red": ("red",), "orange": ("orange",), "yellow": ("yellow",),
    "green": ("green",), "blue": ("blue",), "purple": ("purple", "violet"),
    "white": ("white",), "black": ("black",),
    "small": ("small", "little", "tiny"), "medium": ("medium", "average"),
    "large": ("large", "big", "huge"),
    "plain": ("plain", "solid"), "striped": ("striped", "stripy"),
    "dotted": ("dotted", "spotted"),
}
PATTERNS = {
    "plain": ("plain", "solid", "no pattern"),
    "striped": ("striped", "stripes"), "dotted": ("dotted", "dots", "spots"),
}
PLACES = {
    "left": ("on the left", "to the left", "left", "left side"),
    "right": ("on the right", "to the right", "right", "right side"),
    "top": ("at the top", "near the top", "top"),
    "bottom": ("at the bottom", "near the bottom", "bottom"),
    "middle": ("in the middle", "in the center", "middle", "center"),
    "corner": ("{row} {column}", "in the {row} {column}",
               "on the {high} {column}"),
}
GROUNDS = {
    "grass": ("grass", "on grass", "on the grass", "a field", "in a field"),
    "sand": ("sand", "on sand", "on the sand", "a beach", "at the beach"),
    "snow": ("snow", "in the snow", "on snow", "on the snow"),
    "water": ("water", "in the water", "the sea", "on water", "in the sea"),
    "brick": ("brick", "a brick wall", "bricks", "a wall", "on a wall"),
    "night": ("night", "the night sky", "the sky", "at night", "a dark sky"),
}
NUMBERS = (
    "zero one two three four five six seven eight nine".split(),
    "0 1 2 3 4 5 6 7 8 9".split(),
)
# (form, soft, frames): most frequent first, a Zipf law is laid over them.
YES_FORMS = (
    ("yes", 0, 0), ("yes it is", 0, Frame.IT_IS),
    ("yes there is", 0, Frame.THERE_IS), ("yes they are", 0, Frame.THEY_ARE),
    ("yes there are", 0, Frame.THERE_ARE), ("it is", 0, Frame.IT_IS),
    ("i think so", 1, 0), ("yep", 0, 0), ("yes i can", 0, Frame.I_CAN),
    ("there is", 0, Frame.THERE_IS), ("yes it does", 0, Frame.IT_DOES),
    ("looks like it", 1, 0), ("yeah", 0, 0), ("they are", 0, Frame.THEY_ARE),
    ("there are", 0, Frame.THERE_ARE), ("yup", 0, 0), ("i believe so", 1, 0),
    ("it looks like it", 1, 0), ("sure", 0, 0), ("it does", 0, Frame.IT_DOES),
    ("probably", 1, 0), ("definitely", 0, 0), ("yes i think so", 1, 0),
    ("seems so", 1, 0),
)
NO_FORMS = (
    ("no", 0, 0), ("not that i can see", 0, Frame.EXISTS),
    ("no it is not", 0, Frame.IT_IS), ("nope", 0, 0),
    ("not really", 1, Frame.IT_IS | Frame.THEY_ARE | Frame.IT_DOES),
    ("no there isn't", 0, Frame.THERE_IS),
    ("no they are not", 0, Frame.THEY_ARE),
    ("no there aren't", 0, Frame.THERE_ARE), ("i don't think so", 1, 0),
    ("it is not", 0, Frame.IT_IS), ("no it isn't", 0, Frame.IT_IS),
    ("i don't see any", 0, Frame.EXISTS), ("none", 0, Frame.EXISTS),
    ("no i can't", 0, Frame.I_CAN), ("no it does not", 0, Frame.IT_DOES),
    ("no they aren't", 0, Frame.THEY_ARE), ("not that i see", 0, Frame.EXISTS),
    ("not at all", 0, Frame.IT_IS | Frame.THEY_ARE | Frame.IT_DOES),
    ("nah", 0, 0), ("doesn't look like it", 1, 0),
    ("none that i can see", 0, Frame.EXISTS), ("no none", 0, Frame.EXISTS),
)
HEDGES = (
    "can't tell", "i can't tell", "not sure", "i'm not sure", "hard to tell",
    "maybe", "cannot tell", "i don't know", "can't really tell", "hard to say",
    "i cannot tell", "possibly", "no idea", "could be", "can't see it well",
    "it's hard to tell", "don't know", "i can't really see it",
    "it's too small to tell", "it's not clear",
)
# Slips that some annotators make, and what they mean.
TYPOS = {"yelow": "yellow", "teh": "the", "smal": "small"}
# fmt: on


def plural(noun):
    """Several of a noun: `"box"` becomes `"boxes"`."""
    return noun + ("es" if noun[-1] in "sx" else "s")


def article(phrase):
    """A noun phrase with its indefinite article."""
    vowel = phrase[0] in "aeiou" and not phrase.startswith("one")
    return ("an " if vowel else "a ") + phrase


def length(text):
    """Tokens that a string has: words, commas and split contractions."""
    return len(text.split()) + text.count(",") + text.count("'")


def zipf(rng, items, power=1.0):
    """Draws from `items` with odds `1 / rank**power`."""
    odds = {i: 1 / (i + 1) ** power for i in range(len(items))}
    return items[draw(rng, odds)]
