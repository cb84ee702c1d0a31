"""Simulated annotators of scenes and videos, each with a style."""

import math

import numpy as np

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
from reproduce.world.scenes import FAR_APART
from reproduce.world.scenes import draw
from reproduce.world.words import article
from reproduce.world.words import plural

# Commas included. VisDial cuts captions at 24 words; nothing is lost here.
MOST_WORDS = 22
_UNUSUAL = {"moon": 0.5, "cross": 0.3, "purple": 0.3, "orange": 0.2}
_SIZE_SALIENCE = {"large": 1.4, "medium": 0.5, "small": 0.0}
_SIZE_MENTIONED = {"large": 0.45, "medium": 0.02, "small": 0.4}
# fmt: off
_KINDS = {
    "crowd": 0.15, "single": 0.27, "pair": 0.28, "listing": 0.14,
    "counted": 0.08, "specific": 0.08,
}
# fmt: on
_TEXTURE_MENTIONED = {"plain": 0.02, "striped": 0.5, "dotted": 0.5}


def describe(scene, rng: np.random.Generator, n: int = 5) -> list:
    """Writes captions of a scene as different people would.

    Each annotator names salient things first (large, in the middle, unusual),
    leaves details out, and has words of their own. Captions are true of the
    scene, and often of many others: few captions identify it.

    Example:

    >>> from reproduce.world import Scene, Thing, describe
    >>> ball = Thing("ball", "red", "large", "plain", 20.0, 30.0, 9.0)
    >>> box = Thing("box", "blue", "small", "dotted", 44.0, 32.0, 5.0)
    >>> scene = Scene("grass", (ball, box, box))
    >>> len(describe(scene, np.random.default_rng(0)))
    5
    """
    return [Annotator(scene, rng).caption() for _ in range(n)]


class Annotator:
    """One person in front of one scene; its methods consume randomness."""

    def __init__(self, scene, rng):
        self.scene, self.rng = scene, rng
        # How much of what could be said this person does say.
        self.care = 0.55 + 0.75 * rng.random()
        scores = [self.salience(i) for i in range(len(scene.things))]
        self.order = sorted(range(len(scores)), key=lambda i: -scores[i])

    def salience(self, i):
        thing = self.scene.things[i]
        off_center = math.hypot(thing.x - 32, thing.y - 32) / 32
        unusual = _UNUSUAL.get(thing.shape, 0) + _UNUSUAL.get(thing.color, 0)
        score = _SIZE_SALIENCE[thing.size] - 0.5 * off_center + unusual
        # Gumbel noise: another person may well start elsewhere.
        noise = math.log(-math.log(self.rng.random() or 0.5))
        return score + self.scene.visible(i) - 0.9 * noise

    def chance(self, odds):
        return self.rng.random() < odds

    def pick(self, options):
        """Early options more often, about as 1 / rank."""
        return options[int(len(options) * self.rng.random() ** 2.2)]

    def caption(self):
        while True:
            words = self.draft().replace(",", " ,").split()
            if len(words) <= MOST_WORDS:
                return " ".join(words).replace(" ,", ",")

    def draft(self):
        return getattr(self, draw(self.rng, _KINDS))()

    def crowd(self):
        amount = self.pick(AMOUNTS[min(max(len(self.order), 3), 7)])
        if self.chance(0.12):
            return f"{self.scenery()} {amount} {self.pick(CROWDS)}"
        crowd = f"{amount} {self.pick(CROWDS)}"
        return f"{self.opener(MANY_OPENERS)} {crowd} {self.place(0.9)}"

    def scenery(self):
        return f"{self.pick(SCENERY[self.scene.background])} with"

    def single(self):
        i = self.order[0]
        thing = self.phrase(i)
        if self.chance(0.1):
            return f"{self.scenery()} {thing}"
        where = self.whereabouts(i) if self.chance(0.22) else ""
        extra = self.pick(EXTRAS) if self.chance(0.13) else ""
        return self.shown(f"{thing} {where} {extra}", 0.8)

    def shown(self, things, place):
        return f"{self.opener(ONE_OPENERS)} {things} {self.place(place)}"

    def pair(self):
        i = self.order[0]
        j = self.partner(i)
        plain = self.chance(0.25)
        words = f"{self.opener(ONE_OPENERS)} {self.phrase(i)}"
        link = "and" if plain else self.relation(i, j)
        place = 0.75 if plain else 0.6
        return f"{words} {link} {self.phrase(j)} {self.place(place)}"

    def listing(self):
        count = 3 + int(self.chance(0.3))
        names = [self.phrase(i) for i in self.order[:count]]
        return self.shown(", ".join(names[:-1]) + f" and {names[-1]}", 0.6)

    def counted(self):
        """Several of a kind together, else the most common color."""
        things = self.scene.things
        shapes = [thing.shape for thing in things]
        top = max(shapes, key=shapes.count)
        if shapes.count(top) > 1:
            group = plural(self.pick(NOUNS[top]))
            group = f"{NUMBERS[shapes.count(top)]} {group}"
            rest = [i for i in self.order if things[i].shape != top]
            if rest and self.chance(0.6):
                group += f" and {self.phrase(rest[0])}"
            return f"{self.opener(MANY_OPENERS)} {group} {self.place(0.75)}"
        colors = [thing.color for thing in things]
        top = max(colors, key=colors.count)
        some, count = NUMBERS[colors.count(top)], NUMBERS[len(things)]
        crowd = self.pick(CROWDS[:-1])
        if some == "one":
            return f"{count} {crowd} of different colors {self.place(0.7)}"
        if self.chance(0.5):
            return f"{some} {top} {CROWDS[0]} {self.place(0.7)}"
        return f"{count} {crowd} {self.place(0.8)}, {some} of them {top}"

    def specific(self):
        """A careful person: two related things in full, and a third."""
        self.care = 2.0
        i = self.order[0]
        j = self.partner(i)
        words = f"{self.phrase(i)} {self.relation(i, j)} {self.phrase(j)}"
        rest = [k for k in self.order if k not in (i, j)]
        if rest and self.chance(0.6):
            words += f" and {self.phrase(rest[0])}"
            if self.chance(0.5):
                words += f" {self.whereabouts(rest[0])}"
        return f"{words} {self.place(0.7)}"

    def opener(self, options):
        return self.pick(options) if self.chance(0.38) else ""

    def place(self, odds):
        if not self.chance(odds):
            return ""
        return self.pick(PLACES[self.scene.background])

    def phrase(self, i):
        """Noun phrase of a thing, with some of its attributes."""
        thing = self.scene.things[i]
        words = [self.pick(NOUNS[thing.shape])]
        if self.chance(0.8 * min(self.care, 1.15)):
            words.insert(0, thing.color)
        after = ""
        if self.chance(_TEXTURE_MENTIONED[thing.texture] * self.care):
            if thing.texture in PATTERNS and self.chance(0.2):
                after = " " + self.pick(PATTERNS[thing.texture])
            else:
                words.insert(0, self.pick(ADJECTIVES[thing.texture]))
        if self.chance(_SIZE_MENTIONED[thing.size] * self.care):
            words.insert(0, self.pick(ADJECTIVES[thing.size]))
        return article(" ".join(words)) + after

    def partner(self, i):
        """The thing to mention with `i`: one that overlaps it, or close by."""
        scores = {}
        for rank, j in enumerate(self.order):
            if j != i:
                relation = self.scene.relation(i, j)
                close = 2 * ("overlaps" in relation) + ("near" in relation)
                scores[j] = close - 0.5 * rank
        return max(scores, key=scores.get)

    def relation(self, i, j):
        relations = self.scene.relation(i, j)
        thing, target = self.scene.things[i], self.scene.things[j]
        # Of the two axes people name the one that separates more.
        across, down = abs(thing.x - target.x), abs(thing.y - target.y)
        sides = ("left", "right") if across > down else ("above", "below")
        name = next((name for name in sides if name in relations), "near")
        for other, odds in (("in_front", 0.8), ("behind", 0.8), ("near", 0.55)):
            if other in relations and self.chance(odds):
                return self.pick(RELATIONS[other])
        if thing.distance(target) > FAR_APART and self.chance(0.25):
            name = "far"
        return self.pick(RELATIONS[name])

    def whereabouts(self, i):
        row, column = self.scene.region(i)
        if row == "middle" and column == "center":
            return self.pick(CENTERS)
        if row == "middle":
            return self.pick(COLUMNS[column])
        if column == "center":
            return self.pick(ROWS[row])
        return self.pick(CORNERS).format(row=row, column=column)


def describe_video(video, rng: np.random.Generator, n: int = 5) -> list:
    """Writes captions of a video as different people would.

    Each names the motion and the moving thing, with some of its attributes, and
    perhaps the place, or what it passes. All captions are true of the video.

    Returns:
        List of `n` lower-case strings of at most 22 words without a final
        stop.

    Example:

    >>> from reproduce.world import describe_video, sample_video
    >>> rng = np.random.default_rng(3)
    >>> len(describe_video(sample_video(rng), rng))
    5
    """
    return [_VideoAnnotator(video, rng).caption() for _ in range(n)]


class _VideoAnnotator(Annotator):
    """One person who watches one video; its methods consume randomness."""

    def __init__(self, video, rng):
        super().__init__(video.scene, rng)
        self.video = video

    def draft(self):
        draw = self.rng.random()
        if self.video.motion == "still" and draw < 0.4:
            return self.nothing()
        return self.sentence() if draw < 0.62 else self.view()

    def nothing(self):
        i = self.order[0]
        j = self.partner(i)
        link = "and" if self.chance(0.5) else self.relation(i, j)
        things = f"{self.phrase(i)} {link} {self.phrase(j)} {self.place(0.6)}"
        return f"{things}, {self.pick(NOTHING)}"

    def sentence(self):
        verb, _ = self.verb()
        thing, more = self.phrase(self.subject), self.more()
        return f"{thing} {self.adverb()} {verb} {more} {self.place(0.55)}"

    def view(self):
        """Name what a video shows: "a video of a ball rolling to the left"."""
        _, verb = self.verb()
        thing, more = self.phrase(self.subject), self.more()
        shown = f"{thing} {self.adverb()} {verb} {more}"
        if self.chance(0.15):
            return f"{self.scenery()} {shown}"
        return f"{self.pick(VIDEO_OPENERS)} {shown} {self.place(0.45)}"

    @property
    def subject(self):
        """The thing that it happens to; where nothing does, any."""
        still = self.video.motion == "still"
        return self.order[0] if still else self.video.mover

    def verb(self):
        """The verb in a sentence, and beside a noun."""
        colors = {"old": self.video.start.color, "new": self.video.end.color}
        forms = self.pick(VERBS[self.video.motion])
        return tuple(form.format(**colors) for form in forms)

    def adverb(self):
        if self.video.motion not in MOVES or not self.chance(0.2):
            return ""
        pace = self.video.pace
        return self.pick(ADVERBS[pace]) if pace else ""

    def more(self):
        """Another thing, and how it lies to what happens."""
        if not self.chance(0.4):
            return ""
        i = self.subject
        if self.video.motion not in MOVES:
            j = self.partner(i)
            return f"{self.relation(i, j)} {self.phrase(j)}"
        ways = [(j, way) for j in self.order for way in self.video.ways(j)]
        if not ways:
            return ""
        j, way = ways[0]
        return f"{self.pick(WAYS[way])} {self.phrase(j)}"
