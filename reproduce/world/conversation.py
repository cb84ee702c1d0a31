"""The common ground of the two people of a dialog."""

import dataclasses
from typing import NamedTuple

import numpy as np

from reproduce.world.judging import WORD_VALUES
from reproduce.world.judging import Truth
from reproduce.world.odds import zipf
from reproduce.world.scene import SHAPES
from reproduce.world.words import COLUMNS
from reproduce.world.words import ROWS
from reproduce.world.words import SYNONYMS
from reproduce.world.words import VALUES
from reproduce.world.words import plural

# A thing in focus is asked about by pronoun this often.
_PRONOUN_ODDS = 0.86
_STAY_ODDS = 0.8
# Slots that a caption or an existence question may tell about an object.
_LOOKS = ("color", "shape", "size", "texture")
_LOOK_VALUES = frozenset().union(*(VALUES[slot] for slot in _LOOKS))
_POSITION_NAMES = {
    (row, column): f"in the {row} {column}"
    for row in ROWS
    for column in COLUMNS
} | {
    ("middle", "left"): "on the left",
    ("middle", "right"): "on the right",
    ("top", "center"): "at the top",
    ("bottom", "center"): "at the bottom",
    ("middle", "center"): "in the middle",
}


@dataclasses.dataclass
class Entity:
    """A thing, or several alike, that the two have mentioned.

    Args:
        indices: Tuple of integers, the things of the scene.
        noun: String, how it is called: `"ball"`, `"thing"`.
        known: Set of strings, the slots that the questioner knows.
        description: Set of strings, the values it was introduced by.
    """

    indices: tuple[int, ...]
    noun: str
    known: set[str]
    description: frozenset[str] = frozenset()

    @property
    def several(self):
        """True if it takes the plural."""
        return len(self.indices) > 1


class Question(NamedTuple):
    """A question with what its right answers have in common.

    Args:
        text: String, without a question mark, as VisDial stores them.
        target: Tuple of integers, the things that it asks about.
        pronoun: Boolean, whether only the history tells what is asked about.
        focus: `Entity` that the dialog turns to, or None.
    """

    text: str
    kind: str
    truth: Truth
    target: tuple[int, ...] = ()
    pronoun: bool = False
    focus: Entity | None = None


class Conversation:
    """The common ground of a dialog: what was named, what was asked.

    The questioner has only the caption and the answers, so they ask for the
    attributes of what has been mentioned, and about the existence of the
    rest.

    Args:
        caption: String, whose nouns are the first things in focus.
    """

    def __init__(self, scene, caption: str, rng: np.random.Generator):
        self.scene, self.rng = scene, rng
        self.attributes = tuple(
            thing.looks | {*scene.region(i), scene.background}
            for i, thing in enumerate(scene.things)
        )
        self.entities = []
        self.asked = set()
        self.focus = None
        for description in _mentions(caption):
            self.mention(description)
        if self.entities:
            self.focus = self.entities[0]

    def matching(self, description):
        """Indices of the objects that have all values of a description."""
        return tuple(
            i for i, own in enumerate(self.attributes) if description <= own
        )

    def mention(self, description, indices=None):
        """Puts what matches a description in the common ground."""
        indices = indices or self.matching(description)
        if not indices:
            return None
        shape = next((s for s in SHAPES if s in description), None)
        noun = self.zipf(SYNONYMS[shape], 2.5) if shape else "thing"
        known = {slot for slot in _LOOKS if VALUES[slot] & description}
        for entity in self.entities:
            if entity.indices == indices:
                entity.known |= known
                return entity
        entity = Entity(indices, noun, known, description)
        self.entities.append(entity)
        return entity

    def point_out(self):
        """A thing not named so far, by where it is: None if that is vague."""
        named = {e.indices for e in self.entities}
        regions = [self.scene.region(i) for i in range(len(self.attributes))]
        free = [
            i
            for i, region in enumerate(regions)
            if (i,) not in named and regions.count(region) == 1
        ]
        if not free:
            return None
        i = self.pick(free)
        noun = f"thing {_POSITION_NAMES[regions[i]]}"
        entity = Entity((i,), noun, {"position"})
        self.entities.append(entity)
        return entity

    def choose(self, slot=None, single=False):
        """An entity of which `slot` is not known yet, None where none is."""
        fits = [
            e
            for e in self.entities
            if slot not in e.known and not (single and e.several)
        ]
        if not fits:
            return None
        if self.focus in fits and self.rng.random() < _STAY_ODDS:
            return self.focus
        return self.pick(fits)

    def name(self, entity, pronouns=("it", "they")):
        """Noun phrase or pronoun for an entity, and whether it is a pronoun."""
        if entity is self.focus and self.rng.random() < _PRONOUN_ODDS:
            return pronouns[entity.several], True
        twin = self._discussed_twin(entity)
        if twin and self.rng.random() < 0.6:
            return "the other one", True
        noun = plural(entity.noun) if entity.several else entity.noun
        others = [
            e
            for e in self.entities
            if e is not entity and e.noun == entity.noun
        ]
        if others or entity.noun == "thing" or self.rng.random() < 0.2:
            for slot in ("color", "texture", "size"):
                for word in SYNONYMS:
                    if word in VALUES[slot] & entity.description:
                        return f"the {word} {noun}", False
        return "the " + noun, False

    def _discussed_twin(self, entity):
        """Check if the focus is the only other object of the same shape."""
        if not self.focus or entity.several or self.focus.several:
            return False
        if entity is self.focus:
            return False
        shape = self.scene.things[entity.indices[0]].shape
        pair = self.matching({shape})
        return len(pair) == 2 and self.focus.indices[0] in pair

    def values(self, indices, slot):
        """Values that the objects `indices` have in a slot."""
        return frozenset().union(*self.objects(indices)) & VALUES[slot]

    def objects(self, indices):
        """Attributes of the objects `indices`."""
        return tuple(self.attributes[i] for i in indices)

    def pick(self, items):
        """One of `items`, evenly."""
        return items[int(self.rng.random() * len(items))]

    def zipf(self, items, power=1.0):
        """One of `items`, the earlier the likelier."""
        return zipf(self.rng, items, power)


def _mentions(caption):
    """Descriptions of the objects that a caption names, as sets of values."""
    description, mentioned = frozenset(), []
    for word in caption.lower().replace(",", " , ").split():
        claimed = WORD_VALUES.get(word, frozenset()) & _LOOK_VALUES
        if claimed & VALUES["shape"]:
            mentioned.append(description | claimed)
            description = frozenset()
        elif claimed:
            description |= claimed
        elif word not in ("sized", "polka", "dot"):
            description = frozenset()
    return mentioned
