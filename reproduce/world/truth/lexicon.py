"""Phrases of the world's captions, and what each of them stands for."""

import functools
import itertools
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
from reproduce.world.judging import WORD_VALUES
from reproduce.world.scenes import COLORS
from reproduce.world.words import SYNONYMS
from reproduce.world.words import VALUES
from reproduce.world.words import plural

#: Places that are no third of the image: any of its corners.
CORNER = frozenset(["corner"])
_LOOKS = VALUES["color"] | VALUES["size"] | VALUES["texture"]
#: Plurals without a number: "some" of what comes twice is true.
_TWO = ("some", "some different", "different", "various", "a few")
#: Nouns of grounds that answers never name.
_GROUND_WORDS = {"meadow": "grass", "waves": "water"}
_PREPOSITIONS = "in on at to from against".split()
#: "Overlapping" is true of both of two that overlap, whichever is in front.
_MUTUAL = {"overlapping": "overlaps"}


class Phrase(NamedTuple):
    """Meaning of some words.

    Args:
        kind: String, what the reader does with it.
    """

    kind: str
    value: Any = None
    plural: bool = False


def longest(words, start: int):
    """The longest phrase that begins at a word.

    Args:
        words: List of strings.

    Returns:
        `Phrase` or `None`, and the number of words that it takes, 1 for none.

    Example:

    >>> from reproduce.world.truth.lexicon import longest
    >>> longest("a ball on the left of".split(), 2)
    (Phrase(kind='relation', value='left', plural=False), 4)
    """
    phrases, most = lexicon()
    for size in range(min(most, len(words) - start), 0, -1):
        phrase = phrases.get(tuple(words[start : start + size]))
        if phrase is not None:
            return phrase, size
    return None, 1


@functools.cache
def lexicon():
    """All phrases as tuples of words, and the words of the longest."""
    # Later ones replace those before: single words are the last resort.
    entries = itertools.chain(
        _fillers(), _words(), _nouns(), _things(), _wheres(), _happenings()
    )
    phrases = {tuple(text.split()): phrase for text, phrase in entries}
    phrases.pop((), None)
    return phrases, max(map(len, phrases))


def _fillers():
    """Words that claim nothing, and prepositions that lack a noun."""
    openers = {*ONE_OPENERS, *MANY_OPENERS, *VIDEO_OPENERS}
    for text in sorted(openers):
        for word in text.split():
            yield word, Phrase("filler")
    for word in "the and with colorful diagonal polka side".split():
        yield word, Phrase("filler")
    for word in _PREPOSITIONS:
        yield word, Phrase("preposition")
    for text in sorted(openers):
        yield text, Phrase("filler")
    for text in ("a", "an"):
        yield text, Phrase("article")


def _words():
    """Single words of grounds and places, whatever is before them."""
    for word, values in WORD_VALUES.items():
        for value in values & VALUES["background"]:
            yield word, Phrase("ground word", value)
        for value in values & VALUES["position"]:
            yield word, Phrase("place word", frozenset([value]))
    for word, value in _GROUND_WORDS.items():
        yield word, Phrase("ground word", value)
    for word in ("middle", "center"):
        yield word, Phrase("place word", frozenset(["middle", "center"]))
    yield "corner", Phrase("place word", CORNER)


def _nouns():
    """Nouns and their adjectives."""
    for shape, nouns in NOUNS.items():
        for noun in {*nouns, *SYNONYMS[shape]}:
            yield noun, Phrase("noun", shape)
            yield plural(noun), Phrase("noun", shape, plural=True)
    for crowd in CROWDS:
        noun = crowd.split()[-1]
        yield noun, Phrase("noun", None, plural=True)
        yield noun.removesuffix("s"), Phrase("noun", None)
    values = {color: (color,) for color in COLORS}
    for value in _LOOKS:
        names = {*values.get(value, ()), *ADJECTIVES.get(value, ())}
        for word in names.union(SYNONYMS[value]):
            yield word, Phrase("look", value)
    for value, forms in PATTERNS.items():
        for form in forms:
            yield form, Phrase("pattern", value)
            yield form.split()[-1], Phrase("pattern", value)


def _things():
    """Numbers of things, and what is said of all of them."""
    for count, amounts in sorted(AMOUNTS.items(), reverse=True):
        for amount in amounts:
            yield amount, Phrase("amount", 2 if amount in _TWO else count)
    for count, word in enumerate(NUMBERS[1:], 1):
        yield word, Phrase("count", count)
    yield "of them", Phrase("partitive")
    yield "of different colors", Phrase("varied")
    yield "other", Phrase("other")
    yield "surrounded by", Phrase("other")
    for text in EXTRAS:
        yield text, Phrase("others")


def _wheres():
    """Grounds, places in the image, and relations."""
    for kind, table in (("ground", PLACES), ("scenery", SCENERY)):
        for ground, texts in table.items():
            for text in texts:
                yield text, Phrase(kind, ground)
    for table in (COLUMNS, ROWS):
        for value, texts in table.items():
            for text in texts:
                yield text, Phrase("place", frozenset([value]))
    for text in CENTERS:
        yield text, Phrase("place", frozenset(["middle", "center"]))
    for form in CORNERS:
        yield form, Phrase("place", CORNER)
        for row, column in itertools.product(ROWS, COLUMNS):
            values = frozenset([row, column])
            if "{" in form:
                text = form.format(row=row, column=column)
                yield text, Phrase("place", values)
    for name, texts in RELATIONS.items():
        for text in texts:
            yield text, Phrase("relation", _MUTUAL.get(text, name))


def _happenings():
    """Motions with the colors that they name, ways and paces."""
    for motion, verbs in VERBS.items():
        for form in itertools.chain(*verbs):
            yield from _colored(motion, form)
    for text in NOTHING:
        yield text, Phrase("nothing")
    for pace, words in ADVERBS.items():
        for word in words:
            yield word, Phrase("pace", pace)
    for way, texts in WAYS.items():
        for text in texts:
            # "Away from" is a relation, too: the reader decides.
            yield text, Phrase("away" if way == "away" else "way", way)


def _colored(motion, form):
    olds = COLORS if "{old}" in form else (None,)
    news = COLORS if "{new}" in form else (None,)
    for old, new in itertools.product(olds, news):
        text = form.format(old=old, new=new)
        yield text, Phrase("motion", (motion, old, new))
