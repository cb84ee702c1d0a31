"""Questions about the color, size and pattern of a thing."""

from reproduce.world.balance import draw
from reproduce.world.conversation import Question
from reproduce.world.judging import Truth
from reproduce.world.judging import polarity_of
from reproduce.world.scene import COLORS
from reproduce.world.scene_sampler import COLOR_ODDS
from reproduce.world.scene_sampler import TEXTURE_ODDS
from reproduce.world.words import BITS
from reproduce.world.words import IT_DOES
from reproduce.world.words import IT_IS
from reproduce.world.words import MASKS
from reproduce.world.words import THEY_ARE

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


def ask_color(talk):
    """Which color, or which of two."""
    entity = talk.choose(MASKS["color"])
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
    """Whether a thing has a color."""
    entity = talk.choose(MASKS["color"])
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
    return _ask(talk, entity, "color", form, BITS[color], "is_color")


def ask_size(talk):
    """How large a thing is, or whether it is large."""
    entity = talk.choose(MASKS["size"])
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
    return _ask(talk, entity, "size", "{be} {x} " + word, BITS[size], "size")


def ask_texture(talk):
    """Which pattern a thing has, or whether it has one."""
    entity = talk.choose(MASKS["texture"])
    if entity is None:
        return None
    if talk.rng.random() < 0.37:
        return _ask(talk, entity, "texture", talk.zipf(_TEXTURE))
    texture = talk.scene.things[entity.indices[0]].texture
    if talk.rng.random() > _YES_ODDS:
        others = {t: o for t, o in TEXTURE_ODDS.items() if t != texture}
        texture = draw(talk.rng, others)
    form = talk.zipf(_HAS[texture])
    return _ask(talk, entity, "texture", form, BITS[texture], "texture")


def _ask(talk, entity, slot, form, claimed=0, kind=None):
    """An attribute question: open, or polar where `claimed` bits are asked."""
    key = (kind or slot, entity.indices, form)
    if key in talk.asked:
        return None
    talk.asked.add(key)
    x, pronoun = talk.name(entity)
    mask = MASKS[slot]
    value = talk.union(entity.indices, mask)
    text = form.format(
        x=x,
        y={"they": "them"}.get(x, x),
        be="are" if entity.several else "is",
        do="do" if entity.several else "does",
    )
    frames = THEY_ARE if entity.several else IT_IS
    if text.startswith(("does", "do ")):
        frames = IT_DOES
    polarity = polarity_of(value == claimed) if claimed else 0
    # A flat "no" leaves the value open, and worth asking for.
    if polarity != polarity_of(False):
        entity.told |= mask
    refs = talk.refs(entity.indices)
    truth = Truth(polarity, mask, value, 0, -1, frames, refs=refs)
    return Question(text, kind or slot, truth, entity.indices, pronoun, entity)
