"""Reading of captions: from words, also ungrammatical ones, to claims."""

import dataclasses
import functools

from reproduce.world.truth.claims import Claims
from reproduce.world.truth.claims import Happening
from reproduce.world.truth.claims import Mention
from reproduce.world.truth.lexicon import longest
from reproduce.world.videos import MOVES


@functools.lru_cache(maxsize=1 << 16)
def read_caption(caption: str) -> Claims:
    """Reads a caption in the words of the world.

    Longest phrases first, from left to right. Adjectives and numbers belong
    to the noun that follows, a noun that is said twice in a row counts once,
    places and patterns belong to the noun before, relations to the two nouns
    around them. What is left over is `unread`, word by word: words that the
    world does not know, and phrases that lack a noun.

    Args:
        caption: String; case, commas and stops do not matter.

    Returns:
        `Claims`.

    Example:

    >>> from reproduce.world.truth import read_caption
    >>> print(read_caption("A small red ball next to a box box on the grass."))
    small red ball; box; 1 near 2; on grass
    >>> print(read_caption("three red star a star under a dotted"))
    3 red star; star; ? under dotted
    """
    words = caption.lower().replace(",", " ").replace(".", " ").split()
    return _Reader(words).read()


@dataclasses.dataclass
class _Phrase:
    """A noun phrase that waits for its noun, and the words it has taken."""

    looks: set = dataclasses.field(default_factory=set)
    count: int | None = None
    least: int | None = None
    other: bool = False
    article: bool = False
    partitive: bool = False
    words: list = dataclasses.field(default_factory=list)
    numbers: list = dataclasses.field(default_factory=list)


class _Reader:
    """One pass over the words of a caption."""

    def __init__(self, words):
        self.words = words
        self.phrase = _Phrase()
        self.mentions, self.relations, self.ways = [], [], []
        self.grounds, self.happenings, self.paces = [], [], []
        # Places before any noun, prepositions and a relation without one yet.
        self.early, self.prepositions, self.relation = [], [], None
        self.others = self.varied = self.moving = False
        self.last, self.unread = None, []

    def read(self):
        start = 0
        while start < len(self.words):
            phrase, size = longest(self.words, start)
            taken = range(start, start + size)
            if phrase is None:
                self.drop(taken)
            else:
                self.take(phrase, taken)
            start += size
        self.drop_phrase()
        self.drop_prepositions()
        self.drop_relation()
        self.unread += [i for _, taken in self.early for i in taken]
        unread = [self.words[i] for i in sorted(self.unread)]
        return Claims(
            tuple(self.mentions),
            tuple(dict.fromkeys(self.relations)),
            tuple(dict.fromkeys(self.grounds)),
            tuple(dict.fromkeys(self.happenings)),
            tuple(dict.fromkeys(self.ways)),
            tuple(dict.fromkeys(self.paces)),
            self.others,
            self.varied,
            tuple(unread),
            len(self.words),
        )

    def take(self, phrase, taken):
        """Takes in a phrase; `last` tells nouns that follow each other."""
        handler = getattr(self, f"take_{phrase.kind.replace(' ', '_')}")
        handler(phrase, taken)
        self.last = phrase.kind

    def take_filler(self, phrase, taken):
        pass

    def take_article(self, phrase, taken):
        self.begin_phrase()
        self.phrase.article = True

    def take_preposition(self, phrase, taken):
        self.drop_phrase()
        self.drop_prepositions()
        self.prepositions += taken

    def take_look(self, phrase, taken):
        self.phrase.looks.add(phrase.value)
        self.phrase.words += taken

    def take_count(self, phrase, taken):
        self.begin_phrase()
        self.phrase.count = phrase.value
        self.phrase.words += taken
        self.phrase.numbers += taken

    def take_amount(self, phrase, taken):
        self.begin_phrase()
        self.phrase.least = phrase.value
        self.phrase.words += taken

    def take_other(self, phrase, taken):
        self.phrase.other = True
        self.phrase.words += taken

    def take_others(self, phrase, taken):
        self.drop_phrase()
        self.others = True

    def take_varied(self, phrase, taken):
        self.drop_phrase()
        self.varied = True

    def take_partitive(self, phrase, taken):
        """Read "two of them red": a number of things, and their look."""
        if self.phrase.count is None:
            self.drop(taken)
        else:
            self.phrase.words += taken
            self.phrase.partitive = True

    def take_noun(self, phrase, taken):
        own, previous = self.phrase, self.mentions[-1:]
        alike = previous and previous[0].shape == phrase.value
        if self.last == "noun" and alike and not own.words and not own.article:
            # "A moon moon": the noun is said twice, the moon is one.
            return
        self.drop_prepositions()
        self.phrase = _Phrase()
        if own.other and phrase.value is None:
            self.others = True
            # "Five other things": how many others is nothing that is judged.
            self.unread += own.numbers
            self.drop_relation()
            return
        self.say_mention(own, phrase)

    def say_mention(self, own, phrase):
        least = own.least
        number = own.count or least or own.article
        if phrase.plural and not number:
            least = 2
        looks = frozenset(own.looks)
        self.mentions.append(
            Mention(phrase.value, looks, count=own.count, least=least)
        )
        self.moving = False
        index = len(self.mentions) - 1
        if self.relation is not None:
            name, subject, _ = self.relation
            kind = self.ways if name in _WAYS else self.relations
            kind.append((subject, _WAYS.get(name, name), index))
            self.relation = None
        early, self.early = self.early, []
        for place, taken in early:
            self.say_place(place, taken)

    def take_pattern(self, phrase, taken):
        self.drop_phrase()
        if self.mentions:
            self.change(looks=self.mentions[-1].looks | {phrase.value})
        else:
            self.phrase.looks.add(phrase.value)
            self.phrase.words += taken

    def take_ground(self, phrase, taken):
        self.drop_phrase()
        self.drop_prepositions()
        self.say_ground(phrase.value)

    def take_scenery(self, phrase, taken):
        self.drop_phrase()
        self.say_ground(phrase.value)

    def take_ground_word(self, phrase, taken):
        # "On a green grass": what is before a ground belongs to it.
        self.phrase = _Phrase()
        if self.last not in _GROUNDS:
            self.say_ground(phrase.value)

    def say_ground(self, ground):
        self.prepositions = []
        if self.relation and self.relation[0] in ("in_front", "below"):
            # Before bricks and under the sky, it belongs to these.
            self.relation = None
        self.drop_relation()
        self.grounds.append(ground)

    def take_place(self, phrase, taken):
        self.drop_phrase()
        self.say_place(phrase.value, taken)

    def take_place_word(self, phrase, taken):
        self.prepositions = []
        joined = self.last == "place word" and self.mentions
        places = self.mentions[-1].places if joined else ()
        if len(places) == 1:
            (place,) = places
            # "Top left" is one place, "corner" tells nothing new of it.
            values = place | phrase.value
            if len(values) <= 2 or phrase.value == {"corner"}:
                known = place if phrase.value == {"corner"} else values
                self.change(places=frozenset([known]))
                return
        self.drop_phrase()
        self.say_place(phrase.value, taken)

    def say_place(self, place, taken):
        if self.mentions:
            self.change(places=self.mentions[-1].places | {place})
        else:
            self.early.append((place, taken))

    def change(self, **fields):
        """Adds to the noun phrase before."""
        self.mentions[-1] = self.mentions[-1]._replace(**fields)

    def take_relation(self, phrase, taken):
        self.drop_phrase()
        self.drop_prepositions()
        self.drop_relation()
        if self.mentions:
            self.relation = phrase.value, len(self.mentions) - 1, taken
        else:
            self.unread += taken

    def take_away(self, phrase, taken):
        name = "way" if self.moving else "relation"
        value = "away" if self.moving else "far"
        getattr(self, f"take_{name}")(phrase._replace(value=value), taken)

    def take_way(self, phrase, taken):
        self.take_relation(phrase._replace(value=f"way {phrase.value}"), taken)

    def take_motion(self, phrase, taken):
        self.drop_phrase()
        motion, old, new = phrase.value
        self.moving = motion in MOVES
        subject = len(self.mentions) - 1
        self.happenings.append(Happening(motion, subject, old, new))

    def take_nothing(self, phrase, taken):
        self.drop_phrase()
        self.happenings.append(Happening("still"))

    def take_pace(self, phrase, taken):
        self.drop_phrase()
        self.paces.append((len(self.mentions) - 1, phrase.value))

    def begin_phrase(self):
        """Ends a noun phrase that has begun; "other" goes on."""
        own = self.phrase
        if own.looks or own.count or own.least:
            self.drop_phrase()

    def drop(self, taken):
        """Counts words as unread; a noun phrase goes on behind them."""
        self.unread += taken
        self.last = None

    def drop_phrase(self):
        """Ends a noun phrase that got no noun."""
        own, self.phrase = self.phrase, _Phrase()
        if own.partitive and own.looks:
            # "Two of them red" needs none.
            mention = Mention(None, frozenset(own.looks), count=own.count)
            self.mentions.append(mention)
        else:
            self.unread += own.words

    def drop_prepositions(self):
        self.unread += self.prepositions
        self.prepositions = []

    def drop_relation(self):
        if self.relation is not None:
            self.unread += self.relation[2]
        self.relation = None


_GROUNDS = ("ground", "scenery", "ground word")
_WAYS = {f"way {way}": way for way in ("past", "toward", "away")}
