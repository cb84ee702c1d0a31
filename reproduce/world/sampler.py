"""Random scenes and videos.

Scenes have the statistics of photographs: a few things are common. In a video
one of two to four things moves, changes, appears or disappears.
"""

import dataclasses

import numpy as np

from reproduce.world.odds import draw
from reproduce.world.scene import COLORS
from reproduce.world.scene import SHAPES
from reproduce.world.scene import Scene
from reproduce.world.scene import Thing
from reproduce.world.videos import MOTIONS
from reproduce.world.videos import MOVES
from reproduce.world.videos import Video

# Falling off like 1 / rank: common things give captions that many images
# share, rare ones give what would single an image out.
_BACKGROUND_ODDS = {
    "grass": 0.26,
    "sand": 0.20,
    "snow": 0.17,
    "water": 0.14,
    "brick": 0.12,
    "night": 0.11,
}
_SHAPE_ODDS = (0.26, 0.22, 0.14, 0.12, 0.09, 0.07, 0.06, 0.04)
COLOR_ODDS = {
    "red": 0.25,
    "blue": 0.19,
    "green": 0.14,
    "yellow": 0.13,
    "white": 0.10,
    "black": 0.08,
    "orange": 0.06,
    "purple": 0.05,
}
_SIZE_ODDS = {"medium": 0.42, "small": 0.32, "large": 0.26}
TEXTURE_ODDS = {"plain": 0.56, "striped": 0.25, "dotted": 0.19}
_COUNT_ODDS = {3: 0.42, 4: 0.29, 5: 0.16, 6: 0.08, 7: 0.05}
_SHAPE_RANKS = (
    "ball",
    "box",
    "star",
    "cone",
    "heart",
    "ring",
    "cross",
    "moon",
)
# Things that hardly stand out from what is behind them are rarer, not absent.
_CAMOUFLAGE = {
    ("grass", "green"): 0.35,
    ("sand", "yellow"): 0.45,
    ("sand", "orange"): 0.6,
    ("snow", "white"): 0.4,
    ("water", "blue"): 0.35,
    ("brick", "red"): 0.5,
    ("brick", "orange"): 0.5,
    ("night", "black"): 0.35,
    ("night", "purple"): 0.6,
}
RADII = {"small": (4.8, 5.4), "medium": (6.8, 7.5), "large": (9.2, 9.9)}
_REPEAT_ODDS = 0.30
_LOW, _HIGH = 9.0, 55.0
# Just above the diagonal of an 8 pixel cell: no cell holds two centers.
APART = 11.5
LEAST_VISIBLE = 0.62
# Centers keep this far from the cells' borders: which cell a thing is in is
# then never a matter of a fraction of a pixel.
_OFF_BORDER = 1.0
MOTION_ODDS = {
    "left": 0.16,
    "right": 0.14,
    "up": 0.12,
    "down": 0.12,
    "grows": 0.10,
    "shrinks": 0.08,
    "turns": 0.10,
    "appears": 0.07,
    "disappears": 0.06,
    "still": 0.05,
}
_VIDEO_COUNT_ODDS = {2: 0.45, 3: 0.35, 4: 0.20}
# Pixels that a thing travels, and at most strays to the side.
_LEAST_WAY, _MOST_WAY, _STRAY = 18.0, 44.0, 3.0
# In each frame. What is passed by may be hidden more than what lies there.
_LEAST_VISIBLE_AT = (LEAST_VISIBLE, *[0.45] * 6, LEAST_VISIBLE)
_DIRECTIONS = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}


def sample_scene(rng: np.random.Generator) -> Scene:
    """Draws a scene: 3 to 7 things on a background, some of them overlapping.

    Shapes are distinct but for about three scenes in ten, where one comes
    twice or thrice, so that a shape alone does not always name a thing.

    Returns:
        A `Scene`. Centers lie in `[9, 55]` on both axes and more than 11.5
        pixels apart; at least 62 % of each thing is visible.

    Example:

    >>> from reproduce.world import sample_scene
    >>> scene = sample_scene(np.random.default_rng(0))
    >>> 3 <= len(scene.things) <= 7
    True
    """
    background = draw(rng, _BACKGROUND_ODDS)
    looks = _looks(rng, background, draw(rng, _COUNT_ODDS))
    while True:
        centers = _centers(rng, looks)
        if centers is None:
            continue
        things = (
            Thing(*look[:4], x=x, y=y, radius=look[4])
            for look, (x, y) in zip(looks, centers)
        )
        scene = Scene(background, tuple(things))
        if all(
            scene.visible(i) >= LEAST_VISIBLE for i in range(len(scene.things))
        ):
            return scene


def _looks(rng, background, count):
    """Attributes and radius of each thing, no two with the same four."""
    shapes = [str(s) for s in _shapes(rng, count)]
    colors = {
        color: odds * _CAMOUFLAGE.get((background, color), 1.0)
        for color, odds in COLOR_ODDS.items()
    }
    looks = []
    while len(looks) < count:
        shape = shapes[len(looks)]
        size = draw(rng, _SIZE_ODDS)
        look = (shape, draw(rng, colors), size, draw(rng, TEXTURE_ODDS))
        if look not in [other[:4] for other in looks]:
            radius = round(float(rng.uniform(*RADII[size])), 2)
            looks.append((*look, radius))
    return looks


def _shapes(rng, count):
    # Gumbel's trick: the top `count` of the perturbed log odds are a draw
    # without replacement.
    scores = np.log(_SHAPE_ODDS) + rng.gumbel(size=len(SHAPES))
    shapes = [_SHAPE_RANKS[i] for i in np.argsort(-scores)[:count]]
    if rng.random() < _REPEAT_ODDS:
        times = 1 + int(count > 3 and rng.random() < 0.3)
        shapes[count - times :] = [shapes[0]] * times
    rng.shuffle(shapes)
    return shapes


def _centers(rng, looks):
    """Centers, far enough apart, or None when they did not fit."""
    centers = []
    for look in looks:
        for _ in range(60):
            if centers and rng.random() < 0.45:
                x, y = _beside(rng, looks, centers, look[4])
            else:
                x, y = rng.uniform(_LOW, _HIGH, 2)
            x, y = round(float(x), 2), round(float(y), 2)
            if (
                allowed(x)
                and allowed(y)
                and all(np.hypot(x - a, y - b) > APART for a, b in centers)
            ):
                centers.append((x, y))
                break
        else:
            return None
    return centers


def allowed(value):
    """Check whether a center may be there, on one axis."""
    inside = _OFF_BORDER <= value % 8 <= 8 - _OFF_BORDER
    return inside and _LOW <= value <= _HIGH


def _beside(rng, looks, centers, radius):
    """A center so close to an earlier thing that the two may overlap."""
    other = int(rng.integers(len(centers)))
    reach = (radius + looks[other][4]) * rng.uniform(0.7, 1.05)
    angle = rng.uniform(0, 2 * np.pi)
    x, y = centers[other]
    return x + reach * np.cos(angle), y + reach * np.sin(angle)


# Kept in step by hand with `SHAPES` and `COLORS`; a mistake shows at import.
if set(_SHAPE_RANKS) != set(SHAPES) or set(COLOR_ODDS) != set(COLORS):
    raise ValueError("`SHAPES` and `COLORS` must each have odds.")


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
    motion = draw(rng, MOTION_ODDS)
    while True:
        scene = sample_scene(rng)
        things = scene.things[: draw(rng, _VIDEO_COUNT_ODDS)]
        mover = int(rng.integers(len(things)))
        if motion in ("grows", "shrinks"):
            size = "small" if motion == "grows" else "large"
            begin = _resized(things[mover], size, rng)
            things = (*things[:mover], begin, *things[mover + 1 :])
        scene = Scene(scene.background, things)
        end = _end(motion, things[mover], rng)
        when = round(float(rng.uniform(0.3, 0.7)), 2)
        video = Video(scene, motion, mover, end, when)
        if _can_be_seen(video):
            return video


def _end(motion, begin, rng):
    if motion in MOVES:
        across, down = _DIRECTIONS[motion]
        way, stray = rng.uniform(_LEAST_WAY, _MOST_WAY), rng.normal(0, _STRAY)
        stray = min(max(stray, -_STRAY), _STRAY)
        x = begin.x + across * way + abs(down) * stray
        y = begin.y + down * way + abs(across) * stray
        return dataclasses.replace(begin, x=_round(x), y=_round(y))
    if motion == "grows":
        return _resized(begin, "large", rng)
    if motion == "shrinks":
        return _resized(begin, "small", rng)
    if motion == "turns":
        odds = {k: v for k, v in COLOR_ODDS.items() if k != begin.color}
        return dataclasses.replace(begin, color=draw(rng, odds))
    return begin


def _resized(thing, size, rng):
    radius = _round(rng.uniform(*RADII[size]))
    return dataclasses.replace(thing, size=size, radius=radius)


def _can_be_seen(video):
    """Check that the motion is in the picture, and hides nothing for long."""
    end, others = video.end, list(video.scene.things)
    del others[video.mover]
    looks = [(t.shape, t.color, t.size, t.texture) for t in [end, *others]]
    return (
        allowed(end.x)
        and allowed(end.y)
        and len(set(looks)) == len(looks)
        and all(end.distance(other) > APART for other in others)
        and all(
            _least_visible(scene) >= least
            for scene, least in zip(video.frames(), _LEAST_VISIBLE_AT)
        )
    )


def _least_visible(scene):
    return min(map(scene.visible, range(len(scene.things))))


def _round(value):
    return round(float(value), 2)


# Kept in step by hand; a mistake shows at import.
if set(MOTION_ODDS) != set(MOTIONS):
    raise ValueError("`MOTIONS` must each have odds.")
