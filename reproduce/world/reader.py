"""Parser of captions, grammatical or not, into claims."""

import functools
import itertools
import re
from typing import Any
from typing import NamedTuple

from reproduce.world.caption_words import ADJECTIVES
from reproduce.world.caption_words import ADVERBS
from reproduce.world.caption_words import AMOUNTS
from reproduce.world.caption_words import CENTERS
from reproduce.world.caption_words import COLUMNS
from reproduce.world.caption_words import CORNERS
from reproduce.world.caption_words import CROWDS
from reproduce.world.caption_words import EXTRAS
from reproduce.world.caption_words import MANY_OPENERS
from reproduce.world.caption_words import NOTHING
from reproduce.world.caption_words import NOUNS
from reproduce.world.caption_words import NUMBERS
from reproduce.world.caption_words import ONE_OPENERS
from reproduce.world.caption_words import PATTERNS
from reproduce.world.caption_words import PLACES
from reproduce.world.caption_words import RELATIONS
from reproduce.world.caption_words import ROWS
from reproduce.world.caption_words import SCENERY
from reproduce.world.caption_words import VERBS
from reproduce.world.caption_words import VIDEO_OPENERS
from reproduce.world.caption_words import WAYS
from reproduce.world.clips import MOVES
from reproduce.world.judging import WORD_VALUES
from reproduce.world.scenes import COLORS
from reproduce.world.words import LOOK_VALUES
from reproduce.world.words import SYNONYMS
from reproduce.world.words import VALUES
from reproduce.world.words import plural

#: Places that are not third of the image: any of its corners.
CORNER = frozenset(["corner"])
_CENTER = frozenset(["middle", "center"])
#: Slots of a look that people name where there is something to name.
LOOK_SLOTS = ("color", "size", "texture")
#: Plurals without a number: "some" of what comes twice is true.
_TWO = ("some", "some different", "different", "various", "a few")
#: Nouns of grounds that answers never name.
_GROUND_WORDS = {"meadow": "grass", "waves": "water"}
#: "Overlapping" is true of both of two that overlap, whichever is in front.
_MUTUAL = {"overlapping": "overlaps"}
#: Words, between spaces and stops of any kind.
_WORD = re.compile(r"[^\s,.;:!?()\"\u201c\u201d]+")
_DENIALS = frozenset(("no", "not", "without", "neither", "nor", "never"))
_GROUNDS = ("ground", "scenery", "ground_word")
_DENIED = ("noun", *_GROUNDS)
_AFTER_DENIED = (
    *("article", "count", "preposition", "relation", "away", "ground"),
)
_LINKS = ("relation", "way", "away")
#: Kinds of phrases that begin a noun phrase, and those that end what waits.
_BEGIN_PHRASE = ("article", "count", "amount")
_END_PREPOSITIONS = ("preposition", "ground", *_LINKS)
_END_PHRASE = (
    *("others", "varied", "pattern", "scenery", "place", "place_word"),
    *("motion", "nothing", "pace", *_END_PREPOSITIONS),
)


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
        number = "" if self.count is None else str(self.count)
        number = number if self.least is None else f"{self.least}+"
        looks = sorted(self.looks, key=_order)
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
        """Event that is said to happen: `"turns from red to blue"`."""
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
        parts = [*map(str, self.mentions)]
        for i, mention in enumerate(self.mentions, 1):
            for place in sorted(mention.places, key=sorted):
                parts.append(f"{i} at {' '.join(sorted(place, key=_order))}")
        for i, name, j in (*self.relations, *self.ways):
            parts.append(f"{i + 1} {name} {j + 1}")
        parts += map(str, self.happenings)
        parts += [f"{i + 1} {pace}" for i, pace in self.paces]
        parts += [f"on {ground}" for ground in self.grounds]
        parts += ["others"] * self.others + ["varied"] * self.varied
        return parts + [" ".join(["?", *self.unread])] * bool(self.unread)

    def __str__(self):
        return "; ".join(self.parts())


def _order(value):
    slots = ("size", "texture", "color", "row", "column")
    ranks = (i for i, slot in enumerate(slots) if value in VALUES[slot])
    return next(ranks, len(slots)), value


def slot_of(value):
    """The slot of a look."""
    return next(slot for slot in LOOK_SLOTS if value in VALUES[slot])


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

    >>> from reproduce.world.reader import read_caption
    >>> print(read_caption("A small red ball next to a box box on the grass."))
    small red ball; box; 1 near 2; on grass
    >>> print(read_caption("three red star a star under a dotted"))
    3 red star; star; ? under dotted
    """
    return _Reader(caption).read()


def claim_places(caption: str) -> dict:
    """Places of a caption's claims in its text.

    Returns:
        Dict of pairs of integers, the first letter and that behind the last,
        by kind, mentions and value of a `Claim`, as `judge_claims()` gives
        them.

    Example:

    >>> from reproduce.world.reader import claim_places
    >>> claim_places("A red ball.")
    {('color', (0,), 'red'): (2, 5), ('object', (0,), 'ball'): (6, 10)}
    """
    reader = _Reader(caption)
    reader.read()
    spans = [match.span() for match in _WORD.finditer(caption)]
    return {
        claim: (spans[words[0]][0], spans[words[-1]][1])
        for claim, words in reader.places.items()
    }


class Phrase(NamedTuple):
    """Meaning of some words.

    Args:
        kind: String, what the reader does with it.
    """

    kind: str
    value: Any = None


@functools.cache
def lexicon() -> dict:
    """Phrases by their words; single words are the last resort."""
    phrases = {}

    def put(texts, kind, value=None):
        # Later ones replace those before.
        for text in texts:
            phrases[tuple(text.split())] = Phrase(kind, value)

    openers = {*ONE_OPENERS, *MANY_OPENERS, *VIDEO_OPENERS} - {""}
    put(" ".join(openers).split(), "filler")
    put("the and with colorful diagonal polka side".split(), "filler")
    put("in on at to from against".split(), "preposition")
    put(openers, "filler")
    put(("a", "an"), "article")
    for word, values in WORD_VALUES.items():
        for value in values & VALUES["background"]:
            put([word], "ground_word", value)
        for value in values & VALUES["position"]:
            put([word], "place_word", frozenset([value]))
    for word, value in _GROUND_WORDS.items():
        put([word], "ground_word", value)
    put(("middle", "center"), "place_word", _CENTER)
    put(["corner"], "place_word", CORNER)
    for shape, nouns in NOUNS.items():
        put(nouns + SYNONYMS[shape], "noun", (shape, False))
        put(map(plural, nouns + SYNONYMS[shape]), "noun", (shape, True))
    for crowd in CROWDS:
        noun = crowd.split()[-1]
        put([noun], "noun", (None, True))
        put([noun.removesuffix("s")], "noun", (None, False))
    for value in LOOK_VALUES - VALUES["shape"]:
        put(ADJECTIVES.get(value, ()) + SYNONYMS[value], "look", value)
    for value, forms in PATTERNS.items():
        put(forms, "pattern", value)
        put((form.split()[-1] for form in forms), "pattern", value)
    for count, amounts in sorted(AMOUNTS.items(), reverse=True):
        for amount in amounts:
            put([amount], "amount", 2 if amount in _TWO else count)
    for count, word in enumerate(NUMBERS[1:], 1):
        put([word], "count", count)
    put(["of them"], "partitive")
    put(["of different colors"], "varied")
    put(["other", "surrounded by"], "other")
    put(EXTRAS, "others")
    for kind, table in (("ground", PLACES), ("scenery", SCENERY)):
        for ground, texts in table.items():
            put(texts, kind, ground)
    for value, texts in (COLUMNS | ROWS).items():
        put(texts, "place", frozenset([value]))
    put(CENTERS, "place", _CENTER)
    put(CORNERS, "place", CORNER)
    for row, column in itertools.product(ROWS, COLUMNS):
        text = CORNERS[0].format(row=row, column=column)
        put([text], "place", frozenset([row, column]))
    for name, texts in RELATIONS.items():
        for text in texts:
            put([text], "relation", _MUTUAL.get(text, name))
    _put_happenings(put)
    return phrases


def _put_happenings(put):
    """Motions with the colors that they name, ways and paces."""
    for motion, verbs in VERBS.items():
        for form in itertools.chain(*verbs):
            olds = COLORS if "{old}" in form else (None,)
            news = COLORS if "{new}" in form else (None,)
            for old, new in itertools.product(olds, news):
                text = form.format(old=old, new=new)
                put([text], "motion", (motion, old, new))
    put(NOTHING, "nothing")
    for pace, words in ADVERBS.items():
        put(words, "pace", pace)
    for way, texts in WAYS.items():
        # "Away from" is a relation, too: the reader decides.
        put(texts, "away" if way == "away" else "way", way)


@functools.cache
def _longest():
    return max(map(len, lexicon()))


class _NounPhrase:
    """A noun phrase that waits for its noun, and the words it has taken."""

    def __init__(self):
        self.looks, self.words, self.numbers, self.places = set(), [], [], {}
        self.count = self.least = None
        self.other = self.article = self.partitive = False

    def take(self, kind, value, taken):
        """Takes words, which claim something of what the noun will be."""
        self.words += taken
        self.places.setdefault((kind, value), taken)


class _Reader:
    """One pass over the words of a caption."""

    def __init__(self, caption):
        self.words, self.phrase = _WORD.findall(caption.lower()), _NounPhrase()
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
            phrase, size = self.next_phrase(start)
            taken = range(start, start + size)
            if self.is_denied(phrase, taken) or phrase is None:
                self.drop(taken)
            else:
                self.take(phrase, taken)
            start += size
        self.drop_all()
        self.unread += [i for _, taken in self.early for i in taken]
        several = self.relations, self.grounds, self.happenings, self.ways
        once = [tuple(dict.fromkeys(of)) for of in (*several, self.paces)]
        flags, mentions = (self.others, self.varied), tuple(self.mentions)
        unread = tuple(self.words[i] for i in sorted(self.unread))
        return Claims(mentions, *once, *flags, unread, len(self.words))

    def next_phrase(self, start):
        """The longest phrase from a word on, and its size, 1 for none."""
        phrases = lexicon()
        for size in range(min(_longest(), len(self.words) - start), 0, -1):
            phrase = phrases.get(tuple(self.words[start : start + size]))
            if phrase is not None:
                return phrase, size
        return None, 1

    def is_denied(self, phrase, taken):
        """Whether a word denies, or what it says is denied: nothing claims it.

        What is denied ends with its noun or ground, after a look where another
        phrase begins: "no red ball on grass", "not red on grass" claim grass.
        """
        # "Not moving" is known as a whole.
        if phrase is None and self.words[taken.start] in _DENIALS:
            self.drop_all()
            self.denies, self.denied = True, None
            return True
        kind = getattr(phrase, "kind", None)
        if self.denied == "look" and kind in _AFTER_DENIED:
            self.denies = False
        denied = self.denies
        if kind in _DENIED:
            self.denies = [*self.words, ""][taken.stop] == "or"
        if denied and kind not in (None, "filler"):
            self.denied = kind
        return denied

    def take(self, phrase, taken):
        """Takes in a phrase; `last` tells nouns that follow each other."""
        kind, own = phrase.kind, self.phrase
        begun = own.looks or own.count or own.least
        if kind in _END_PHRASE or (kind in _BEGIN_PHRASE and begun):
            self.drop_phrase()
        if kind in _END_PREPOSITIONS:
            self.drop_prepositions()
        getattr(self, f"take_{kind}")(phrase.value, taken)
        self.last = kind

    def take_filler(self, _, taken):
        """Nothing is claimed."""

    def take_article(self, _, taken):
        self.phrase.article = True

    def take_preposition(self, _, taken):
        self.prepositions += taken

    def take_look(self, value, taken):
        self.phrase.looks.add(value)
        self.phrase.take(slot_of(value), value, taken)

    def take_count(self, count, taken):
        self.phrase.count = count
        self.phrase.take("count", str(count), taken)
        self.phrase.numbers += taken

    def take_amount(self, least, taken):
        self.phrase.least = least
        self.phrase.take("count", f"{least}+", taken)

    def take_other(self, _, taken):
        self.phrase.other = True
        self.phrase.words += taken

    def take_others(self, _, taken):
        self.others = True
        self.put("others", (), "others", taken)

    def take_varied(self, _, taken):
        self.varied = True
        self.put("varied", (), "different colors", taken)

    def take_partitive(self, _, taken):
        """Read "two of them red": a number of things, and their look."""
        if self.phrase.count is None:
            self.unread += taken
        else:
            self.phrase.words += taken
            self.phrase.partitive = True

    def take_noun(self, noun, taken):
        own, (shape, several) = self.phrase, noun
        alike = self.mentions and self.mentions[-1].shape == shape
        if self.last == "noun" and alike and not own.words and not own.article:
            # "A moon moon": the noun is said twice, the moon is one.
            return
        self.drop_prepositions()
        self.phrase = _NounPhrase()
        if own.other and shape is None:
            self.take_others(None, range(own.words[-1], taken.stop))
            # "Five other things": how many others is nothing that is judged.
            self.unread += own.numbers
            self.drop_relation()
            return
        if several and not (own.count or own.least or own.article):
            own.least = 2
        if shape is not None:
            own.places["object", shape] = taken
        if own.least is not None:
            own.places.setdefault(("count", f"{own.least}+"), taken)
        self.moving = False
        self.mention(own, shape)
        if self.relation is not None:
            name, subject, words = self.relation
            kind, _, way = name.rpartition(" ")
            kind = kind or "relation"
            links = self.ways if kind == "way" else self.relations
            links.append((subject, way, self.here))
            self.put(kind, (subject, self.here), way, words)
            self.relation = None
        early, self.early = self.early, []
        for place, words in early:
            self.take_place(place, words)

    def mention(self, own, shape):
        """Adds a noun phrase, and notes its words."""
        looks = frozenset(own.looks)
        self.mentions.append(
            Mention(shape, looks, count=own.count, least=own.least)
        )
        for (kind, value), taken in own.places.items():
            self.put_here(kind, value, taken)

    @property
    def here(self):
        """The number of the noun phrase before, -1 without one."""
        return len(self.mentions) - 1

    def put(self, kind, mentions, value, taken):
        """Notes which words make a claim, the first that do."""
        self.places.setdefault((kind, mentions, value), taken)

    def put_here(self, kind, value, taken):
        """Notes which words make a claim about the noun phrase before."""
        self.put(kind, (self.here,) if self.mentions else (), value, taken)

    def change(self, **fields):
        """Adds to the noun phrase before."""
        self.mentions[-1] = self.mentions[-1]._replace(**fields)

    def take_pattern(self, value, taken):
        if not self.mentions:
            self.take_look(value, taken)
            return
        self.change(looks=self.mentions[-1].looks | {value})
        self.put_here(slot_of(value), value, taken)

    def take_ground(self, ground, taken):
        self.put("ground", (), ground, taken)
        self.prepositions = []
        if self.relation and self.relation[0] in ("in_front", "below"):
            # Before bricks and under the sky, it belongs to these.
            self.relation = None
        self.drop_relation()
        self.grounds.append(ground)

    take_scenery = take_ground

    def take_ground_word(self, ground, taken):
        # "On a green grass": what is before a ground belongs to it.
        self.phrase = _NounPhrase()
        if self.last not in _GROUNDS:
            self.take_ground(ground, taken)

    def take_place(self, place, taken):
        if not self.mentions:
            self.early.append((place, taken))
            return
        self.change(places=self.mentions[-1].places | {place})
        self.put_here("place", _named(place), taken)

    def take_place_word(self, place, taken):
        self.prepositions = []
        joined = self.last == "place_word" and self.mentions
        places = self.mentions[-1].places if joined else ()
        if len(places) == 1:
            (before,) = places
            # "Top left" is one place, "corner" tells nothing new of it.
            known = before if place == CORNER else before | place
            if len(known) <= 2 or place == CORNER:
                self.change(places=frozenset([known]))
                first = self.places.pop(
                    ("place", (self.here,), _named(before)), taken
                )
                taken = range(first.start, taken.stop)
                self.put_here("place", _named(known), taken)
                return
        self.take_place(place, taken)

    def take_relation(self, name, taken):
        self.drop_relation()
        if self.mentions:
            self.relation = name, self.here, taken
        else:
            self.unread += taken

    def take_away(self, _, taken):
        self.take_relation("way away" if self.moving else "far", taken)

    def take_way(self, way, taken):
        self.take_relation(f"way {way}", taken)

    def take_motion(self, value, taken):
        motion, old, new = value
        self.moving = motion in MOVES
        happening = Happening(motion, self.here, old, new)
        self.happenings.append(happening)
        self.put_here("motion", happening.claim, taken)

    def take_nothing(self, _, taken):
        self.happenings.append(Happening("still"))
        self.put("motion", (), "still", taken)

    def take_pace(self, pace, taken):
        self.paces.append((self.here, pace))
        self.put_here("pace", pace, taken)

    def drop(self, taken):
        """Counts words as unread; a noun phrase continues after them."""
        self.unread += taken
        self.last = None

    def drop_all(self):
        """Ends all that waits."""
        self.drop_phrase()
        self.drop_prepositions()
        self.drop_relation()

    def drop_phrase(self):
        """Ends a noun phrase that got no noun."""
        own, self.phrase = self.phrase, _NounPhrase()
        if own.partitive and own.looks:
            # "Two of them red" needs none.
            own.least = None
            self.mention(own, None)
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
