"""The questions that are asked of an synthetic scene."""

from reproduce.world.attribute_questions import ask_color
from reproduce.world.attribute_questions import ask_ground
from reproduce.world.attribute_questions import ask_is_color
from reproduce.world.attribute_questions import ask_position
from reproduce.world.attribute_questions import ask_relation
from reproduce.world.attribute_questions import ask_size
from reproduce.world.attribute_questions import ask_texture
from reproduce.world.conversation import Entity
from reproduce.world.conversation import Question
from reproduce.world.judging import SUBJECTIVE
from reproduce.world.judging import Truth
from reproduce.world.judging import polarity_of
from reproduce.world.odds import COLOR_PRESENCE
from reproduce.world.odds import SHAPE_PRESENCE
from reproduce.world.odds import draw
from reproduce.world.odds import draw_topic
from reproduce.world.sampler import COLOR_ODDS
from reproduce.world.scene import COLORS
from reproduce.world.scene import SHAPES
from reproduce.world.words import ABSENT
from reproduce.world.words import SYNONYMS
from reproduce.world.words import VALUES
from reproduce.world.words import Frame
from reproduce.world.words import article
from reproduce.world.words import plural

# A wish for "yes" fails more often, where all that is there is known.
_YES_ODDS = 0.57
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
    """Ask whether there is an object of some kind, evenly yes and no."""
    wanted = talk.rng.random() < _YES_ODDS
    for _ in range(8):
        topic, noun, many = _existence_topic(talk, wanted)
        matches = talk.matching(topic)
        known = any(e.indices == matches for e in talk.entities)
        if ("exist", topic) in talk.asked or (known and matches):
            continue
        if bool(matches) != wanted:
            continue
        talk.asked.add(("exist", topic))
        text, frames = talk.zipf(_MANY if many else _ONE, 1.2)
        text = text.format(np=article(noun), nps=noun)
        if many and len(matches) == 1:
            frames |= Frame.THERE_IS
        truth = Truth(
            polarity_of(matches),
            topic=topic,
            number=len(matches),
            frames=frames,
            objects=talk.objects(matches) or talk.attributes,
        )
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
        color = draw_topic(
            talk.rng, COLOR_PRESENCE, {t.color for t in things}, wanted
        )
        noun, topic = f"{color} thing", frozenset([color])
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
        noun, topic = talk.zipf(SYNONYMS[shape], 2.5), frozenset([shape])
        if kind > 0.8:
            color = draw(talk.rng, COLOR_ODDS)
            if wanted:
                own = [t.color for t in things if t.shape == shape]
                color = talk.pick(own)
            noun, topic = f"{color} {noun}", topic | {color}
    many = talk.rng.random() < 0.5
    if not many:
        return topic, noun, False
    *rest, head = noun.split()
    return topic, " ".join([*rest, plural(head)]), True


def ask_count(talk):
    """Ask for the number of objects, in all or of a group."""
    draw = talk.rng.random()
    # One asks for the number of what may well come more than once.
    thing = max(
        (talk.pick(talk.scene.things) for _ in range(2)),
        key=lambda t: len(talk.scene.find(color=t.color)),
    )
    pronoun = False
    if draw < 0.3:
        noun, topic = talk.zipf(("things", "shapes", "objects")), frozenset()
    elif draw < 0.6:
        topic = frozenset([thing.shape])
        noun = plural(talk.zipf(SYNONYMS[thing.shape], 2.5))
    elif draw < 0.9:
        color = thing.color if draw < 0.85 else talk.pick(COLORS)
        noun, topic = f"{color} things", frozenset([color])
    else:
        noun = f"{thing.texture} things"
        topic = frozenset([thing.texture])
    if ("count", topic) in talk.asked:
        return None
    talk.asked.add(("count", topic))
    matches = talk.matching(topic)
    asked_all = ("count", frozenset()) in talk.asked and topic - VALUES["shape"]
    text = talk.zipf(_COUNT).format(nps=noun)
    if asked_all and talk.rng.random() < 0.6:
        text, pronoun = f"how many of them are {noun.split()[0]}", True
    focus = None
    if topic and matches:
        focus = talk.mention(topic, matches)
    elif not topic:
        focus = Entity(matches, "thing", set())
    truth = Truth(
        topic=topic, number=len(matches), objects=talk.objects(matches)
    )
    return Question(text, "count", truth, matches, pronoun, focus)


def ask_taste(talk):
    """Ask a question that the scene does not answer."""
    form = talk.zipf(_TASTE, 0.7)
    if form in talk.asked:
        return None
    talk.asked.add(form)
    entity = talk.choose(single=True)
    if entity is None and "{x}" in form:
        return None
    x, pronoun = talk.name(entity) if "{x}" in form else ("", False)
    holds = talk.rng.random() < 0.5
    objects = talk.objects(entity.indices) if entity else talk.attributes
    frames = Frame.IT_DOES if form.startswith("do") else Frame.IT_IS
    truth = Truth(
        polarity_of(holds), frames=frames, doubt=SUBJECTIVE, objects=objects
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
