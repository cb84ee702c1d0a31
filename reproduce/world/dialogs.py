"""Ten rounds of questions and answers about a scene.

The questioner has only the caption and the answers. They ask for attributes of
what has been mentioned, and about the existence of the rest.
"""

import dataclasses
from typing import NamedTuple

import numpy as np

from reproduce.world.answers import Annotator
from reproduce.world.answers import value_in
from reproduce.world.judging import NO
from reproduce.world.judging import SUBJECTIVE
from reproduce.world.judging import UNSURE
from reproduce.world.judging import WORD_VALUES
from reproduce.world.judging import YES
from reproduce.world.judging import Truth
from reproduce.world.scenes import BACKGROUNDS
from reproduce.world.scenes import CAMOUFLAGE
from reproduce.world.scenes import COLOR_ODDS
from reproduce.world.scenes import COLORS
from reproduce.world.scenes import COLUMNS
from reproduce.world.scenes import LOOKS
from reproduce.world.scenes import ROWS
from reproduce.world.scenes import SHAPES
from reproduce.world.scenes import TEXTURE_ODDS
from reproduce.world.scenes import draw
from reproduce.world.words import ABSENT
from reproduce.world.words import LOOK_VALUES
from reproduce.world.words import SYNONYMS
from reproduce.world.words import VALUES
from reproduce.world.words import Frame
from reproduce.world.words import article
from reproduce.world.words import plural
from reproduce.world.words import zipf

ROUNDS = 10
_WRONG_ODDS = 0.03
# A thing in focus is asked about by pronoun this often.
_PRONOUN_ODDS = 0.86
_STAY_ODDS = 0.8
# A wish for "yes" fails more often, where all that is there is known.
_EXISTS_ODDS, _YES_ODDS = 0.57, 0.5
# Once the colors of all that was named are known, one may ask for that of a
# thing by its place.
_POINT_ODDS = 0.4
# fmt: off
# Share of scenes that hold such a thing, by a count over 6,000 scenes. What is
# asked for is drawn so that every shape and every color is asked for as often
# where it is as where it is not: a question that is mostly answered "yes" for
# one shape and "no" for another can be answered without a look at the image.
SHAPE_PRESENCE = {
    "ball": 0.74, "box": 0.69, "star": 0.55, "cone": 0.50, "heart": 0.41,
    "ring": 0.33, "cross": 0.29, "moon": 0.20,
}
COLOR_PRESENCE = {
    "red": 0.69, "blue": 0.55, "yellow": 0.41, "green": 0.41, "white": 0.34,
    "black": 0.29, "orange": 0.22, "purple": 0.19,
}
_POSITION_NAMES = {
    (row, column): f"in the {row} {column}" for row in ROWS
    for column in COLUMNS
} | {
    ("middle", "left"): "on the left", ("middle", "right"): "on the right",
    ("top", "center"): "at the top", ("bottom", "center"): "at the bottom",
    ("middle", "center"): "in the middle",
}
_ONE = (
    ("is there {np}", Frame.THERE_IS | Frame.EXISTS),
    ("do you see {np}", Frame.EXISTS),
    ("is there {np} in the picture", Frame.THERE_IS | Frame.EXISTS),
    ("can you see {np}", Frame.I_CAN | Frame.EXISTS),
    ("is there also {np}", Frame.THERE_IS | Frame.EXISTS),
    ("is there {np} anywhere", Frame.THERE_IS | Frame.EXISTS),
)
_MANY = (
    ("are there any {nps}", Frame.THERE_ARE | Frame.EXISTS),
    ("any {nps}", Frame.THERE_ARE | Frame.EXISTS),
    ("do you see any {nps}", Frame.EXISTS),
    ("can you see any {nps}", Frame.I_CAN | Frame.EXISTS),
    ("are there {nps}", Frame.THERE_ARE | Frame.EXISTS),
    ("are there any {nps} in the picture", Frame.THERE_ARE | Frame.EXISTS),
)
_COUNT = (
    "how many {nps} are there", "how many {nps} do you see", "how many {nps}",
    "how many {nps} are in the picture", "how many {nps} can you see",
)
_TASTE = (
    "is it a nice picture", "does {x} look heavy", "is the picture clear",
    "is it a pretty picture", "does {x} look new", "is it a close up",
    "do you like the picture", "does {x} look soft", "is {x} shiny",
    "does it look like a drawing",
)
_COLOR = (
    "what color {be} {x}", "what color {be} {x}", "what's the color of {y}",
    "which color {be} {x}", "and what color {be} {x}",
    "can you tell me what color {x} {be}",
)
_SIZE = ("what size {be} {x}", "how big {be} {x}", "how large {be} {x}")
_TEXTURE = (
    "what pattern {do} {x} have", "what does the pattern on {y} look like",
    "what kind of pattern {be} on {y}",
)
_HAS = {
    "plain": ("{be} {x} plain", "{be} {x} a solid color", "{be} {x} all plain"),
    "striped": ("{be} {x} striped", "{do} {x} have stripes"),
    "dotted": ("{be} {x} dotted", "{do} {x} have dots", "{be} {x} spotted"),
}
_GROUND_OPEN = (
    "where are they", "what is the background", "what is in the background",
    "where is this", "what are they on", "what's behind them",
)
_GROUND_POLAR = {
    "grass": ("is there any grass", "are they on grass", "is it a field"),
    "sand": ("is there any sand", "is it a beach", "are they on sand"),
    "snow": ("is there any snow", "are they in the snow", "is it snowy"),
    "water": ("is there any water", "are they in the water"),
    "brick": ("is there a wall", "is there a brick wall"),
    "night": ("is it night", "can you see the sky", "is the sky dark"),
}
_WHERE = (
    "where is {x}", "where in the picture is {x}",
    "what part of the picture is {x} in",
)
# Phrase, the values that it claims, and the slot that it is about.
_IN = (
    ("on the left", {"left"}, "column"), ("on the right", {"right"}, "column"),
    ("at the top", {"top"}, "row"), ("at the bottom", {"bottom"}, "row"),
    ("in the middle", {"center", "middle"}, "position"),
)
_BESIDE = {
    "near": ("what is next to {x}", "what is near {x}"),
    "left": ("what is to the left of {x}", "what is left of {x}"),
    "right": ("what is to the right of {x}", "what is right of {x}"),
    "above": ("what is above {x}", "is there anything above {x}"),
    "below": ("what is below {x}", "what is under {x}"),
    "in_front": ("what is in front of {x}",),
    "behind": ("what is behind {x}",),
}
_BETWEEN = {
    "near": ("is {x} next to {y}", "is {x} near {y}", "is {x} close to {y}"),
    "left": ("is {x} left of {y}", "is {x} to the left of {y}"),
    "right": ("is {x} right of {y}", "is {x} to the right of {y}"),
    "above": ("is {x} above {y}",), "below": ("is {x} below {y}",),
    "in_front": ("is {x} in front of {y}",),
    "overlaps": ("is {x} touching {y}", "does {x} overlap {y}"),
}
# fmt: on


class Round(NamedTuple):
    """A question, its truth, and the annotator's answer.

    Args:
        question: String, without a question mark, as VisDial stores them.
        kind: String, a kind of question: `"color"`, `"existence"`, ...
        truth: `Truth`, by which `judge()` grades any other answer.
        target: Tuple of integers, the things of the scene that are asked
            about.
        pronoun: Boolean, whether only the history tells what is meant.
    """

    question: str
    kind: str
    truth: Truth
    target: tuple[int, ...]
    pronoun: bool
    answer: str


@dataclasses.dataclass(frozen=True)
class WorldDialog:
    """A caption and the dialog that follows from it.

    Args:
        caption: String, all that the questioner has seen.
    """

    caption: str
    rounds: list[Round]


def make_dialog(
    scene, caption: str, rng: np.random.Generator, easy: bool = False
) -> WorldDialog:
    """Simulates a dialog between a questioner and an annotator.

    The questioner has seen the caption, and the annotator sees the scene.

    Args:
        caption: String; the things it names may be asked about by pronoun.
        easy: Boolean, whether to ask about existence, number and color alone.

    Example:

    >>> from reproduce.world import Scene, Thing
    >>> from reproduce.world.dialogs import make_dialog
    >>> ball = Thing("ball", "red", "large", "plain", 20.0, 30.0, 9.0)
    >>> rng = np.random.default_rng(0)
    >>> dialog = make_dialog(Scene("grass", (ball,)), "a ball on grass", rng)
    >>> len(dialog.rounds)
    10
    """
    talk = Conversation(scene, caption, rng)
    annotator = Annotator(rng)
    played, kinds = {}, _EASY_KINDS if easy else _KINDS
    while len(played) < ROUNDS:
        question = draw(rng, kinds)(talk)
        if question is None or question.text in played:
            continue
        talk.focus = question.focus or talk.focus
        if question.truth.doubt == 0 and rng.random() < _doubt(scene, question):
            truth = question.truth._replace(doubt=UNSURE)
            question = question._replace(truth=truth)
        spoken = question
        if rng.random() < _WRONG_ODDS:
            spoken = question._replace(truth=_mistaken(question.truth, rng))
        *asked, _ = question
        played[question.text] = Round(*asked, annotator.answer(spoken))
    return WorldDialog(caption, list(played.values()))


def _doubt(scene, question):
    """Chance that an honest annotator cannot tell."""
    if question.kind in ("count", "ground"):
        return 0.015
    if not question.target or question.kind == "existence":
        return 0.035
    i = question.target[0]
    thing = scene.things[i]
    chance = 0.035 + 0.6 * (1 - scene.visible(i))
    chance += 0.06 * (thing.size == "small")
    chance += 0.18 * (thing.color in CAMOUFLAGE[scene.background])
    return chance


def _mistaken(truth, rng):
    """The truth of another scene, for an annotator who slips."""
    if truth.polarity:
        # Without things to describe: details would give the slip away.
        return truth._replace(polarity=YES + NO - truth.polarity, objects=())
    if truth.number > 0:
        return truth._replace(number=max(1, truth.number - 1))
    if truth.slot == "color":
        wrong = frozenset([COLORS[int(rng.random() * len(COLORS))]])
        objects = [own - VALUES["color"] | wrong for own in truth.objects]
        return truth._replace(value=wrong, objects=tuple(objects))
    return truth


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
    """A question, as in a `Round`.

    Args:
        focus: `Entity` that the dialog turns to, or None.
    """

    text: str
    kind: str
    truth: Truth
    target: tuple[int, ...] = ()
    pronoun: bool = False
    focus: Entity | None = None


class Conversation:
    """The common ground of a dialog: things named and questions asked.

    Args:
        caption: String, whose nouns are the first things in focus.
    """

    def __init__(self, scene, caption: str, rng: np.random.Generator):
        self.scene, self.rng = scene, rng
        self.attributes = tuple(
            thing.looks | {*scene.region(i), scene.background}
            for i, thing in enumerate(scene.things)
        )
        self.entities, self.asked = [], set()
        for description in _mentions(caption):
            self.mention(description)
        self.focus = self.entities[0] if self.entities else None

    def is_new(self, key):
        """Check whether something was not asked, and note that it is now."""
        new = key not in self.asked
        self.asked.add(key)
        return new

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
        shape = value_in(description, "shape")
        noun = self.zipf(SYNONYMS[shape], 2.5) if shape else "thing"
        known = {slot for slot in LOOKS if VALUES[slot] & description}
        for entity in self.entities:
            if entity.indices == indices:
                entity.known |= known
                return entity
        return self._added(Entity(indices, noun, known, description))

    def _added(self, entity):
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
        return self._added(Entity((i,), noun, {"position"}))

    def choose(self, slot=None, single=False):
        """An entity of which `slot` is not known yet, None where none is."""
        fits = [
            e
            for e in self.entities
            if slot not in e.known and not (single and e.several)
        ]
        if not fits:
            return None
        if self.focus in fits and self.chance(_STAY_ODDS):
            return self.focus
        return self.pick(fits)

    def name(self, entity):
        """Noun phrase or pronoun for an entity, and whether it is a pronoun."""
        if entity is self.focus and self.chance(_PRONOUN_ODDS):
            return "they" if entity.several else "it", True
        if self._discussed_twin(entity) and self.chance(0.6):
            return "the other one", True
        noun = plural(entity.noun) if entity.several else entity.noun
        alike = any(
            e is not entity and e.noun == entity.noun for e in self.entities
        )
        if alike or entity.noun == "thing" or self.chance(0.2):
            for slot in ("color", "texture", "size"):
                word = value_in(entity.description, slot)
                if word:
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

    def objects(self, indices):
        """Attributes of the objects `indices`."""
        return tuple(self.attributes[i] for i in indices)

    def chance(self, odds):
        """True with some probability."""
        return self.rng.random() < odds

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
        claimed = WORD_VALUES.get(word, frozenset()) & LOOK_VALUES
        if claimed & VALUES["shape"]:
            mentioned.append(description | claimed)
            description = frozenset()
        elif claimed:
            description |= claimed
        elif word not in ("sized", "polka", "dot"):
            description = frozenset()
    return mentioned


def _existence(talk):
    """Ask whether there is an object of some kind, evenly yes and no."""
    wanted = talk.chance(_EXISTS_ODDS)
    for _ in range(8):
        topic, noun, many = _existence_topic(talk, wanted)
        matches = talk.matching(topic)
        known = any(e.indices == matches for e in talk.entities)
        if ("exist", topic) in talk.asked or (known and matches):
            continue
        if bool(matches) != wanted:
            continue
        talk.is_new(("exist", topic))
        text, frames = talk.zipf(_MANY if many else _ONE, 1.2)
        if many and len(matches) == 1:
            frames |= Frame.THERE_IS
        truth = Truth(
            YES if matches else NO,
            topic=topic,
            number=len(matches),
            frames=frames,
            objects=talk.objects(matches) or talk.attributes,
        )
        text = text.format(np=article(noun), nps=noun)
        focus = talk.mention(topic, matches) if matches else None
        return Question(text, "existence", truth, matches, focus=focus)
    return None


def _existence_topic(talk, wanted):
    """Values, noun phrase and number of a kind of object."""
    kind = talk.rng.random()
    if kind < 0.08 and not wanted:
        noun = talk.zipf(ABSENT)
        return frozenset([noun]), noun, True
    things = talk.scene.things
    if kind > 0.9:
        there = {t.color for t in things}
        color = draw_topic(talk.rng, COLOR_PRESENCE, there, wanted)
        noun, topic = f"{color} thing", frozenset([color])
    else:
        there = {t.shape for t in things}
        # A red ball that is not there may be a ball that is not red.
        present = wanted or kind > 0.85
        shape = draw_topic(talk.rng, SHAPE_PRESENCE, there, present)
        if shape is None:
            shape = talk.pick(SHAPES)
        noun, topic = talk.zipf(SYNONYMS[shape], 2.5), frozenset([shape])
        if kind > 0.8:
            color = draw(talk.rng, COLOR_ODDS)
            if wanted:
                color = talk.pick([t.color for t in things if t.shape == shape])
            noun, topic = f"{color} {noun}", topic | {color}
    many = talk.chance(0.5)
    # The head of the phrase is its last word.
    return topic, plural(noun) if many else noun, many


def draw_topic(rng: np.random.Generator, presence: dict, present, wanted: bool):
    """Draws a value to ask the existence of, evenly over the values.

    ```
    p(value | it is there) = p(value | it is not)
    ```

    but for what two values of one scene do to each other.

    Returns:
        A value, or `None` where the scene has no such one.
    """
    odds = {
        value: 1 / share if wanted else 1 / (1 - share)
        for value, share in presence.items()
        if (value in present) == wanted
    }
    return draw(rng, odds) if odds else None


def _count(talk):
    """Ask for the number of objects, in all or of a group."""
    draw = talk.rng.random()
    # One asks for the number of what may well come more than once.
    thing = max(
        (talk.pick(talk.scene.things) for _ in range(2)),
        key=lambda t: len(talk.scene.find(color=t.color)),
    )
    if draw < 0.3:
        noun, topic = talk.zipf(("things", "shapes", "objects")), frozenset()
    elif draw < 0.6:
        noun = plural(talk.zipf(SYNONYMS[thing.shape], 2.5))
        topic = frozenset([thing.shape])
    else:
        value = thing.color if draw < 0.85 else thing.texture
        if 0.85 <= draw < 0.9:
            value = talk.pick(COLORS)
        noun, topic = f"{value} things", frozenset([value])
    if not talk.is_new(("count", topic)):
        return None
    matches = talk.matching(topic)
    text, pronoun = talk.zipf(_COUNT).format(nps=noun), False
    of_all = ("count", frozenset()) in talk.asked and topic - VALUES["shape"]
    if of_all and talk.chance(0.6):
        text, pronoun = f"how many of them are {noun.split()[0]}", True
    focus = talk.mention(topic, matches) if topic and matches else None
    if not topic:
        focus = Entity(matches, "thing", set())
    objects = talk.objects(matches)
    truth = Truth(topic=topic, number=len(matches), objects=objects)
    return Question(text, "count", truth, matches, pronoun, focus)


def _taste(talk):
    """Ask a question that the scene does not answer."""
    form = talk.zipf(_TASTE, 0.7)
    if not talk.is_new(form):
        return None
    entity = talk.choose(single=True)
    named = "{x}" in form
    if entity is None and named:
        return None
    x, pronoun = talk.name(entity) if named else ("", False)
    truth = Truth(
        YES if talk.chance(0.5) else NO,
        frames=Frame.IT_DOES if form.startswith("do") else Frame.IT_IS,
        doubt=SUBJECTIVE,
        objects=talk.objects(entity.indices) if entity else talk.attributes,
    )
    target = entity.indices if named else ()
    return Question(form.format(x=x), "taste", truth, target, pronoun)


def _color(talk):
    """Ask for a color, or which of two it is."""
    entity = _of_unknown_color(talk)
    if entity is None:
        return None
    if not talk.chance(0.12):
        return _attribute(talk, entity, "color", talk.zipf(_COLOR, 1.2))
    right = talk.scene.things[entity.indices[0]].color
    other = talk.zipf([c for c in COLORS if c != right], 0.5)
    pair = (right, other) if talk.chance(0.5) else (other, right)
    return _attribute(talk, entity, "color", "{be} {x} " + " or ".join(pair))


def _is_color(talk):
    """Ask whether an object has a color."""
    entity = _of_unknown_color(talk)
    if entity is None:
        return None
    color = talk.scene.things[entity.indices[0]].color
    # A no is followed by another guess more often than a yes is.
    if not talk.chance(_YES_ODDS + 0.07):
        others = {c: o for c, o in COLOR_ODDS.items() if c != color}
        color = draw(talk.rng, others)
    form = talk.zipf(("{be} {x} ", "{be} {x} ", "so {be} {x} ")) + color
    return _attribute(talk, entity, "color", form, color, "is_color")


def _of_unknown_color(talk):
    entity = talk.choose("color")
    if entity is None and talk.chance(_POINT_ODDS):
        entity = talk.point_out()
    return entity


def _size(talk):
    """Ask for the size of an object, or whether it is large."""
    entity = talk.choose("size")
    if entity is None:
        return None
    draw = talk.rng.random()
    if draw < 0.38:
        return _attribute(talk, entity, "size", talk.zipf(_SIZE))
    if draw < 0.5:
        return _attribute(talk, entity, "size", "{be} {x} big or small")
    size = talk.pick(("large", "small"))
    if talk.scene.things[entity.indices[0]].size == "large":
        size = "large"
    words = {"large": ("big", "large"), "small": ("small", "tiny")}
    form = "{be} {x} " + words[size][draw > 0.9]
    return _attribute(talk, entity, "size", form, size)


def _texture(talk):
    """Ask for the pattern of an object, or whether it has one."""
    entity = talk.choose("texture")
    if entity is None:
        return None
    if talk.chance(0.37):
        return _attribute(talk, entity, "texture", talk.zipf(_TEXTURE))
    texture = talk.scene.things[entity.indices[0]].texture
    if not talk.chance(_YES_ODDS):
        others = {t: o for t, o in TEXTURE_ODDS.items() if t != texture}
        texture = draw(talk.rng, others)
    form = talk.zipf(_HAS[texture])
    return _attribute(talk, entity, "texture", form, texture)


def _attribute(talk, entity, slot, form, claimed=None, kind=None):
    """An attribute question: open, or polar where a value is claimed."""
    kind = kind or slot
    if not talk.is_new((kind, entity.indices, form)):
        return None
    x, pronoun = talk.name(entity)
    text = form.format(
        x=x,
        y={"they": "them"}.get(x, x),
        be="are" if entity.several else "is",
        do="do" if entity.several else "does",
    )
    frames = Frame.THEY_ARE if entity.several else Frame.IT_IS
    if text.startswith(("does", "do ")):
        frames = Frame.IT_DOES
    objects = talk.objects(entity.indices)
    value = frozenset().union(*objects) & VALUES[slot]
    polarity = 0
    if claimed:
        polarity = YES if value == {claimed} else NO
    # A flat "no" leaves the value open, and worth asking for.
    if polarity != NO:
        entity.known.add(slot)
    truth = Truth(polarity, slot, value, frames=frames, objects=objects)
    return Question(text, kind, truth, entity.indices, pronoun, entity)


def _ground(talk):
    """Ask for the background, or whether it is one in particular."""
    ground = talk.scene.background
    value, objects = frozenset([ground]), talk.attributes
    if talk.chance(0.42):
        if not talk.is_new("ground"):
            return None
        text = talk.zipf(_GROUND_OPEN)
        truth = Truth(0, "background", value, objects=objects)
        return Question(text, "ground", truth, pronoun="the" not in text)
    if talk.chance(0.52):
        ground = talk.pick([b for b in BACKGROUNDS if b != ground])
    if "ground" in talk.asked or not talk.is_new(("ground", ground)):
        return None
    if ground in value:
        talk.is_new("ground")
    text = talk.zipf(_GROUND_POLAR[ground])
    frames = {
        "is there": Frame.THERE_IS | Frame.EXISTS,
        "are they": Frame.THEY_ARE,
        "can you ": Frame.I_CAN | Frame.EXISTS,
    }.get(text[:8], Frame.IT_IS)
    topic, polarity = frozenset([ground]), YES if ground in value else NO
    truth = Truth(polarity, "background", value, topic, -1, frames, 0, objects)
    return Question(text, "ground", truth)


def _position(talk):
    """Ask for the position of an object in the picture."""
    entity = talk.choose("position", single=True)
    if entity is None:
        return None
    own = talk.attributes[entity.indices[0]]
    draw = talk.rng.random()
    x, pronoun = talk.name(entity)
    slot, value, polarity, frames = "position", frozenset(), 0, Frame(0)
    if draw < 0.4:
        text = talk.zipf(_WHERE, 1.5).format(x=x)
    elif draw < 0.5:
        text = f"is {x} on the left or the right"
        slot, value = "column", own & VALUES["column"]
    else:
        asked = talk.pick(_IN)
        # The wanted answer is often yes, so ask what is likely to hold.
        if talk.chance(0.3):
            asked = next((p for p in _IN if p[1] <= own), asked)
        phrase, claimed, slot = asked
        value, frames = own & VALUES[slot], Frame.IT_IS
        polarity = YES if claimed <= own else NO
        text = f"is {x} {phrase}"
    if not talk.is_new(("position", entity.indices, text[-6:])):
        return None
    if polarity != NO:
        entity.known.add("position")
    truth = Truth(polarity, slot, value, frames=frames, objects=(own,))
    return Question(text, "position", truth, entity.indices, pronoun, entity)


def _relation(talk):
    """Ask for the neighbors of an object, or for the relation of two."""
    entity = talk.choose(single=True)
    if entity is None:
        return None
    i = entity.indices[0]
    others = [
        e
        for e in talk.entities
        if e is not entity and not e.several and e.indices[0] != i
    ]
    if others and talk.chance(0.62):
        return _between(talk, entity, talk.pick(others))
    side = talk.zipf(tuple(_BESIDE), 0.4)
    indices = range(len(talk.attributes))
    around = [talk.scene.relation(j, i) for j in indices]
    if talk.chance(0.6):
        # Who asks has a sense of where other things may be.
        held = [s for s in _BESIDE if any(s in held for held in around)]
        side = talk.pick(held or [side])
    if not talk.is_new((side, i)):
        return None
    # The nearest comes first: that is what an annotator names.
    own, things = talk.scene.things[i], talk.scene.things
    beside = [j for j in indices if j != i and side in around[j]]
    beside.sort(key=lambda j: own.distance(things[j]))
    x, pronoun = talk.name(entity)
    text = talk.zipf(_BESIDE[side]).format(x=x)
    truth = Truth(slot="shape", number=-1 if beside else 0)
    if text.startswith("is"):
        frames = Frame.THERE_IS | Frame.EXISTS
        truth = Truth(YES if beside else NO, frames=frames)
    truth = truth._replace(objects=talk.objects(beside))
    return Question(text, "relation", truth, (i,), pronoun, entity)


def _between(talk, entity, other):
    """Ask for the relation of two objects."""
    i, j = entity.indices[0], other.indices[0]
    relations = talk.scene.relation(i, j)
    sides = tuple(_BETWEEN)
    side = talk.pick(sides)
    if relations and talk.chance(0.25):
        side = talk.pick([s for s in sides if s in relations] or sides)
    if not talk.is_new((side, i, j)):
        return None
    x, pronoun = talk.name(entity)
    y, referred = talk.name(other)
    text = talk.zipf(_BETWEEN[side]).format(x=x, y=y)
    frames = Frame.IT_DOES if text.startswith("does") else Frame.IT_IS
    objects = talk.objects((i,))
    polarity = YES if side in relations else NO
    truth = Truth(polarity, frames=frames, objects=objects)
    pronoun = pronoun or referred
    return Question(text, "relation", truth, (i, j), pronoun, entity)


# How often each kind is asked; a kind with nothing to ask about is redrawn,
# so the realized shares lie a little off.
_KINDS = {
    _existence: 0.36,
    _color: 0.31,
    _is_color: 0.14,
    _ground: 0.07,
    _position: 0.08,
    _relation: 0.06,
    _size: 0.05,
    _texture: 0.055,
    _count: 0.075,
    _taste: 0.035,
}
_EASY = (_existence, _color, _is_color, _count)
_EASY_KINDS = {kind: _KINDS[kind] for kind in _EASY}
