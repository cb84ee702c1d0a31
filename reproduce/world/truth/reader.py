"""Reading of captions: from words, also ungrammatical ones, to claims."""

import functools
import re

from reproduce.world.clips import MOVES
from reproduce.world.truth.claims import Claims
from reproduce.world.truth.claims import Happening
from reproduce.world.truth.claims import Mention
from reproduce.world.truth.claims import Phrase
from reproduce.world.truth.facts import slot_of
from reproduce.world.truth.lexicon import longest


@functools.lru_cache(maxsize=1 << 16)
def read_caption(caption: str) -> Claims:
    """Reads a caption in the words of the world.

    Longest phrases first, from left to right. Adjectives and numbers belong
    to the noun that follows, a noun that is said twice in a row counts once,
    places and patterns belong to the noun before, relations to the two nouns
    around them. What is left over is `unread`, word by word: words that the
    world does not know, phrases that lack a noun, and what is denied, as in
    "no ball" or "without a box".

    Args:
        caption: String; case, commas, stops and quotes do not matter.

    Returns:
        `Claims`.

    Example:

    >>> from reproduce.world.truth import read_caption
    >>> print(read_caption("A small red ball next to a box box on the grass."))
    small red ball; box; 1 near 2; on grass
    >>> print(read_caption("three red star a star under a dotted"))
    3 red star; star; ? under dotted
    """
    return _Reader(_words(caption)).read()


def claim_places(caption: str) -> dict:
    """Places of a caption's claims in its text.

    Returns:
        Dict of pairs of integers, the first letter and that behind the last,
        by kind, mentions and value of a `Claim`, as `judge_claims()` gives
        them.

    Example:

    >>> from reproduce.world.truth import claim_places
    >>> claim_places("A red ball.")
    {('color', (0,), 'red'): (2, 5), ('object', (0,), 'ball'): (6, 10)}
    """
    reader = _Reader(_words(caption))
    reader.read()
    spans = [match.span() for match in _WORD.finditer(caption)]
    return {
        claim: (spans[words[0]][0], spans[words[-1]][1])
        for claim, words in reader.places.items()
    }


def _words(caption):
    return _WORD.findall(caption.lower())


class _Reader:
    """One pass over the words of a caption."""

    def __init__(self, words):
        self.words, self.phrase = words, Phrase()
        self.mentions, self.relations, self.ways = [], [], []
        self.grounds, self.happenings, self.paces = [], [], []
        # Places before any noun, prepositions and a relation without one yet.
        self.early, self.prepositions, self.relation = [], [], None
        self.others = self.varied = self.moving = self.denies = False
        self.last, self.denied, self.unread = None, None, []
        # Words of claims, by kind, mentions and value.
        self.places = {}

    def read(self):
        start = 0
        while start < len(self.words):
            phrase, size = longest(self.words, start)
            taken = range(start, start + size)
            if self.is_denied(phrase, taken) or phrase is None:
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

    def is_denied(self, phrase, taken):
        """Whether a word denies, or what it says is denied: nothing claims it.

        What is denied ends with its noun or ground, after a look where another
        phrase begins: "no red ball on grass", "not red on grass" claim grass.
        """
        # "Not moving" is known as a whole.
        if phrase is None and self.words[taken.start] in _DENIALS:
            self.drop_phrase()
            self.drop_prepositions()
            self.drop_relation()
            self.denies, self.denied = True, None
            return True
        kind = getattr(phrase, "kind", None)
        if self.denied == "look" and kind in _BEGINS:
            self.denies = False
        denied = self.denies
        if kind in _DENIED:
            self.denies = [*self.words, ""][taken.stop] == "or"
        if denied and kind not in (None, "filler"):
            self.denied = kind
        return denied

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
        self.phrase.take(slot_of(phrase.value), phrase.value, taken)

    def take_count(self, phrase, taken):
        self.begin_phrase()
        self.phrase.count = phrase.value
        self.phrase.take("count", str(phrase.value), taken)
        self.phrase.numbers += taken

    def take_amount(self, phrase, taken):
        self.begin_phrase()
        self.phrase.least = phrase.value
        self.phrase.take("count", f"{phrase.value}+", taken)

    def take_other(self, phrase, taken):
        self.phrase.other = True
        self.phrase.words += taken

    def take_others(self, phrase, taken):
        self.drop_phrase()
        self.say_others(taken)

    def take_varied(self, phrase, taken):
        self.drop_phrase()
        self.varied = True
        self.put("varied", (), "different colors", taken)

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
        self.phrase = Phrase()
        if own.other and phrase.value is None:
            self.say_others(range(own.words[-1], taken.stop))
            # "Five other things": how many others is nothing that is judged.
            self.unread += own.numbers
            self.drop_relation()
            return
        self.say_mention(own, phrase, taken)

    def say_others(self, taken):
        self.others = True
        self.put("others", (), "others", taken)

    def put(self, kind, mentions, value, taken):
        """Notes which words make a claim, the first that do."""
        self.places.setdefault((kind, mentions, value), taken)

    def put_own(self, phrase):
        """Notes the words of the noun phrase that was just said."""
        index = len(self.mentions) - 1
        for (kind, value), taken in phrase.places.items():
            self.put(kind, (index,), value, taken)

    def say_mention(self, own, phrase, taken):
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
        if phrase.value is not None:
            own.places["object", phrase.value] = taken
        if least is not None:
            own.places.setdefault(("count", f"{least}+"), taken)
        self.put_own(own)
        if self.relation is not None:
            name, subject, words = self.relation
            is_way, name = name in _WAYS, _WAYS.get(name, name)
            kind = self.ways if is_way else self.relations
            kind.append((subject, name, index))
            kind = "way" if is_way else "relation"
            self.put(kind, (subject, index), name, words)
            self.relation = None
        early, self.early = self.early, []
        for place, taken in early:
            self.say_place(place, taken)

    def take_pattern(self, phrase, taken):
        self.drop_phrase()
        slot = slot_of(phrase.value)
        if self.mentions:
            self.change(looks=self.mentions[-1].looks | {phrase.value})
            self.put(slot, (len(self.mentions) - 1,), phrase.value, taken)
        else:
            self.phrase.looks.add(phrase.value)
            self.phrase.take(slot, phrase.value, taken)

    def take_ground(self, phrase, taken):
        self.drop_phrase()
        self.drop_prepositions()
        self.say_ground(phrase.value, taken)

    def take_scenery(self, phrase, taken):
        self.drop_phrase()
        self.say_ground(phrase.value, taken)

    def take_ground_word(self, phrase, taken):
        # "On a green grass": what is before a ground belongs to it.
        self.phrase = Phrase()
        if self.last not in _GROUNDS:
            self.say_ground(phrase.value, taken)

    def say_ground(self, ground, taken):
        self.put("ground", (), ground, taken)
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
                index = (len(self.mentions) - 1,)
                own = "place", index, _named(place)
                first = self.places.pop(own, taken)
                taken = range(first.start, taken.stop)
                self.put("place", index, _named(known), taken)
                return
        self.drop_phrase()
        self.say_place(phrase.value, taken)

    def say_place(self, place, taken):
        if self.mentions:
            self.change(places=self.mentions[-1].places | {place})
            index = (len(self.mentions) - 1,)
            self.put("place", index, _named(place), taken)
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
        self.say_happening(Happening(motion, subject, old, new), taken)

    def take_nothing(self, phrase, taken):
        self.drop_phrase()
        self.say_happening(Happening("still"), taken)

    def say_happening(self, happening, taken):
        self.happenings.append(happening)
        about = (happening.mention,) if happening.mention >= 0 else ()
        self.put("motion", about, happening.claim, taken)

    def take_pace(self, phrase, taken):
        self.drop_phrase()
        subject = len(self.mentions) - 1
        self.paces.append((subject, phrase.value))
        about = (subject,) if subject >= 0 else ()
        self.put("pace", about, phrase.value, taken)

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
        own, self.phrase = self.phrase, Phrase()
        if own.partitive and own.looks:
            # "Two of them red" needs none.
            mention = Mention(None, frozenset(own.looks), count=own.count)
            self.mentions.append(mention)
            self.put_own(own)
        else:
            self.unread += own.words

    def drop_prepositions(self):
        self.unread += self.prepositions
        self.prepositions = []

    def drop_relation(self):
        if self.relation is not None:
            self.unread += self.relation[2]
        self.relation = None


def _named(place):
    """A place as claims name it: "left top"."""
    return " ".join(sorted(place))


#: Words, between spaces and stops of any kind.
_WORD = re.compile(r"[^\s,.;:!?()\"\u201c\u201d]+")
_DENIALS = frozenset(("no", "not", "without", "neither", "nor", "never"))
_GROUNDS = ("ground", "scenery", "ground word")
_DENIED = ("noun", *_GROUNDS)
_BEGINS = ("article", "count", "preposition", "relation", "away", "ground")
_WAYS = {f"way {way}": way for way in ("past", "toward", "away")}
