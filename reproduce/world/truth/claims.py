"""Claims of a caption, apart from whether they hold."""

import dataclasses
from typing import NamedTuple

from reproduce.world.words import VALUES


@dataclasses.dataclass
class Phrase:
    """A noun phrase that waits for its noun, and the words it has taken."""

    looks: set = dataclasses.field(default_factory=set)
    count: int | None = None
    least: int | None = None
    other: bool = False
    article: bool = False
    partitive: bool = False
    words: list = dataclasses.field(default_factory=list)
    numbers: list = dataclasses.field(default_factory=list)
    places: dict = dataclasses.field(default_factory=dict)

    def take(self, kind, value, taken):
        """Takes words, which claim something of what the noun will be."""
        self.words += taken
        self.places.setdefault((kind, value), taken)


#: Slots of a look, in the order in which claims are written.
SLOTS = ("size", "texture", "color")


class Mention(NamedTuple):
    """Noun phrase: what is said of one thing, or of several alike.

    Args:
        shape: String, `None` for "thing", "shapes" and the like.
        looks: Frozenset of strings: colors, sizes and textures.
        places: Frozenset of frozensets of rows and columns that are all said
            to hold; `{"corner"}` for any corner.
        count: Integer, how many there are, `None` for one of perhaps several.
        least: Integer, how many there are at least, `None` likewise.
    """

    shape: str | None
    looks: frozenset[str] = frozenset()
    places: frozenset[frozenset[str]] = frozenset()
    count: int | None = None
    least: int | None = None

    def __str__(self):
        looks = sorted(self.looks, key=_order)
        number = "" if self.count is None else str(self.count)
        number = number if self.least is None else f"{self.least}+"
        return " ".join(filter(None, [number, *looks, self.shape or "thing"]))


class Happening(NamedTuple):
    """Motion that is said to happen.

    Args:
        motion: String, one of `reproduce.world.MOTIONS`.
        mention: Integer, the mention that it happens to, -1 without one.
        old: String, the color that a thing had, or `None`.
        new: String, the color that it takes, or `None`.
    """

    motion: str
    mention: int = -1
    old: str | None = None
    new: str | None = None

    @property
    def claim(self):
        """Event that is said to happen: `"recolor from red to blue"`."""
        old = f" from {self.old}" if self.old else ""
        new = f" to {self.new}" if self.new else ""
        return f"{self.motion}{old}{new}"

    def __str__(self):
        return f"{self.mention + 1} {self.claim}"


class Claims(NamedTuple):
    """All that a caption claims.

    As a string, mentions come first, and are called by their numbers from 1.

    Args:
        mentions: Tuple of `Mention`, in the order of the caption.
        relations: Tuple of `(mention, name, mention)`, with names of
            `reproduce.world.Scene.relation()` and `"far"`.
        grounds: Tuple of strings, backgrounds.
        happenings: Tuple of `Happening`.
        ways: Tuple of `(mention, way, mention)`: past, toward or away.
        paces: Tuple of `(mention, pace)`, slow or fast.
        others: Boolean, whether it says that there is more.
        varied: Boolean, whether it says that all colors are different.
        unread: Tuple of the words that could not be read.
        words: Integer, all words of the caption.
    """

    mentions: tuple[Mention, ...] = ()
    relations: tuple[tuple[int, str, int], ...] = ()
    grounds: tuple[str, ...] = ()
    happenings: tuple[Happening, ...] = ()
    ways: tuple[tuple[int, str, int], ...] = ()
    paces: tuple[tuple[int, str], ...] = ()
    others: bool = False
    varied: bool = False
    unread: tuple[str, ...] = ()
    words: int = 0

    def parts(self):
        """The claims as strings: `["small red ball", "on grass"]`."""
        numbered = list(enumerate(self.mentions, 1))
        return [
            *(str(mention) for _, mention in numbered),
            *(
                f"{i} at {' '.join(sorted(place, key=_order))}"
                for i, mention in numbered
                for place in sorted(mention.places, key=sorted)
            ),
            *(
                f"{i + 1} {name} {j + 1}"
                for i, name, j in (*self.relations, *self.ways)
            ),
            *map(str, self.happenings),
            *(f"{i + 1} {pace}" for i, pace in self.paces),
            *(f"on {ground}" for ground in self.grounds),
            *(["others"] if self.others else []),
            *(["varied"] if self.varied else []),
            *([f"? {' '.join(self.unread)}"] if self.unread else []),
        ]

    def __str__(self):
        return "; ".join(self.parts())


_RANKS = {
    value: rank
    for rank, slot in enumerate((*SLOTS, "row", "column"))
    for value in VALUES[slot]
}


def _order(value):
    return _RANKS.get(value, len(_RANKS)), value
