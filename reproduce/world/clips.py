"""Synthetic videos, and the evaluation of motion in captions.

One of two to four things moves, changes, appears or disappears.
"""

import dataclasses
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reproduce.world.caption_words import NOTHING
from reproduce.world.caption_words import VERBS
from reproduce.world.judging import WORD_VALUES
from reproduce.world.render import render
from reproduce.world.scenes import APART
from reproduce.world.scenes import COLOR_ODDS
from reproduce.world.scenes import COLORS
from reproduce.world.scenes import IMAGE_SIZE
from reproduce.world.scenes import LEAST_VISIBLE
from reproduce.world.scenes import RADII
from reproduce.world.scenes import Scene
from reproduce.world.scenes import Thing
from reproduce.world.scenes import allowed
from reproduce.world.scenes import draw
from reproduce.world.scenes import hundredths
from reproduce.world.scenes import sample_scene
from reproduce.world.words import LOOK_VALUES
from reproduce.world.words import VALUES

# fmt: off
_MOTION_ODDS = {
    "left": 0.16, "right": 0.14, "up": 0.12, "down": 0.12, "grows": 0.10,
    "shrinks": 0.08, "turns": 0.10, "appears": 0.07, "disappears": 0.06,
    "still": 0.05,
}
# fmt: on
#: What may happen in a video; in `"turns"`, a thing takes another color.
MOTIONS = tuple(_MOTION_ODDS)
#: Motions that move a thing.
MOVES = MOTIONS[:4]
_DIRECTIONS = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}
_SIZES = {"grows": ("small", "large"), "shrinks": ("large", "small")}
_COUNT_ODDS = {2: 0.45, 3: 0.35, 4: 0.20}
# Pixels that a thing travels, and at most strays to the side.
_LEAST_WAY, _MOST_WAY, _STRAY = 18.0, 44.0, 3.0
# In each frame. What is passed by may be hidden more than what lies there.
_LEAST_VISIBLE_AT = (LEAST_VISIBLE, *[0.45] * 6, LEAST_VISIBLE)
# Pixels in a video below which a thing is slow, and above which it is fast.
_SLOW, _FAST = 24.0, 34.0
# Pixels to the side within which a thing is passed by.
_ASIDE = 18.0
# Pixels that a thing comes closer by, or gets further away.
_CLOSER = 10.0


@dataclasses.dataclass(frozen=True)
class Video:
    """A scene, and the motion of one of its objects.

    Args:
        scene: `Scene` of all things, as they are in the beginning or, for one
            that appears, when it does.
        mover: Integer, the thing that it happens to.
        end: `Thing`, what becomes of it.
        when: Float, share of the video after which it turns, appears or
            disappears at once; other things happen all the while.

    Example:

    >>> from reproduce.world import Video, Scene, Thing
    >>> ball = Thing("ball", "red", "large", "plain", 20.0, 30.0, 9.0)
    >>> video = Video(Scene("grass", (ball,)), "disappears", 0, ball)
    >>> [len(scene.things) for scene in video.frames(4)]
    [1, 1, 0, 0]
    """

    scene: Scene
    motion: str
    mover: int
    end: Thing
    when: float = 0.5

    def scene_at(self, share):
        """The `Scene` at a share of the video, from 0 to 1."""
        begin, end, later = self.start, self.end, share > self.when
        if self.motion == ("disappears" if later else "appears"):
            return self.scene.replaced(self.mover)
        middle = {
            name: getattr(begin, name)
            + share * (getattr(end, name) - getattr(begin, name))
            for name in ("x", "y", "radius")
        }
        look = dataclasses.replace(end if later else begin, **middle)
        return self.scene.replaced(self.mover, look)

    def frames(self, count=8):
        """The scenes of some frames, the first and the last among them."""
        return [self.scene_at(x) for x in np.linspace(0, 1, count).tolist()]

    @property
    def start(self):
        """The thing that it happens to, as it is in the beginning."""
        return self.scene.things[self.mover]

    @property
    def pace(self):
        """`"slow"` or `"fast"` where a thing moves so, else `None`."""
        way = self.start.distance(self.end)
        if self.motion not in MOVES or _SLOW <= way <= _FAST:
            return None
        return "slow" if way < _SLOW else "fast"

    def ways(self, j):
        """Ways in which what moves passes another thing; none of itself."""
        if j == self.mover or self.motion not in MOVES:
            return []
        begin, end = self.start, self.end
        other = self.scene.things[j]
        along, aside = ("x", "y")[:: 1 if self.motion in MOVES[:2] else -1]
        first, last, position = (getattr(t, along) for t in (begin, end, other))
        near = abs(getattr(begin, aside) - getattr(other, aside)) < _ASIDE
        gained = begin.distance(other) - end.distance(other)
        ahead = (position - last) * (last - first) > 0
        behind = (first - position) * (last - first) > 0
        holds = {
            "past": near and not ahead and not behind,
            "toward": near and ahead and gained > _CLOSER,
            "away": near and behind and gained < -_CLOSER,
        }
        return [way for way, held in holds.items() if held]


def render_videos(videos: Sequence[Video], frames: int = 8) -> NDArray:
    """Draws videos, frame by frame on one background.

    Returns:
        Uint8 array of shape `(B, F, 64, 64, 3)`, RGB.

    Example:

    >>> from reproduce.world import render_videos, sample_video
    >>> video = sample_video(np.random.default_rng(0))
    >>> render_videos([video], frames=3).shape
    (1, 3, 64, 64, 3)
    """
    scenes = [scene for video in videos for scene in video.frames(frames)]
    grounds = [video.scene for video in videos for _ in range(frames)]
    shape = len(videos), frames, IMAGE_SIZE, IMAGE_SIZE, 3
    return render(scenes, grounds).reshape(shape)


def sample_video(rng: np.random.Generator) -> Video:
    """Draws a video: two to four things, and what happens to one of them.

    Returns:
        A `Video`. A thing that moves travels 18 to 44 pixels, all things can
        be seen all the while, and in the end they lie apart as in the
        beginning.

    Example:

    >>> from reproduce.world import MOTIONS, sample_video
    >>> sample_video(np.random.default_rng(0)).motion in MOTIONS
    True
    """
    motion = draw(rng, _MOTION_ODDS)
    while True:
        scene = sample_scene(rng)
        things = scene.things[: draw(rng, _COUNT_ODDS)]
        mover = int(rng.integers(len(things)))
        scene = Scene(scene.background, things)
        if motion in _SIZES:
            begin = _resized(things[mover], _SIZES[motion][0], rng)
            scene = scene.replaced(mover, begin)
        end = _end(motion, scene.things[mover], rng)
        when = hundredths(rng.uniform(0.3, 0.7))
        video = Video(scene, motion, mover, end, when)
        if _can_be_seen(video):
            return video


def _end(motion, begin, rng):
    if motion in MOVES:
        across, down = _DIRECTIONS[motion]
        way, stray = rng.uniform(_LEAST_WAY, _MOST_WAY), rng.normal(0, _STRAY)
        stray = min(max(stray, -_STRAY), _STRAY)
        x = hundredths(begin.x + across * way + abs(down) * stray)
        y = hundredths(begin.y + down * way + abs(across) * stray)
        return dataclasses.replace(begin, x=x, y=y)
    if motion in _SIZES:
        return _resized(begin, _SIZES[motion][1], rng)
    if motion == "turns":
        odds = {k: v for k, v in COLOR_ODDS.items() if k != begin.color}
        return dataclasses.replace(begin, color=draw(rng, odds))
    return begin


def _resized(thing, size, rng):
    radius = hundredths(rng.uniform(*RADII[size]))
    return dataclasses.replace(thing, size=size, radius=radius)


def _can_be_seen(video):
    """Checks that the motion is in the picture, and hides nothing for long."""
    end, others = video.end, video.scene.replaced(video.mover).things
    return (
        allowed(end.x)
        and allowed(end.y)
        and all(end.looks != other.looks for other in others)
        and all(end.distance(other) > APART for other in others)
        and all(
            scene.least_visible >= least
            for scene, least in zip(video.frames(), _LEAST_VISIBLE_AT)
        )
    )


_SLOT = re.compile(r"\\{(old|new)\\}")
_COLOR = f"({'|'.join(COLORS)})"


def _pattern(motion):
    """Pattern of all phrases for a motion."""
    forms = [form for verbs in VERBS[motion] for form in verbs]
    if motion == "still":
        forms += NOTHING
    forms = [_SLOT.sub(_COLOR, re.escape(form)) for form in forms]
    # "moves to the left of a box" is another thing than "to the left".
    return re.compile(rf"\b(?:{'|'.join(forms)})\b(?! of\b)")


_PATTERNS = {motion: _pattern(motion) for motion in VERBS}


def motion_of(caption: str):
    """Find the motion that a caption names first.

    Returns:
        The motion and the match of its words, or `None` and `None`.

    Example:

    >>> from reproduce.world.clips import motion_of
    >>> motion_of("a red ball rolling to the left past a blue box")[0]
    'left'
    >>> motion_of("a red ball to the left of a blue box")
    (None, None)
    """
    text = caption.lower()
    found = [(name, words.search(text)) for name, words in _PATTERNS.items()]
    return min(
        (pair for pair in found if pair[1]),
        key=lambda pair: pair[1].start(),
        default=(None, None),
    )


def judge_video(video: Video, caption: str):
    """Grade the motion that a caption names against the video.

    Returns:
        Float: 1 if the motion and the description of the moving thing are
        correct, 0.5 if the motion is correct and the description or the new
        color is not, and 0 if the motion is wrong or missing.

    Example:

    >>> from reproduce.world import Video, Scene, Thing, judge_video
    >>> ball = Thing("ball", "red", "large", "plain", 20.0, 30.0, 9.0)
    >>> video = Video(Scene("grass", (ball,)), "disappears", 0, ball)
    >>> said = "a big ball vanishes", "a blue ball vanishes", "a ball grows"
    >>> [judge_video(video, caption) for caption in said]
    [1.0, 0.5, 0.0]
    """
    motion, match = motion_of(caption)
    if motion != video.motion:
        return 0.0
    if motion == "turns" and match.group(match.lastindex) != video.end.color:
        return 0.5
    claimed = _first_thing(caption)
    looks = [video.start.looks | video.end.looks]
    if motion == "still":
        looks = [thing.looks for thing in video.scene.things]
    return 1.0 if any(claimed <= own for own in looks) else 0.5


def motion_scores(videos: Sequence[Video], captions: Sequence[str]) -> dict:
    """Shares of captions with the right motion, over a data set.

    Returns:
        Dict of floats, shares of the captions: `motion`, those with the right
        motion, and `motion_and_thing`, those that `judge_video()` grades 1.

    Example:

    >>> from reproduce.world import describe_video, motion_scores, sample_video
    >>> rng = np.random.default_rng(0)
    >>> videos = [sample_video(rng) for _ in range(2)]
    >>> said = describe_video(videos[0], rng, n=1) + ["a ball on the left"]
    >>> motion_scores(videos, said)
    {'motion': 0.5, 'motion_and_thing': 0.5}
    """
    grades = [judge_video(*pair) for pair in zip(videos, captions, strict=True)]
    return {
        "motion": sum(grade > 0 for grade in grades) / len(grades),
        "motion_and_thing": grades.count(1.0) / len(grades),
    }


def _first_thing(caption):
    """Values of the attributes up to the first noun: "a big red ball"."""
    values = frozenset()
    for word in re.findall(r"\w+", caption.lower()):
        if word in ("a", "an", "the"):
            values = frozenset()
        values |= WORD_VALUES.get(word, frozenset()) & LOOK_VALUES
        if values & VALUES["shape"]:
            break
    return values
