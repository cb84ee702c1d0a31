"""Questions about where things are, of each other and of the picture."""

from reproduce.world.conversation import Question
from reproduce.world.judging import Truth
from reproduce.world.judging import polarity_of
from reproduce.world.scene import BACKGROUNDS
from reproduce.world.words import BITS
from reproduce.world.words import EXISTS
from reproduce.world.words import I_CAN
from reproduce.world.words import IT_DOES
from reproduce.world.words import IT_IS
from reproduce.world.words import MASKS
from reproduce.world.words import PLACE
from reproduce.world.words import THERE_IS
from reproduce.world.words import THEY_ARE

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
# Phrase, the bits it claims, and the slot it is about.
_IN = (
    ("on the left", BITS["left"], "column"),
    ("on the right", BITS["right"], "column"),
    ("at the top", BITS["top"], "row"),
    ("at the bottom", BITS["bottom"], "row"),
    ("in the middle", BITS["center"] | BITS["middle"], None),
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


def ask_ground(talk):
    """What the background is, or whether it is one in particular."""
    mask, value = MASKS["background"], BITS[talk.scene.background]
    if talk.rng.random() < 0.42:
        if "ground" in talk.asked:
            return None
        talk.asked.add("ground")
        text = talk.zipf(_GROUND_OPEN)
        truth = Truth(0, mask, value, refs=talk.facts)
        return Question(text, "ground", truth, pronoun="the" not in text)
    ground = talk.scene.background
    if talk.rng.random() < 0.52:
        ground = talk.pick([b for b in BACKGROUNDS if b != ground])
    if "ground" in talk.asked or ("ground", ground) in talk.asked:
        return None
    holds = BITS[ground] == value
    talk.asked |= {("ground", ground)} | ({"ground"} if holds else set())
    text = talk.zipf(_GROUND_POLAR[ground])
    frames = {
        "is there": THERE_IS | EXISTS,
        "are they": THEY_ARE,
        "can you ": I_CAN | EXISTS,
    }.get(text[:8], IT_IS)
    topic = BITS[ground]
    truth = Truth(polarity_of(holds), mask, value, topic, -1, frames)
    return Question(text, "ground", truth._replace(refs=talk.facts))


def ask_position(talk):
    """Where in the picture a thing is."""
    entity = talk.choose(PLACE, single=True)
    if entity is None:
        return None
    fact = talk.facts[entity.indices[0]]
    draw = talk.rng.random()
    x, pronoun = talk.name(entity)
    mask, value, polarity, frames = PLACE, 0, 0, 0
    if draw < 0.4:
        text = talk.zipf(_WHERE, 1.5).format(x=x)
    elif draw < 0.5:
        text = f"is {x} on the left or the right"
        mask, value = MASKS["column"], fact & MASKS["column"]
    else:
        phrase, bits, slot = talk.pick(_IN)
        # The wanted answer is often yes, so ask what is likely to hold.
        if talk.rng.random() < 0.3:
            phrase, bits, slot = next(
                (p for p in _IN if not p[1] & ~fact), (phrase, bits, slot)
            )
        mask = MASKS[slot] if slot else PLACE
        value, frames = fact & mask, IT_IS
        polarity = polarity_of(not bits & ~fact)
        text = f"is {x} {phrase}"
    key = ("position", entity.indices, text[-6:])
    if key in talk.asked:
        return None
    talk.asked.add(key)
    if polarity != polarity_of(False):
        entity.told |= PLACE
    truth = Truth(polarity, mask, value, 0, -1, frames, refs=(fact,))
    return Question(text, "position", truth, entity.indices, pronoun, entity)


def ask_relation(talk):
    """What lies beside a thing, or how two of them lie."""
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
    around = [talk.scene.relation(j, i) for j in range(len(talk.facts))]
    if talk.rng.random() < 0.6:
        # Who asks has a sense of where other things may be.
        held = [s for s in _BESIDE if any(s in held for held in around)]
        side = talk.pick(held or [side])
    if (side, i) in talk.asked:
        return None
    talk.asked.add((side, i))
    found = [j for j in range(len(talk.facts)) if j != i and side in around[j]]
    here = talk.scene.things[i]
    # The nearest comes first: that is what an annotator names.
    found.sort(key=lambda j: here.distance(talk.scene.things[j]))
    x, pronoun = talk.name(entity)
    text = talk.zipf(_BESIDE[side]).format(x=x)
    truth = Truth(0, MASKS["shape"], 0, 0, -1 if found else 0)
    if text.startswith("is"):
        truth = Truth(polarity_of(found), frames=THERE_IS | EXISTS)
    truth = truth._replace(refs=talk.refs(found))
    return Question(text, "relation", truth, (i,), pronoun, entity)


def _ask_between(talk, entity, other):
    i, j = entity.indices[0], other.indices[0]
    held = talk.scene.relation(i, j)
    sides = tuple(_BETWEEN)
    side = talk.pick(sides)
    if held and talk.rng.random() < 0.25:
        side = talk.pick([s for s in sides if s in held] or sides)
    if (side, i, j) in talk.asked:
        return None
    talk.asked.add((side, i, j))
    x, pronoun = talk.name(entity)
    y, referred = talk.name(other)
    text = talk.zipf(_BETWEEN[side]).format(x=x, y=y)
    frames = IT_DOES if text.startswith("does") else IT_IS
    truth = Truth(polarity_of(side in held), frames=frames)
    truth = truth._replace(refs=talk.refs((i,)))
    pronoun = pronoun or referred
    return Question(text, "relation", truth, (i, j), pronoun, entity)
