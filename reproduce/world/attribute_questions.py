"""Questions about a thing: its color, size, pattern, position and relations."""

from reproduce.world.conversation import Question
from reproduce.world.judging import Truth
from reproduce.world.judging import polarity_of
from reproduce.world.odds import draw
from reproduce.world.sampler import COLOR_ODDS
from reproduce.world.sampler import TEXTURE_ODDS
from reproduce.world.scene import BACKGROUNDS
from reproduce.world.scene import COLORS
from reproduce.world.words import VALUES
from reproduce.world.words import Frame

_YES_ODDS = 0.5
# Once the colors of all that was named are known, one may ask for that of a
# thing by its place.
_POINT_ODDS = 0.4
_COLOR = (
    "what color {be} {x}",
    "what color {be} {x}",
    "what's the color of {y}",
    "which color {be} {x}",
    "and what color {be} {x}",
    "can you tell me what color {x} {be}",
)
_SIZE = ("what size {be} {x}", "how big {be} {x}", "how large {be} {x}")
_TEXTURE = (
    "what pattern {do} {x} have",
    "what does the pattern on {y} look like",
    "what kind of pattern {be} on {y}",
)
_HAS = {
    "plain": ("{be} {x} plain", "{be} {x} a solid color", "{be} {x} all plain"),
    "striped": ("{be} {x} striped", "{do} {x} have stripes"),
    "dotted": ("{be} {x} dotted", "{do} {x} have dots", "{be} {x} spotted"),
}
_GROUND_OPEN = (
    "where are they",
    "what is the background",
    "what is in the background",
    "where is this",
    "what are they on",
    "what's behind them",
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
    "where is {x}",
    "where in the picture is {x}",
    "what part of the picture is {x} in",
)
# Phrase, the values that it claims, and the slot that it is about.
_IN = (
    ("on the left", {"left"}, "column"),
    ("on the right", {"right"}, "column"),
    ("at the top", {"top"}, "row"),
    ("at the bottom", {"bottom"}, "row"),
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
    "above": ("is {x} above {y}",),
    "below": ("is {x} below {y}",),
    "in_front": ("is {x} in front of {y}",),
    "overlaps": ("is {x} touching {y}", "does {x} overlap {y}"),
}


def ask_color(talk):
    """Ask for a color, or which of two it is."""
    entity = talk.choose("color")
    if entity is None and talk.rng.random() < _POINT_ODDS:
        entity = talk.point_out()
    if entity is None:
        return None
    if talk.rng.random() < 0.12:
        right = talk.scene.things[entity.indices[0]].color
        other = talk.zipf([c for c in COLORS if c != right], 0.5)
        pair = (right, other) if talk.rng.random() < 0.5 else (other, right)
        return _ask(
            talk, entity, "color", f"{{be}} {{x}} {pair[0]} or {pair[1]}"
        )
    return _ask(talk, entity, "color", talk.zipf(_COLOR, 1.2))


def ask_is_color(talk):
    """Ask whether an object has a color."""
    entity = talk.choose("color")
    if entity is None and talk.rng.random() < _POINT_ODDS:
        entity = talk.point_out()
    if entity is None:
        return None
    color = talk.scene.things[entity.indices[0]].color
    # A no is followed by another guess more often than a yes is.
    if talk.rng.random() > _YES_ODDS + 0.07:
        others = {c: o for c, o in COLOR_ODDS.items() if c != color}
        color = draw(talk.rng, others)
    form = talk.zipf(("{be} {x} ", "{be} {x} ", "so {be} {x} ")) + color
    return _ask(talk, entity, "color", form, color, "is_color")


def ask_size(talk):
    """Ask for the size of an object, or whether it is large."""
    entity = talk.choose("size")
    if entity is None:
        return None
    draw = talk.rng.random()
    if draw < 0.38:
        return _ask(talk, entity, "size", talk.zipf(_SIZE))
    if draw < 0.5:
        return _ask(talk, entity, "size", "{be} {x} big or small")
    size, word = talk.pick((("large", "big"), ("small", "small")))
    if talk.scene.things[entity.indices[0]].size == "large":
        size, word = "large", "big"
    if draw > 0.9:
        word = {"big": "large", "small": "tiny"}[word]
    return _ask(talk, entity, "size", "{be} {x} " + word, size, "size")


def ask_texture(talk):
    """Ask for the pattern of an object, or whether it has one."""
    entity = talk.choose("texture")
    if entity is None:
        return None
    if talk.rng.random() < 0.37:
        return _ask(talk, entity, "texture", talk.zipf(_TEXTURE))
    texture = talk.scene.things[entity.indices[0]].texture
    if talk.rng.random() > _YES_ODDS:
        others = {t: o for t, o in TEXTURE_ODDS.items() if t != texture}
        texture = draw(talk.rng, others)
    form = talk.zipf(_HAS[texture])
    return _ask(talk, entity, "texture", form, texture, "texture")


def _ask(talk, entity, slot, form, claimed=None, kind=None):
    """An attribute question: open, or polar where a value is claimed."""
    key = (kind or slot, entity.indices, form)
    if key in talk.asked:
        return None
    talk.asked.add(key)
    x, pronoun = talk.name(entity)
    value = talk.values(entity.indices, slot)
    text = form.format(
        x=x,
        y={"they": "them"}.get(x, x),
        be="are" if entity.several else "is",
        do="do" if entity.several else "does",
    )
    frames = Frame.THEY_ARE if entity.several else Frame.IT_IS
    if text.startswith(("does", "do ")):
        frames = Frame.IT_DOES
    polarity = polarity_of(value == {claimed}) if claimed else 0
    # A flat "no" leaves the value open, and worth asking for.
    if polarity != polarity_of(False):
        entity.known.add(slot)
    objects = talk.objects(entity.indices)
    truth = Truth(polarity, slot, value, frames=frames, objects=objects)
    return Question(text, kind or slot, truth, entity.indices, pronoun, entity)


def ask_ground(talk):
    """Ask for the background, or whether it is one in particular."""
    value = frozenset([talk.scene.background])
    if talk.rng.random() < 0.42:
        if "ground" in talk.asked:
            return None
        talk.asked.add("ground")
        text = talk.zipf(_GROUND_OPEN)
        truth = Truth(0, "background", value, objects=talk.attributes)
        return Question(text, "ground", truth, pronoun="the" not in text)
    ground = talk.scene.background
    if talk.rng.random() < 0.52:
        ground = talk.pick([b for b in BACKGROUNDS if b != ground])
    if "ground" in talk.asked or ("ground", ground) in talk.asked:
        return None
    holds = ground in value
    talk.asked |= {("ground", ground)} | ({"ground"} if holds else set())
    text = talk.zipf(_GROUND_POLAR[ground])
    frames = {
        "is there": Frame.THERE_IS | Frame.EXISTS,
        "are they": Frame.THEY_ARE,
        "can you ": Frame.I_CAN | Frame.EXISTS,
    }.get(text[:8], Frame.IT_IS)
    truth = Truth(
        polarity_of(holds),
        "background",
        value,
        topic=frozenset([ground]),
        frames=frames,
        objects=talk.attributes,
    )
    return Question(text, "ground", truth)


def ask_position(talk):
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
        phrase, claimed, slot = talk.pick(_IN)
        # The wanted answer is often yes, so ask what is likely to hold.
        if talk.rng.random() < 0.3:
            phrase, claimed, slot = next(
                (p for p in _IN if p[1] <= own), (phrase, claimed, slot)
            )
        value, frames = own & VALUES[slot], Frame.IT_IS
        polarity = polarity_of(claimed <= own)
        text = f"is {x} {phrase}"
    key = ("position", entity.indices, text[-6:])
    if key in talk.asked:
        return None
    talk.asked.add(key)
    if polarity != polarity_of(False):
        entity.known.add("position")
    truth = Truth(polarity, slot, value, frames=frames, objects=(own,))
    return Question(text, "position", truth, entity.indices, pronoun, entity)


def ask_relation(talk):
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
    if others and talk.rng.random() < 0.62:
        return _ask_between(talk, entity, talk.pick(others))
    side = talk.zipf(tuple(_BESIDE), 0.4)
    indices = range(len(talk.attributes))
    around = [talk.scene.relation(j, i) for j in indices]
    if talk.rng.random() < 0.6:
        # Who asks has a sense of where other things may be.
        held = [s for s in _BESIDE if any(s in held for held in around)]
        side = talk.pick(held or [side])
    if (side, i) in talk.asked:
        return None
    talk.asked.add((side, i))
    beside = [j for j in indices if j != i and side in around[j]]
    # The nearest comes first: that is what an annotator names.
    own = talk.scene.things[i]
    beside.sort(key=lambda j: own.distance(talk.scene.things[j]))
    x, pronoun = talk.name(entity)
    text = talk.zipf(_BESIDE[side]).format(x=x)
    truth = Truth(slot="shape", number=-1 if beside else 0)
    if text.startswith("is"):
        truth = Truth(polarity_of(beside), frames=Frame.THERE_IS | Frame.EXISTS)
    truth = truth._replace(objects=talk.objects(beside))
    return Question(text, "relation", truth, (i,), pronoun, entity)


def _ask_between(talk, entity, other):
    i, j = entity.indices[0], other.indices[0]
    relations = talk.scene.relation(i, j)
    sides = tuple(_BETWEEN)
    side = talk.pick(sides)
    if relations and talk.rng.random() < 0.25:
        side = talk.pick([s for s in sides if s in relations] or sides)
    if (side, i, j) in talk.asked:
        return None
    talk.asked.add((side, i, j))
    x, pronoun = talk.name(entity)
    y, referred = talk.name(other)
    text = talk.zipf(_BETWEEN[side]).format(x=x, y=y)
    frames = Frame.IT_DOES if text.startswith("does") else Frame.IT_IS
    truth = Truth(polarity_of(side in relations), frames=frames)
    truth = truth._replace(objects=talk.objects((i,)))
    pronoun = pronoun or referred
    return Question(text, "relation", truth, (i, j), pronoun, entity)
