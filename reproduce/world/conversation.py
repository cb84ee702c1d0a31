"""What the two people of a dialog know and talk about."""

import bisect
import dataclasses
import functools
import itertools
from typing import NamedTuple

from reproduce.world.judging import WORD_BITS
from reproduce.world.judging import Truth
from reproduce.world.scene import SHAPES
from reproduce.world.words import BITS
from reproduce.world.words import COLUMNS
from reproduce.world.words import MASKS
from reproduce.world.words import PLACE
from reproduce.world.words import ROWS
from reproduce.world.words import SYNONYMS
from reproduce.world.words import plural

# A thing in focus is asked about by pronoun this often.
_PRONOUN_ODDS = 0.86
_STAY_ODDS = 0.8
# Slots of what a caption or an existence question tells about a thing.
_TOLD = MASKS["color"] | MASKS["shape"] | MASKS["size"] | MASKS["texture"]
_PLACE_NAMES = {
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
        told: Integer, masks of the slots that the questioner knows.
        bits: Integer, the description it was introduced by.
    """

    indices: tuple[int, ...]
    noun: str
    told: int
    bits: int

    @property
    def several(self):
        """Whether it takes the plural."""
        return len(self.indices) > 1


class Question(NamedTuple):
    """A question with what its right answers have in common.

    Args:
        text: String, without a question mark, as VisDial stores them.
        kind: String, see `KIND_ODDS`.
        truth: `Truth`.
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
        scene: `Scene`.
        caption: String, whose nouns are the first things in focus.
        rng: `np.random.Generator`.
    """

    def __init__(self, scene, caption, rng):
        self.scene, self.rng = scene, rng
        ground = BITS[scene.background]
        self.facts = tuple(
            BITS[thing.shape]
            | BITS[thing.color]
            | BITS[thing.size]
            | BITS[thing.texture]
            | BITS[scene.region(i)[0]]
            | BITS[scene.region(i)[1]]
            | ground
            for i, thing in enumerate(scene.things)
        )
        self.entities = []
        self.asked = set()
        self.focus = None
        for bits in _mentions(caption):
            self.mention(bits)
        if self.entities:
            self.focus = self.entities[0]

    def matching(self, bits):
        """Indices of the things that have all of the attributes in `bits`."""
        return tuple(i for i, fact in enumerate(self.facts) if not bits & ~fact)

    def mention(self, bits, indices=None):
        """Puts what matches a description in the common ground."""
        indices = indices or self.matching(bits)
        if not indices:
            return None
        shape = next((s for s in SHAPES if BITS[s] & bits), None)
        noun = self.zipf(SYNONYMS[shape], 2.5) if shape else "thing"
        told = sum(m for m in MASKS.values() if m & bits & _TOLD)
        for entity in self.entities:
            if entity.indices == indices:
                entity.told |= told
                return entity
        entity = Entity(indices, noun, told, bits)
        self.entities.append(entity)
        return entity

    def point_out(self):
        """A thing not named so far, by where it is: None if that is vague."""
        things = range(len(self.facts))
        named = {e.indices for e in self.entities}
        places = [self.scene.region(i) for i in things]
        free = [
            i
            for i in things
            if (i,) not in named and places.count(places[i]) == 1
        ]
        if not free:
            return None
        i = self.pick(free)
        entity = Entity((i,), f"thing {_PLACE_NAMES[places[i]]}", PLACE, 0)
        self.entities.append(entity)
        return entity

    def choose(self, slot=0, single=False):
        """An entity of which `slot` is not known yet, None where none is."""
        fits = [
            e
            for e in self.entities
            if not (e.told & slot) and not (single and e.several)
        ]
        if not fits:
            return None
        if self.focus in fits and self.rng.random() < _STAY_ODDS:
            return self.focus
        return self.pick(fits)

    def name(self, entity, pronouns=("it", "they")):
        """How a question refers to an entity, and whether by pronoun."""
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
                    if BITS[word] & MASKS[slot] & entity.bits:
                        return f"the {word} {noun}", False
        return "the " + noun, False

    def _discussed_twin(self, entity):
        """Whether the focus is the only other thing of the same shape."""
        if not self.focus or entity.several or self.focus.several:
            return False
        if entity is self.focus:
            return False
        shape = self.facts[entity.indices[0]] & MASKS["shape"]
        pair = self.matching(shape)
        return len(pair) == 2 and self.focus.indices[0] in pair

    def union(self, indices, mask):
        """Bits that the things `indices` have in the slot `mask`."""
        bits = 0
        for i in indices:
            bits |= self.facts[i] & mask
        return bits

    def refs(self, indices):
        """Attribute bits of the things `indices`."""
        return tuple(self.facts[i] for i in indices)

    def pick(self, items):
        """One of `items`, evenly."""
        return items[int(self.rng.random() * len(items))]

    def zipf(self, items, power=1.0):
        """One of `items`, the earlier the likelier."""
        return zipf(self.rng, items, power)


def zipf(rng, items, power=1.0):
    """Draws from `items` with odds `1 / rank**power`."""
    totals = _zipf_totals(len(items), power)
    return items[bisect.bisect(totals, rng.random() * totals[-1])]


@functools.lru_cache(maxsize=256)
def _zipf_totals(count, power):
    odds = (1 / (rank + 1) ** power for rank in range(count))
    return tuple(itertools.accumulate(odds))


def _mentions(caption):
    """Descriptions, as bits, of the things that a caption names."""
    bits, found = 0, []
    for word in caption.lower().replace(",", " , ").split():
        claimed = WORD_BITS.get(word, 0) & _TOLD
        if claimed & MASKS["shape"]:
            found.append(bits | claimed)
            bits = 0
        elif claimed:
            bits |= claimed
        elif word not in ("sized", "polka", "dot"):
            bits = 0
    return found
