"""Simulated annotators of videos: five captions each, in words of their own."""

from reproduce.world.caption_words import SCENERY
from reproduce.world.captions import MOST_WORDS
from reproduce.world.captions import Annotator
from reproduce.world.video_words import ADVERBS
from reproduce.world.video_words import NOTHING
from reproduce.world.video_words import OPENERS
from reproduce.world.video_words import VERBS
from reproduce.world.video_words import WAYS
from reproduce.world.videos import MOVES

# Pixels in a video below which a thing is slow, and above which it is fast.
_SLOW, _FAST = 24.0, 34.0
# Pixels to the side within which a thing is passed by.
_ASIDE = 18.0
# Pixels that a thing comes closer by, or gets further away.
_CLOSER = 10.0


def describe_video(video, rng, n=5):
    """Writes captions of a video as different people would.

    Each says what happens, and to what, with some of its attributes, and
    perhaps where, or past what. All of it is true of the video.

    Args:
        video: A `Video`.
        rng: `np.random.Generator`, advanced by the draw.
        n: Integer, number of captions.

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

    def caption(self):
        draw = self.rng.random()
        if self.video.motion == "still" and draw < 0.4:
            words = self.nothing()
        elif draw < 0.62:
            words = self.sentence()
        else:
            words = self.view()
        words = words.replace(",", " ,").split()
        if len(words) > MOST_WORDS:
            return self.caption()
        return " ".join(words).replace(" ,", ",")

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
        """What a video shows: "a video of a ball rolling to the left"."""
        _, verb = self.verb()
        thing, more = self.phrase(self.subject), self.more()
        shown = f"{thing} {self.adverb()} {verb} {more}"
        if self.chance(0.15):
            return f"{self.pick(SCENERY[self.scene.background])} with {shown}"
        return f"{self.pick(OPENERS)} {shown} {self.place(0.45)}"

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
        way = self.video.start.distance(self.video.end)
        if _SLOW <= way <= _FAST:
            return ""
        return self.pick(ADVERBS["slow" if way < _SLOW else "fast"])

    def more(self):
        """Another thing, and how it lies to what happens."""
        if not self.chance(0.4):
            return ""
        i = self.subject
        if self.video.motion not in MOVES:
            j = self.partner(i)
            return f"{self.relation(i, j)} {self.phrase(j)}"
        ways = [(j, way) for j in self.order for way in self.ways(j)]
        if not ways:
            return ""
        j, way = ways[0]
        return f"{self.pick(WAYS[way])} {self.phrase(j)}"

    def ways(self, j):
        """How the thing that moves goes by another; none by itself."""
        if j == self.video.mover:
            return []
        begin, end = self.video.start, self.video.end
        other = self.scene.things[j]
        along, aside = ("x", "y")[
            :: 1 if self.video.motion in MOVES[:2] else -1
        ]
        first, last, there = (getattr(t, along) for t in (begin, end, other))
        near = abs(getattr(begin, aside) - getattr(other, aside)) < _ASIDE
        gained = begin.distance(other) - end.distance(other)
        ahead = (there - last) * (last - first) > 0
        behind = (first - there) * (last - first) > 0
        holds = {
            "past": near and not ahead and not behind,
            "toward": near and ahead and gained > _CLOSER,
            "away": near and behind and gained < -_CLOSER,
        }
        return [way for way, held in holds.items() if held]
