"""The questions that are asked of an synthetic scene."""

from reproduce.world.attribute_questions import ask_color
from reproduce.world.attribute_questions import ask_ground
from reproduce.world.attribute_questions import ask_is_color
from reproduce.world.attribute_questions import ask_position
from reproduce.world.attribute_questions import ask_relation
from reproduce.world.attribute_questions import ask_size
from reproduce.world.attribute_questions import ask_texture
from reproduce.world.balance import COLOR_PRESENCE
from reproduce.world.balance import SHAPE_PRESENCE
from reproduce.world.balance import draw
from reproduce.world.balance import draw_topic
from reproduce.world.conversation import Entity
from reproduce.world.conversation import Question
from reproduce.world.judging import SUBJECTIVE
from reproduce.world.judging import Truth
from reproduce.world.judging import polarity_of
from reproduce.world.sampler import COLOR_ODDS
from reproduce.world.scene import COLORS
from reproduce.world.scene import SHAPES
from reproduce.world.words import ABSENT
from reproduce.world.words import BITS
from reproduce.world.words import EXISTS
from reproduce.world.words import I_CAN
from reproduce.world.words import IT_DOES
from reproduce.world.words import IT_IS
from reproduce.world.words import MASKS
from reproduce.world.words import SYNONYMS
from reproduce.world.words import THERE_ARE
from reproduce.world.words import THERE_IS
from reproduce.world.words import article
from reproduce.world.words import plural

# A wish for "yes" fails more often, where all that is there is known.
_YES_ODDS = 0.57
_ONE = (
    ("is there {np}", THERE_IS | EXISTS),
    ("do you see {np}", EXISTS),
    ("is there {np} in the picture", THERE_IS | EXISTS),
    ("can you see {np}", I_CAN | EXISTS),
    ("is there also {np}", THERE_IS | EXISTS),
    ("is there {np} anywhere", THERE_IS | EXISTS),
)
_MANY = (
    ("are there any {nps}", THERE_ARE | EXISTS),
    ("any {nps}", THERE_ARE | EXISTS),
    ("do you see any {nps}", EXISTS),
    ("can you see any {nps}", I_CAN | EXISTS),
    ("are there {nps}", THERE_ARE | EXISTS),
    ("are there any {nps} in the picture", THERE_ARE | EXISTS),
)
_COUNT = (
    "how many {nps} are there",
    "how many {nps} do you see",
    "how many {nps}",
    "how many {nps} are in the picture",
    "how many {nps} can you see",
)
_TASTE = (
    "is it a nice picture",
    "does {x} look heavy",
    "is the picture clear",
    "is it a pretty picture",
    "does {x} look new",
    "is it a close up",
    "do you like the picture",
    "does {x} look soft",
    "is {x} shiny",
    "does it look like a drawing",
)


def ask_existence(talk):
    """Whether there is a thing of some kind: nearly half of the time."""
    wanted = talk.rng.random() < _YES_ODDS
    for _ in range(8):
        bits, noun, many = _existence_topic(talk, wanted)
        found = talk.matching(bits)
        known = any(e.indices == found for e in talk.entities)
        if ("exist", bits) in talk.asked or (known and found):
            continue
        if bool(found) != wanted:
            continue
        talk.asked.add(("exist", bits))
        text, frames = talk.zipf(_MANY if many else _ONE, 1.2)
        text = text.format(np=article(noun), nps=noun)
        frames |= THERE_IS if many and len(found) == 1 else 0
        refs = talk.refs(found) or talk.facts
        truth = Truth(polarity_of(found), 0, 0, bits, len(found), frames)
        focus = talk.mention(bits, found) if found else None
        return Question(
            text, "existence", truth._replace(refs=refs), found, focus=focus
        )
    return None


def _existence_topic(talk, wanted):
    """Bits, noun phrase and number of a kind of thing."""
    kind = talk.rng.random()
    if kind < 0.08 and not wanted:
        noun = talk.zipf(ABSENT)
        return BITS[noun], noun, True
    things = talk.scene.things
    if kind > 0.9:
        color = draw_topic(
            talk.rng, COLOR_PRESENCE, {t.color for t in things}, wanted
        )
        noun, bits = f"{color} thing", BITS[color]
    else:
        # A red ball that is not there may be a ball that is not red.
        shape = draw_topic(
            talk.rng,
            SHAPE_PRESENCE,
            {t.shape for t in things},
            wanted or kind > 0.85,
        )
        if shape is None:
            shape = talk.pick(SHAPES)
        noun, bits = talk.zipf(SYNONYMS[shape], 2.5), BITS[shape]
        if kind > 0.8:
            color = draw(talk.rng, COLOR_ODDS)
            if wanted:
                own = [t.color for t in things if t.shape == shape]
                color = talk.pick(own)
            noun, bits = f"{color} {noun}", bits | BITS[color]
    many = talk.rng.random() < 0.5
    if not many:
        return bits, noun, False
    *rest, head = noun.split()
    return bits, " ".join([*rest, plural(head)]), True


def ask_count(talk):
    """How many things there are, in all or of a group."""
    draw = talk.rng.random()
    # One asks for the number of what may well come more than once.
    thing = max(
        (talk.pick(talk.scene.things) for _ in range(2)),
        key=lambda t: len(talk.scene.find(color=t.color)),
    )
    pronoun = False
    if draw < 0.3:
        noun, bits = talk.zipf(("things", "shapes", "objects")), 0
    elif draw < 0.6:
        bits = BITS[thing.shape]
        noun = plural(talk.zipf(SYNONYMS[thing.shape], 2.5))
    elif draw < 0.9:
        color = thing.color if draw < 0.85 else talk.pick(COLORS)
        noun, bits = f"{color} things", BITS[color]
    else:
        noun, bits = f"{thing.texture} things", BITS[thing.texture]
    if ("count", bits) in talk.asked:
        return None
    talk.asked.add(("count", bits))
    found = talk.matching(bits)
    asked_all = ("count", 0) in talk.asked and bits & ~MASKS["shape"]
    text = talk.zipf(_COUNT).format(nps=noun)
    if asked_all and talk.rng.random() < 0.6:
        text, pronoun = f"how many of them are {noun.split()[0]}", True
    focus = None
    if bits and found:
        focus = talk.mention(bits, found)
    elif not bits:
        focus = Entity(found, "thing", 0, 0)
    truth = Truth(0, 0, 0, bits, len(found), refs=talk.refs(found))
    return Question(text, "count", truth, found, pronoun, focus)


def ask_taste(talk):
    """What has no answer in the scene."""
    form = talk.zipf(_TASTE, 0.7)
    if form in talk.asked:
        return None
    talk.asked.add(form)
    entity = talk.choose(single=True)
    if entity is None and "{x}" in form:
        return None
    x, pronoun = talk.name(entity) if "{x}" in form else ("", False)
    holds = talk.rng.random() < 0.5
    refs = talk.refs(entity.indices) if entity else talk.facts
    frames = IT_DOES if form.startswith("do") else IT_IS
    truth = Truth(
        polarity_of(holds), frames=frames, doubt=SUBJECTIVE, refs=refs
    )
    target = entity.indices if "{x}" in form else ()
    return Question(form.format(x=x), "taste", truth, target, pronoun)


# How often each kind is asked; a kind with nothing to ask about is redrawn,
# so the realized shares lie a little off.
KINDS = {
    "existence": (ask_existence, 0.36),
    "color": (ask_color, 0.31),
    "is_color": (ask_is_color, 0.14),
    "ground": (ask_ground, 0.07),
    "position": (ask_position, 0.08),
    "relation": (ask_relation, 0.06),
    "size": (ask_size, 0.05),
    "texture": (ask_texture, 0.055),
    "count": (ask_count, 0.075),
    "taste": (ask_taste, 0.035),
}
